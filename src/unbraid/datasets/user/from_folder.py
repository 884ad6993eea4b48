"""A user's own pictures, with or without factors, from a folder."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar, final

import numpy as np
from jaxtyping import UInt8

from unbraid._internal import files
from unbraid._internal.progress import Event, emit
from unbraid.datasets import pictures
from unbraid.datasets.dataset import Factor, FactorDataset, FactorImages
from unbraid.datasets.formats.archives import ArchiveMember, Folder
from unbraid.datasets.image_store import ImageStore, Plan
from unbraid.datasets.user import folder_survey, own_pictures
from unbraid.datasets.user.folder_survey import Labeled, PictureFolder, Survey
from unbraid.errors import DataError, SpecError

_PICTURES_PER_BLOCK = 256


@final
@dataclass(frozen=True)
class FromFolder(FactorDataset):
    """Pictures of your own, of any format that Pillow reads, gray or color. `path` is their folder, `csv` the file of
    their factors if there is one.

    In the file of factors the column `file`, or else the first, names a picture as it lies below the folder. A column
    of whole numbers is a discrete factor, replaced by their rank among those that occur; one of decimals is a
    continuous one; one of words is an unordered discrete one. Pictures that it does not name are left out.

    The images have the size of the pictures; where these differ, `resolution` has the central square of each cut out
    and resized. They are in color if any picture is; `channels` says otherwise: 1 is gray, 3 is color. `recursive`
    takes in the folders inside the folder too.

    The paths become absolute. The folder is read when its images, factors or number are first asked for, not before.
    From then on the pictures and labels are named by their checksum, which a run keeps, and loading refuses a folder
    that has changed since. The images are converted once, and kept in the cache.
    """

    origin: ClassVar = "read"

    path: str
    """The folder of the pictures."""
    csv: str | None = None
    """The file of their factors, one row a picture."""
    resolution: int | None = None
    """Height and width that the central square of each picture is resized to; without it pictures must be of one size.
    """
    channels: int | None = None
    """1 for gray, 3 for color; without it color if any picture is."""
    recursive: bool = True
    """Whether folders inside the folder count too."""
    sha256: str = ""
    """Checksum of the pictures and labels; a run fills it in, and loading refuses any others."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.path or self.csv == "":
            raise SpecError(
                f"FromFolder: {'csv' if self.path else 'path'} is empty; name "
                f"{'a file, or leave it out' if self.path else 'a folder'}."
            )
        if self.sha256 and not re.fullmatch("[0-9a-f]{64}", self.sha256):
            raise SpecError(
                f"FromFolder: sha256 is {self.sha256!r}; give 64 lower-case hexadecimal digits, or leave it out."
            )
        own_pictures.check_settings("FromFolder", self.resolution, self.channels)
        object.__setattr__(self, "path", files.absolute(self.path))
        if self.csv is not None:
            object.__setattr__(self, "csv", files.absolute(self.csv))

    def pinned(self) -> "FromFolder":
        """Returns the config with the checksum of the folder, where there is one."""
        return replace(self, sha256=self._checksum) if self._checksum else self

    @property
    def factors(self) -> tuple[Factor, ...]:
        return self._known().factor_table if self._record is None else self.store.factor_table

    @property
    def num_images(self) -> int:
        return self._known().num_images if self._record is None else int(self._record["shape"][0])

    @property
    def image_shape(self) -> tuple[int, int, int]:
        if self._record is None:
            return self._shape_of(self._known())
        channels, height, width = self._record["shape"][1:]
        return channels, height, width

    @property
    def store(self) -> ImageStore:
        """Returns where the images are kept. What they are made from is its name, so it does not matter where the
        folder was.
        """
        return self._store_of(self._checksum)

    @property
    def words(self) -> dict[str, tuple[str, ...]]:
        """Returns the values of each factor of words, in the order of their indices; known once the pictures are
        converted.
        """
        return {name: tuple(words) for name, words in self.store.facts.get("words", {}).items()}

    def open(self, *, verify: bool = False) -> FactorImages:
        # If the folder is gone, the converted images are all that is needed: they are named by the checksum that the
        # config asks for.
        if not Path(self.path).is_dir() and self._checksum and self.store.flaw(verify=verify) is None:
            return self.store.images()
        found = self._survey()
        self._shape_of(found)
        doing = f"converting {Path(self.path).name}"
        return self._store_of(found.sha256).ensure(lambda: self._plan(found), doing, verify=verify)

    @property
    def _place(self) -> PictureFolder:
        return PictureFolder(Path(self.path), None if self.csv is None else Path(self.csv), self.recursive)

    @property
    def _record(self) -> dict[str, Any] | None:
        return self.store.record if self._checksum else None

    @property
    def _checksum(self) -> str:
        """The checksum that was given, or else of the folder when it was first read; "" while there is no folder."""
        if not self.sha256 and "_first" not in self.__dict__ and Path(self.path).is_dir():
            object.__setattr__(self, "_first", folder_survey.survey(self._place).sha256)
        return self.sha256 or str(self.__dict__.get("_first", ""))

    def _store_of(self, sha256: str) -> ImageStore:
        return own_pictures.store_for("from-folder", sha256, self.resolution, self.channels)

    def _known(self) -> Survey:
        """Returns what the folder held when it was first read, from memory if possible."""
        known = folder_survey.remembered(self._place)
        return known if known is not None and known.sha256 == self._checksum else self._survey()

    def _survey(self) -> Survey:
        """Returns what the folder holds now, if that is what the config asks for."""
        if not Path(self.path).is_dir():
            raise DataError(
                f"{files.no_folder(self.path)} Check the path, or bring the pictures back: they are not in the cache."
            )
        found = folder_survey.survey(self._place)
        if found.sha256 != (self._checksum or found.sha256):
            raise DataError(
                f"{self.path} has changed: its pictures{' and labels' if self.csv else ''} have SHA-256 "
                f"{found.sha256}, but {self._checksum} was expected. Restore them, or construct FromFolder anew from "
                "the folder as it is."
            )
        return found

    def _shape_of(self, found: Survey) -> tuple[int, int, int]:
        return found.shapes.image_shape(self.path, self.resolution, self.channels)

    def _plan(self, found: Survey) -> Plan:
        listed = folder_survey.listing(self._place)
        used = folder_survey.labeled(self._place, listed)
        if listed.stamp != found.stamp or folder_survey.listing(self._place).stamp != found.stamp:
            raise DataError(
                f"{self.path} was changed while it was read. Leave the folder alone until its pictures are converted."
            )
        converter = _Converter(
            Folder(Path(self.path)), used, self._shape_of(found), found.shapes.squares if self.resolution else None
        )
        facts = {"sha256": found.sha256, "words": used.words}
        return Plan(converter.image_shape, used.factor_table, used.factors, converter.blocks, facts=facts)


@final
@dataclass(frozen=True)
class _Converter:
    """Turns pictures to images. `squares` are the sides of the central squares to be cut out of them, None to take them
    as they are.
    """

    source: Folder
    used: Labeled
    image_shape: tuple[int, int, int]
    squares: set[int] | None

    def blocks(self, start: int) -> Iterator[UInt8[np.ndarray, "block channel height width"]]:
        members, done = self.used.members, start
        decoded = self._decoded(members[start:])
        while done < len(members):
            try:
                block = next(decoded)
            except DataError as error:
                # All other flaws are listed too, so that they can be fixed at once.
                if flaws := self._flaws(members[done:]):
                    raise own_pictures.unreadable(str(self.source.path), flaws, len(members)) from error
                raise
            until = done + len(block)
            self.used.check_unchanged(self.source.path, done, until)
            yield block
            done = until

    def _decoded(self, members: Sequence[ArchiveMember]) -> Iterator[UInt8[np.ndarray, "block channel height width"]]:
        if self.squares is None or len(self.squares) == 1:
            crop = None if self.squares is None else (min(self.squares), min(self.squares))
            yield from pictures.decode_many(self.source, members, pictures.Framing(self.image_shape, crop))
            return
        contents = self.source.contents(members)
        for first in range(0, len(members), _PICTURES_PER_BLOCK):
            block = members[first : first + _PICTURES_PER_BLOCK]
            yield np.stack(
                [
                    own_pictures.square_image(next(contents), self.source.named(member), self.image_shape)
                    for member in block
                ]
            )

    def _flaws(self, members: Sequence[ArchiveMember]) -> dict[str, DataError]:
        flaws = {}
        for number, member in enumerate(members, start=1):
            try:
                pictures.decode(next(self.source.contents([member])), self.source.named(member))
            except DataError as error:
                flaws[member.name] = error
            emit(Event("looking for more that cannot be read", number, len(members), "pictures"))
        return flaws
