"""A user's own pictures, with or without factors, from a folder."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, final

import numpy as np
from jaxtyping import UInt8

from unbraid import files
from unbraid.data.dataset import Factor, FactorDataset, FactorImages
from unbraid.data.formats.archives import ArchiveMember, Folder
from unbraid.data.image_store import ImageStore, Plan
from unbraid.data.pictures import folder_survey, own_pictures, pictures
from unbraid.data.pictures.folder_survey import Labelled, Place, Survey
from unbraid.errors import DataError, SpecError
from unbraid.events import Event, tell

_PICTURES_PER_BLOCK = 256


@final
@dataclass(frozen=True)
class FromFolder(FactorDataset):
    """Pictures of your own, of any format that Pillow reads, grey or colour. `path` is their folder, `csv` the file of
    their factors if there is one.

    In the file of factors the column `file`, or else the first, names a picture as it lies below the folder. A column
    of whole numbers is a discrete factor, replaced by their rank among those that occur; one of decimals is a
    continuous one; one of words is a discrete one whose values are mere names. Pictures that it does not name are left
    out.

    The images have the size of the pictures; where these differ, `resolution` has the central square of each cut out
    and resized. They are in colour if any picture is; `channels` says otherwise: 1 is grey, 3 is colour. `recursive`
    takes in the folders inside the folder too.

    The paths become absolute, and a checksum of the pictures and labels that is not given is taken, so that a run names
    what it was trained on. Loading refuses a folder that has changed since. The images are converted once, and kept in
    the cache.
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
    """1 for grey, 3 for colour; without it colour if any picture is."""
    recursive: bool = True
    """Whether folders inside the folder count too."""
    sha256: str = ""
    """Checksum of what was read when the recipe was made; filled in."""

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
        if not self.sha256 and Path(self.path).is_dir():
            found = folder_survey.survey(self._place)
            self._shape_of(found)
            object.__setattr__(self, "sha256", found.sha256)

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
        return self._store_of(self.sha256)

    @property
    def words(self) -> dict[str, tuple[str, ...]]:
        """Returns the values of each factor of words, in the order of their indices; known once the pictures are
        converted.
        """
        return {name: tuple(words) for name, words in self.store.facts.get("words", {}).items()}

    def open(self, *, verify: bool = False) -> FactorImages:
        # Of a folder that is gone, what was converted is all that is needed, and its name says that it is what the
        # recipe asks for.
        if self.sha256 and not Path(self.path).is_dir() and self.store.flaw(verify=verify) is None:
            return self.store.images()
        found = self._survey()
        doing = f"converting {Path(self.path).name}"
        return self._store_of(found.sha256).ensure(lambda: self._plan(found), doing, verify=verify)

    @property
    def _place(self) -> Place:
        return Place(Path(self.path), None if self.csv is None else Path(self.csv), self.recursive)

    @property
    def _record(self) -> dict[str, Any] | None:
        return self.store.record if self.sha256 else None

    def _store_of(self, sha256: str) -> ImageStore:
        return own_pictures.store_for("from-folder", sha256, self.resolution, self.channels)

    def _known(self) -> Survey:
        """Returns what the folder held when the recipe was made, without a look at it if that is remembered."""
        known = folder_survey.remembered(self._place)
        return known if known is not None and known.sha256 == self.sha256 else self._survey()

    def _survey(self) -> Survey:
        """Returns what the folder holds now, if that is what the recipe asks for."""
        if not Path(self.path).is_dir():
            raise DataError(
                f"{files.no_folder(self.path)} Check the path, or bring the pictures back: they are not in the cache."
            )
        found = folder_survey.survey(self._place)
        if self.sha256 and found.sha256 != self.sha256:
            raise DataError(
                f"{self.path} has changed: its pictures{' and labels' if self.csv else ''} have SHA-256 "
                f"{found.sha256}, but the recipe expects "
                f"{self.sha256}. Restore them, or make a new recipe from the folder as it is."
            )
        return found

    def _shape_of(self, found: Survey) -> tuple[int, int, int]:
        return found.shapes.image_shape(self.path, self.resolution, self.channels)

    def _plan(self, found: Survey) -> Plan:
        listed = folder_survey.listing(self._place)
        used = folder_survey.labelled(self._place, listed)
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
    used: Labelled
    image_shape: tuple[int, int, int]
    squares: set[int] | None

    def blocks(self, start: int) -> Iterator[UInt8[np.ndarray, "block channel height width"]]:
        members, done = self.used.members, start
        decoded = self._decoded(members[start:])
        while done < len(members):
            try:
                block = next(decoded)
            except DataError as error:
                # The first flaw is known; one who mends it wants to know of the others too.
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
            tell(Event("looking for more that cannot be read", number, len(members), "pictures"))
        return flaws
