"""Somebody's files, converted once: what the loaders of published data sets share."""

import dataclasses
import hashlib
import json
import logging
import os
from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from jaxtyping import UInt8

from unbraid._internal import files
from unbraid._internal.names import kebab_case
from unbraid.config.digest import source_digest
from unbraid.datasets import provenance
from unbraid.datasets.dataset import FactorDataset, FactorImages
from unbraid.datasets.fetching.fetch import fetched_folder
from unbraid.datasets.image_store import ImageStore, Plan
from unbraid.datasets.publication import Publication, PublishedFile
from unbraid.errors import DataError, SpecError

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class ConvertedDataset(FactorDataset):
    """A published data set, read from its official files and kept as bytes in the cache.

    The files are looked for in `root`, or else in the folder that `UNBRAID_DATA` names, or else where `unbraid datasets
    fetch` puts them. They are read, never changed and never unpacked on disk. Once converted, the files are no longer
    needed.
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

    @abstractmethod
    def sources(self, folder: Path) -> tuple[Path, ...] | None:
        """Returns the official files, or the top of the official tree, in this folder; None if they are not there."""

    @abstractmethod
    def plan(self, sources: tuple[Path, ...]) -> Plan:
        """Returns what these files will give. A file that is not what it should be is refused by name."""

    @property
    @abstractmethod
    def published_num_images(self) -> int:
        """Returns how many images the official files hold."""

    @property
    def needed_files(self) -> tuple[PublishedFile, ...]:
        """Returns those of the published files that this config reads."""
        return self.publication.files

    @property
    def num_images(self) -> int:
        """Returns how many images were found when the files were converted, or are published if they were not yet."""
        record = self.store.record
        return self.published_num_images if record is None else int(record["shape"][0])

    @property
    def is_converted(self) -> bool:
        return self.store.record is not None

    @property
    def store(self) -> ImageStore:
        """Returns where the images are kept. Each choice of fields has its own place, and so has each state of a class
        that is not of unbraid.
        """
        own = [source] if (source := source_digest(self)) else []
        content = json.dumps([self.converter_version, dataclasses.asdict(self), *own], sort_keys=True)
        digest = hashlib.sha256(content.encode()).hexdigest()[:12]
        return ImageStore(files.cache_folder() / "converted" / f"{kebab_case(type(self))}-{digest}")

    def open(self, *, verify: bool = False) -> FactorImages:
        if (sources := self.find()) is not None:
            return self.store.ensure(
                lambda: self._verified_plan(sources),
                f"converting {type(self).__name__}",
                flaw=lambda: self._flaw(sources, verify),
            )
        if (flaw := self._flaw(None, verify)) is not None:
            raise DataError(self._missing(flaw))
        return self.store.images()

    def find(self) -> tuple[Path, ...] | None:
        """Returns the official files, in the first folder that has them."""
        return next((sources for folder in self._folders() if (sources := self.sources(folder)) is not None), None)

    def _verified_plan(self, sources: tuple[Path, ...]) -> Plan:
        """Returns what the sources will give. They are verified first: the readers of published formats trust them."""
        before = [provenance.stamp(source) for source in sources]
        found = [self._identity(source, sources) for source in sources]
        plan = self.plan(sources)

        def blocks(start: int) -> Iterator[UInt8[np.ndarray, "block channel height width"]]:
            yield from plan.blocks(start)
            provenance.check_unchanged(sources, before)

        # How a file was verified is said differently the second time. That must not begin an interrupted conversion
        # anew.
        made_from = [each["sha256"] or each["stamp"] for each in found]
        return replace(plan, blocks=blocks, facts={"sources": found}, made_from=made_from)

    def _flaw(self, sources: Sequence[Path] | None, verify: bool) -> str | None:
        """Returns why the files must be converted (again), or None. Files that are gone are not missed."""
        store = self.store
        if (flaw := store.flaw(verify=verify)) is not None:
            return flaw
        recorded = store.facts.get("sources", [])
        if sources is None or [provenance.stamp(source) for source in sources] == [each["stamp"] for each in recorded]:
            return None
        # Perhaps only copied: what counts is their content.
        found = [self._identity(source, sources) for source in sources]
        if None in _checksums(found) or _checksums(found) != _checksums(recorded):
            return "the official files have changed since they were converted"
        store.note({"sources": found})
        return None

    def verified(self, source: Path, sources: Sequence[Path]) -> str:
        """Returns how this file, one of the `sources`, was verified. One that is not what is published under its name
        is refused.
        """
        return provenance.check_file(source, self.publication.file(source.name) or PublishedFile(source.name, None))

    def _identity(self, source: Path, sources: Sequence[Path]) -> dict[str, Any]:
        """Returns the entry of a record for a source."""
        if source.is_dir():
            return {
                "name": source.name,
                "stamp": provenance.stamp(source),
                "sha256": None,
                "verified": "a folder: its files have no published checksum",
            }
        verified = self.verified(source, sources)
        log.info("%s: %s.", source, verified)
        stamp = provenance.stamp(source)
        return {"name": source.name, "stamp": stamp, "sha256": files.sha256(source), "verified": verified}

    def _folders(self) -> list[Path]:
        """Returns where to look. Subfolders come first: sets of one family have files of the same names, and only a
        subfolder says whose they are.
        """
        chosen = self.root or os.environ.get("UNBRAID_DATA")
        fetched = fetched_folder(self.publication)
        if not chosen:
            return [fetched]
        named = Path(files.absolute(chosen))
        candidates = [*(named / subfolder for subfolder in self.publication.subfolders), named]
        return candidates if self.root else [*candidates, fetched]

    def _missing(self, flaw: str) -> str:
        """Returns what to do, where no folder holds the files and what was converted from them has this flaw."""
        name, publication = type(self).__name__, self.publication
        looked = ", nor in ".join(map(str, self._folders()))
        # A store that was never begun is not worth a word.
        kept = f", and what was converted from them cannot be used: {flaw}" if self.store.folder.exists() else ""
        needed = self.needed_files
        names = ", ".join(file.name for file in needed)
        chosen = self.root or os.environ.get("UNBRAID_DATA", "")
        if Path(chosen).is_file():
            which = "--dataset.root" if self.root else "UNBRAID_DATA"
            return f"{name}: {files.no_folder(chosen)} Give {which} the folder that holds {names}."
        place = fetched_folder(publication) if self.root is None else Path(self.root)
        if any(file.url for file in needed):
            only = "" if needed == publication.files else "".join(f" --only {file.name}" for file in needed)
            fetch = (
                f"`unbraid datasets fetch {kebab_case(type(self))}{only}`{' and leave root out' if self.root else ''}"
            )
            way = f"Run {fetch} (license: {publication.license}), or"
        else:
            way = f"{publication.how_to_get.rstrip('.')}, and"
        return (
            f"{name}: its files ({names}) are not all in {looked}{kept}. {way} put them into {place}, "
            f"or give {name}(root=...), --dataset.root or UNBRAID_DATA the folder where they are."
        )


def _checksums(identities: Sequence[Mapping[str, Any]]) -> list[Any]:
    return [identity["sha256"] for identity in identities]
