"""Dataset of pictures in a folder, with or without factors."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar, final

from unbraid._internal import files
from unbraid.datasets import file_stamps
from unbraid.datasets.dataset import Factor, FactorDataset, FactorImages
from unbraid.datasets.image_store import ImageStore, Plan
from unbraid.datasets.user import folder_survey, own_pictures
from unbraid.datasets.user.folder_survey import PictureFolder, Survey
from unbraid.errors import DataError, SpecError


@final
@dataclass(frozen=True)
class FromFolder(FactorDataset):
    """Dataset of pictures in a folder, in any format that Pillow reads, with an optional CSV file of factors.

    In the CSV file, the column `file`, or else the first column, has the path of a picture relative to the folder. A
    column of integers is a discrete factor, whose values are replaced by their rank. A column of decimals is a
    continuous factor, and a column of strings a categorical factor. Pictures without a row are skipped.

    The images have the size of the pictures. If sizes differ, `resolution` is required, and the central square of each
    picture is resized. The images are in color if any picture is in color, unless `channels` is given.

    Construction makes the paths absolute. The folder is read on the first access to images, factors or `num_images`.
    The images are converted once and cached. A run records the checksum of the pictures and labels, and loading a
    changed folder raises an error.
    """

    origin: ClassVar = "read"

    path: str
    """Path of the folder of pictures."""
    csv: str | None = None
    """CSV file of the factors, with one row per picture."""
    resolution: int | None = None
    """Height and width of the images, or None to keep the common size of the pictures."""
    channels: int | None = None
    """Number of channels: 1 for gray, 3 for color, None for color if any picture is in color."""
    recursive: bool = True
    """Whether to include subfolders."""
    sha256: str = ""
    """SHA-256 of the pictures and labels, as recorded by a run."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.path or self.csv == "":
            raise SpecError(
                f"FromFolder: {'csv' if self.path else 'path'} is ''; expected the path of "
                f"{'a file. Give a path, or omit csv' if self.path else 'a folder. Give a path'}."
            )
        file_stamps.check_sha256(self.sha256, "FromFolder")
        own_pictures.check_settings("FromFolder", self.resolution, self.channels)
        object.__setattr__(self, "path", files.absolute(self.path))
        if self.csv is not None:
            object.__setattr__(self, "csv", files.absolute(self.csv))

    def pinned(self) -> "FromFolder":
        """Returns this config with the checksum of the folder, if the folder exists."""
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
        """Store of the converted images. Its name depends on the checksum of the folder, not on the path."""
        return own_pictures.store_for("from-folder", self._checksum, self.resolution, self.channels)

    @property
    def words(self) -> dict[str, tuple[str, ...]]:
        """Category names of each categorical factor, in the order of value indices. Empty before the conversion."""
        return {name: tuple(words) for name, words in self.store.facts.get("words", {}).items()}

    def open(self, *, verify: bool = False) -> FactorImages:
        # Converted images are sufficient if the folder was deleted, because they are named by its checksum.
        if not Path(self.path).is_dir() and self._checksum and self.store.flaw(verify=verify) is None:
            return self.store.images()
        found = self._survey()
        self._shape_of(found)  # raises errors before the conversion
        doing = f"converting {Path(self.path).name}"
        return self.store.ensure(lambda: self._plan(found), doing, verify=verify)

    @property
    def _place(self) -> PictureFolder:
        return PictureFolder(Path(self.path), None if self.csv is None else Path(self.csv), self.recursive)

    @property
    def _record(self) -> dict[str, Any] | None:
        return self.store.record if self._checksum else None

    @property
    def _checksum(self) -> str:
        """The field `sha256`, else the checksum of the folder at the first read, or "" without a folder."""
        if not self.sha256 and "_first" not in self.__dict__ and Path(self.path).is_dir():
            object.__setattr__(self, "_first", folder_survey.survey(self._place).sha256)
        return self.sha256 or str(self.__dict__.get("_first", ""))

    def _known(self) -> Survey:
        """Returns the survey with the checksum of this config, from the cache if possible."""
        known = folder_survey.remembered(self._place)
        return known if known is not None and known.sha256 == self._checksum else self._survey()

    def _survey(self) -> Survey:
        """Surveys the folder. Raises an error if its checksum differs from the checksum of this config."""
        if not Path(self.path).is_dir():
            raise DataError(
                f"{files.no_folder(self.path)} The images are not in the cache either. Check the path, or restore the "
                "pictures."
            )
        found = folder_survey.survey(self._place)
        if found.sha256 != self._checksum:
            raise DataError(
                f"{self.path} has SHA-256 {found.sha256}; expected {self._checksum}. Restore the changed folder, or "
                "create a new FromFolder."
            )
        return found

    def _shape_of(self, found: Survey) -> tuple[int, int, int]:
        return found.shapes.image_shape(self.path, self.resolution, self.channels)

    def _plan(self, found: Survey) -> Plan:
        listed = folder_survey.listing(self._place)
        used = folder_survey.labeled(self._place, listed)
        if not found.stamp == listed.stamp == folder_survey.listing(self._place).stamp:
            raise DataError(
                f"{self.path} was changed during the conversion. Leave the folder unchanged, and start again."
            )
        framing = own_pictures.framing(self._shape_of(found), self.resolution)
        return Plan(
            framing.image_shape,
            used.table.factors,
            used.table.values,
            lambda start: own_pictures.images(listed, used.members, framing, self.path, start),
            facts={"sha256": found.sha256, "words": used.table.words},
        )
