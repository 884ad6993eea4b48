"""Base classes of published data sets: official files, converted once and kept in the cache."""

import dataclasses
import hashlib
import json
import logging
import math
import os
from abc import abstractmethod
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

from unbraid._internal import files
from unbraid._internal.names import kebab_case
from unbraid.config.digest import source_digest
from unbraid.datasets import file_stamps
from unbraid.datasets.dataset import FactorDataset, FactorImages
from unbraid.datasets.fetching import verification
from unbraid.datasets.fetching.fetch import fetched_folder
from unbraid.datasets.fetching.verification import Publication, PublishedFile
from unbraid.datasets.image_store import Blocks, ImageStore, Plan
from unbraid.errors import DataError, SpecError

log = logging.getLogger(__name__)

_FEWEST_PIXELS = 8


@dataclass(frozen=True)
class ConvertedDataset(FactorDataset):
    """A published data set, read from its official files and kept as bytes in the cache.

    The files are searched in `root`, or else in the folder `UNBRAID_DATA`, or else in the folder of `unbraid datasets
    fetch`. They are never changed and never unpacked on disk. Once converted, they are no longer needed.
    """

    origin: ClassVar = "read"
    publication: ClassVar[Publication]
    converter_version: ClassVar[int] = 1
    """Part of the name of the cache. Raise it when a change to the loader changes a pixel or a factor."""

    root: str | None = None
    """Folder of the official files, where it is not that of UNBRAID_DATA or the cache."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.root == "":
            raise SpecError(f"{type(self).__name__}: root is empty; name a folder, or leave it out.")
        if self.root is not None:
            object.__setattr__(self, "root", files.absolute(self.root))

    def sources(self, folder: Path) -> tuple[Path, ...] | None:
        """Returns the official files, or their top folder, in this folder; None if they are missing."""
        found = tuple(folder / file.name for file in self.needed_files)
        return found if all(path.is_file() for path in found) else None

    @abstractmethod
    def plan(self, sources: tuple[Path, ...]) -> Plan:
        """Returns the plan of a conversion. Raises an error with the name of an invalid file."""

    @property
    def published_num_images(self) -> int:
        """Returns how many images the official files hold: by default, each combination of the factors once."""
        return math.prod(factor.size for factor in self.factors)

    @property
    def needed_files(self) -> tuple[PublishedFile, ...]:
        """Returns the published files that this config reads."""
        return self.publication.files

    @property
    def num_images(self) -> int:
        """Returns the number of converted images; before the conversion, the published number."""
        record = self.store.record
        return self.published_num_images if record is None else int(record["shape"][0])

    @property
    def is_converted(self) -> bool:
        return self.store.record is not None

    @property
    def store(self) -> ImageStore:
        """Returns the store of the images: one for each choice of fields, and each source code of a user's class."""
        own = [source] if (source := source_digest(self)) else []
        content = json.dumps([self.converter_version, dataclasses.asdict(self), *own], sort_keys=True)
        digest = hashlib.sha256(content.encode()).hexdigest()[:12]
        return ImageStore(files.cache_folder() / "converted" / f"{kebab_case(type(self))}-{digest}")

    def open(self, *, verify: bool = False) -> FactorImages:
        if (sources := self.find()) is not None:
            return self.store.ensure(
                lambda: self._verified_plan(sources),
                f"converting {type(self).__name__}",
                flaw=lambda: self._flaw(sources, verify=verify),
            )
        if (flaw := self._flaw(None, verify=verify)) is not None:
            raise DataError(self._missing(flaw))
        return self.store.images()

    def find(self) -> tuple[Path, ...] | None:
        """Returns the official files, in the first folder that has them."""
        return next((sources for folder in self._folders() if (sources := self.sources(folder)) is not None), None)

    def _verified_plan(self, sources: tuple[Path, ...]) -> Plan:
        """Returns the plan for these sources. They are verified first: readers of published formats trust them."""
        before = [file_stamps.stamp(source) for source in sources]
        found = [self._identity(source, sources) for source in sources]
        plan = self.plan(sources)

        def blocks(start: int) -> Blocks:
            yield from plan.blocks(start)
            file_stamps.check_unchanged(sources, before)

        # Without the message of the verification, which differs the second time and would restart the conversion.
        made_from = [each["sha256"] or each["stamp"] for each in found]
        return replace(plan, blocks=blocks, facts={"sources": found}, made_from=made_from)

    def _flaw(self, sources: Sequence[Path] | None, *, verify: bool) -> str | None:
        """Returns why the files must be converted (again), or None. Converted files may be removed."""
        store = self.store
        if (flaw := store.flaw(verify=verify)) is not None:
            return flaw
        recorded = store.facts.get("sources", [])
        if sources is None or [file_stamps.stamp(source) for source in sources] == [each["stamp"] for each in recorded]:
            return None
        # The files may have been copied: the content decides.
        found = [self._identity(source, sources) for source in sources]
        checksums = [identity["sha256"] for identity in found]
        if None in checksums or checksums != [identity["sha256"] for identity in recorded]:
            return "the official files have changed since they were converted"
        store.note({"sources": found})
        return None

    def verified(self, source: Path, sources: Sequence[Path]) -> str:
        """Returns how this file, one of the `sources`, was verified. Raises an error if it is not the published one."""
        return verification.check_file(source, self.publication.file(source.name) or PublishedFile(source.name, None))

    def _identity(self, source: Path, sources: Sequence[Path]) -> dict[str, Any]:
        """Returns the entry of a record for a source."""
        identity = {"name": source.name, "stamp": file_stamps.stamp(source)}
        if source.is_dir():
            return identity | {"sha256": None, "verified": "a folder: its files have no published checksum"}
        verified = self.verified(source, sources)
        log.info("%s: %s.", source, verified)
        return identity | {"sha256": files.sha256(source), "verified": verified}

    def _folders(self) -> list[Path]:
        """Returns the folders to search. Subfolders come first: MNIST and Fashion-MNIST have files of equal names."""
        chosen = self.root or os.environ.get("UNBRAID_DATA")
        fetched = fetched_folder(self.publication)
        if not chosen:
            return [fetched]
        named = Path(files.absolute(chosen))
        candidates = [*(named / subfolder for subfolder in self.publication.subfolders), named]
        return candidates if self.root else [*candidates, fetched]

    def _missing(self, flaw: str) -> str:
        """Returns the error message if no folder holds the files and the converted images have this flaw."""
        name, publication, needed = type(self).__name__, self.publication, self.needed_files
        names = ", ".join(file.name for file in needed)
        chosen = self.root or os.environ.get("UNBRAID_DATA", "")
        if Path(chosen).is_file():
            which = "--dataset.root" if self.root else "UNBRAID_DATA"
            return f"{name}: {files.no_folder(chosen)} Give {which} the folder that holds {names}."
        if any(file.url for file in needed):
            only = "" if needed == publication.files else "".join(f" --only {file.name}" for file in needed)
            fetch = f"`unbraid datasets fetch {kebab_case(type(self))}{only}`"
            way = f"Run {fetch}{' and leave root out' if self.root else ''} (license: {publication.license}), or"
        else:
            way = f"{publication.how_to_get.rstrip('.')}, and"
        kept = f", and the converted images cannot be used: {flaw}" if self.store.folder.exists() else ""
        return (
            f"{name}: its files ({names}) are not all in {', nor in '.join(map(str, self._folders()))}{kept}. {way} "
            f"put them into {self.root or fetched_folder(publication)}, or give {name}(root=...), --dataset.root or "
            "UNBRAID_DATA the folder where they are."
        )


@dataclass(frozen=True)
class PartedDataset(ConvertedDataset):
    """A published data set with splits, all of which share one cache: `split` selects the part that is opened."""

    split: str = "all"

    @abstractmethod
    def part(self, images: FactorImages) -> FactorImages:
        """Returns the images of the split, given all."""

    @property
    def num_images(self) -> int:
        return self.published_num_images if self.store.flaw() is not None else len(self.part(self.store.images()))

    @property
    def store(self) -> ImageStore:
        return super().store if self.split == "all" else replace(self, split="all").store

    def open(self, *, verify: bool = False) -> FactorImages:
        return self.part(super().open(verify=verify))


def in_listed_order(names: Collection[str], listed: Iterable[str]) -> list[str]:
    """Returns the names in the order of an official list, then those that are not in it, by name."""
    known = [name for name in dict.fromkeys(listed) if name in names]
    return [*known, *sorted(set(names) - set(known))]


def check_crop(owner: str, crop: int | None, resolution: int, side: int) -> None:
    """Raises an error for a crop that is larger than the pictures, or smaller than the images."""
    if not (least := _FEWEST_PIXELS) <= resolution <= (side if crop is None else crop) <= side:
        raise SpecError(
            f"{owner}: crop is {crop} and resolution {resolution}; expected {least} <= resolution <= crop <= {side}."
        )
