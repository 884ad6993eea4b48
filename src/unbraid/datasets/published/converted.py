"""Base classes of published datasets, which convert official files once and cache the images."""

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
    """Base class of published datasets, converted from the official files to bytes in the cache.

    The files are searched in `root`, else in the folder `UNBRAID_DATA`, else in the folder of `unbraid datasets fetch`.
    Official files are never changed or unpacked on disk, and can be removed after the conversion.
    """

    origin: ClassVar = "read"
    publication: ClassVar[Publication]
    converter_version: ClassVar[int] = 1
    """Version of the conversion in the name of the cache, increased by changes to the loader that change the data."""

    root: str | None = None
    """Folder of the official files, or None for UNBRAID_DATA or the download folder in the cache."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.root == "":
            raise SpecError(
                f"{type(self).__name__}: root is ''; expected the path of a folder. Give a path, or omit root."
            )
        if self.root is not None:
            object.__setattr__(self, "root", files.absolute(self.root))

    def sources(self, folder: Path) -> tuple[Path, ...] | None:
        """Returns the paths of the official files or of their unpacked folder, or None if files are missing."""
        found = tuple(folder / file.name for file in self.needed_files)
        return found if all(path.is_file() for path in found) else None

    @abstractmethod
    def plan(self, sources: tuple[Path, ...]) -> Plan:
        """Returns the plan of a conversion. Raises an error for an invalid file."""

    @property
    def published_num_images(self) -> int:
        """Number of images in the official files. The default is one image per combination of factor values."""
        return math.prod(factor.size for factor in self.factors)

    @property
    def needed_files(self) -> tuple[PublishedFile, ...]:
        """Published files required by this config."""
        return self.publication.files

    @property
    def num_images(self) -> int:
        """Number of converted images, or of published images before the conversion."""
        record = self.store.record
        return self.published_num_images if record is None else int(record["shape"][0])

    @property
    def is_converted(self) -> bool:
        return self.store.record is not None

    @property
    def store(self) -> ImageStore:
        """Store of the converted images, in a folder for each combination of fields and source of a user's class."""
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
        """Returns the official files in the first folder with all files, or None."""
        return next((sources for folder in self._folders() if (sources := self.sources(folder)) is not None), None)

    def _verified_plan(self, sources: tuple[Path, ...]) -> Plan:
        """Verifies the source files, then returns the plan of their conversion."""
        before = [file_stamps.stamp(source) for source in sources]
        found = [self._identity(source, sources) for source in sources]
        plan = self.plan(sources)

        def blocks(start: int) -> Blocks:
            yield from plan.blocks(start)
            file_stamps.check_unchanged(sources, before)

        # Without the description of the verification, which may change and would restart an interrupted conversion.
        made_from = [each["sha256"] or each["stamp"] for each in found]
        return replace(plan, blocks=blocks, facts={"sources": found}, made_from=made_from)

    def _flaw(self, sources: Sequence[Path] | None, *, verify: bool) -> str | None:
        """Returns the reason for a new conversion, or None. A conversion stays valid if the sources are removed."""
        store = self.store
        if (flaw := store.flaw(verify=verify)) is not None:
            return flaw
        recorded = store.facts.get("sources", [])
        if sources is None or [file_stamps.stamp(source) for source in sources] == [each["stamp"] for each in recorded]:
            return None
        # The files may have been copied, so the checksums are compared.
        found = [self._identity(source, sources) for source in sources]
        checksums = [identity["sha256"] for identity in found]
        if None in checksums or checksums != [identity["sha256"] for identity in recorded]:
            return "the official files have changed since the conversion"
        store.note({"sources": found})
        return None

    def verified(self, source: Path, sources: Sequence[Path]) -> str:
        """Verifies one of the `sources`, and returns a description of the verification."""
        return verification.check_file(source, self.publication.file(source.name) or PublishedFile(source.name, None))

    def _identity(self, source: Path, sources: Sequence[Path]) -> dict[str, Any]:
        """Returns the entry of a source file in the record: name, stamp and checksum."""
        identity = {"name": source.name, "stamp": file_stamps.stamp(source)}
        if source.is_dir():
            return identity | {"sha256": None, "verified": "a folder: its files have no published checksum"}
        verified = self.verified(source, sources)
        log.info("%s: %s.", source, verified)
        return identity | {"sha256": files.sha256(source), "verified": verified}

    def _folders(self) -> list[Path]:
        """Returns the folders to search. Subfolders come first, because MNIST and Fashion-MNIST share file names."""
        chosen = self.root or os.environ.get("UNBRAID_DATA")
        fetched = fetched_folder(self.publication)
        if not chosen:
            return [fetched]
        named = Path(files.absolute(chosen))
        candidates = [*(named / subfolder for subfolder in self.publication.subfolders), named]
        return candidates if self.root else [*candidates, fetched]

    def _missing(self, flaw: str) -> str:
        """Returns the error message for missing official files, given the flaw of the converted images."""
        name, publication, needed = type(self).__name__, self.publication, self.needed_files
        names = ", ".join(file.name for file in needed)
        chosen = self.root or os.environ.get("UNBRAID_DATA", "")
        if Path(chosen).is_file():
            which = "--dataset.root" if self.root else "UNBRAID_DATA"
            return f"{name}: {files.no_folder(chosen)} Set {which} to the folder of {names}."
        if any(file.url for file in needed):
            only = "" if needed == publication.files else "".join(f" --only {file.name}" for file in needed)
            fetch = f"`unbraid datasets fetch {kebab_case(type(self))}{only}`"
            way = f"Run {fetch}{' and omit root' if self.root else ''} (license: {publication.license}), or"
        else:
            way = f"{publication.how_to_get.rstrip('.')}, and"
        kept = f", and the converted images cannot be used: {flaw}" if self.store.folder.exists() else ""
        return (
            f"{name}: files are missing in {' and '.join(map(str, self._folders()))} (expected: {names}){kept}. {way} "
            f"save the files in {self.root or fetched_folder(publication)}, or set {name}(root=...), --dataset.root or "
            "UNBRAID_DATA to their folder."
        )


@dataclass(frozen=True)
class PartedDataset(ConvertedDataset):
    """Base class of published datasets with splits in one cache. `split` selects the images to open."""

    split: str = "all"

    @abstractmethod
    def part(self, images: FactorImages) -> FactorImages:
        """Selects the images of the split from all images."""

    @property
    def num_images(self) -> int:
        return self.published_num_images if self.store.flaw() is not None else len(self.part(self.store.images()))

    @property
    def store(self) -> ImageStore:
        return super().store if self.split == "all" else replace(self, split="all").store

    def open(self, *, verify: bool = False) -> FactorImages:
        return self.part(super().open(verify=verify))


def in_listed_order(names: Collection[str], listed: Iterable[str]) -> list[str]:
    """Sorts names in the order of an official list, followed by unlisted names in alphabetical order."""
    known = [name for name in dict.fromkeys(listed) if name in names]
    return [*known, *sorted(set(names) - set(known))]


def check_crop(owner: str, crop: int | None, resolution: int, side: int) -> None:
    """Checks that a crop is at most as large as the pictures and at least as large as the images."""
    if not (least := _FEWEST_PIXELS) <= resolution <= (side if crop is None else crop) <= side:
        raise SpecError(
            f"{owner}: crop is {crop} and resolution {resolution}; expected {least} <= resolution <= crop <= {side}. "
            "Change one of them."
        )
