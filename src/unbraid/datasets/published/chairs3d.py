"""3D Chairs: rendered chairs from two elevations and 31 azimuths."""

import logging
import re
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import ClassVar, Literal, final

from unbraid.datasets.dataset import Factor, FactorImages, grid_rows
from unbraid.datasets.fetching.verification import Publication, PublishedFile
from unbraid.datasets.formats import mat
from unbraid.datasets.formats.archives import ArchiveMember, Container, Folder, Tar, read_bounded
from unbraid.datasets.image_store import Plan
from unbraid.datasets.pictures import Framing, decode_many, shape_of
from unbraid.datasets.published.converted import PartedDataset, check_crop, in_listed_order
from unbraid.datasets.subsets import ChosenValues
from unbraid.errors import DataError, SpecError

log = logging.getLogger(__name__)

_HOME = "https://www.di.ens.fr/willow/research/seeing3Dchairs"
_ARCHIVE, _FOLDER, _NAMES = "rendered_chairs.tar", "rendered_chairs", "all_chair_names.mat"
_SELECTED, _LISTED = "reduced_set1.mat", "models_809.txt"
_NUM_MODELS = {"all": 1393, "809": 809}
_ELEVATIONS = (20, 30)
_AZIMUTHS = tuple(360 * step // 31 for step in range(31))
_VIEWS = [(elevation, azimuth) for elevation in _ELEVATIONS for azimuth in _AZIMUTHS]
_RENDER = re.compile(r"image_\d{3}_p(\d{3})_t(\d{3})_r\d{3}\.png")
_TRAIN_FRACTION = 0.8
_SIDE = 600
_MAX_LIST_BYTES = 2**20

View = tuple[int, int]


@final
@dataclass(frozen=True)
class Chairs3D(PartedDataset):
    """3D Chairs: 86,366 renders of 1393 chairs on white (Aubry, Maturana, Efros, Russell & Sivic).

    Each chair is rendered from 2 elevations and 31 azimuths. The images are read from the official tar, or from its
    unpacked folder. `models="809"` excludes near duplicates, and requires a file with the list of these models. `train`
    has the first 80 % of the models, and `test` the other models.
    """

    publication: ClassVar = Publication(
        title="Seeing 3D chairs: rendered chairs",
        homepage=f"{_HOME}/",
        license="not stated",
        license_note="The owners state no license. The models are from Google (now Trimble) 3D Warehouse.",
        files=(PublishedFile(_ARCHIVE, f"{_HOME}/data/{_ARCHIVE}"),),
        subfolders=("chairs3d", "3d_chairs", "chairs"),
    )

    split: Literal["all", "train", "test"] = "all"
    """All models, the first 80 % of the models, or the other models."""
    models: Literal["all", "809"] = "all"
    """All models, or the 809 without near duplicates."""
    masks: bool = False
    """Whether to use masks (white chairs on black) instead of renders."""
    color: bool = False
    """Whether the renders keep their colors."""
    crop: int | None = None
    """Height and width of the central crop in pixels, or None for the whole render."""
    resolution: int = 64
    """Height and width of the images, in pixels."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.masks and self.color:
            raise SpecError("Chairs3D: got masks=True and color=True; expected at most one. Set one to False.")
        check_crop("Chairs3D", self.crop, self.resolution, _SIDE)

    @property
    def factors(self) -> tuple[Factor, ...]:
        """Factors of the converted chairs, or of the published chairs before the conversion."""
        return self.store.factor_table or _factor_table(_NUM_MODELS[self.models])

    @property
    def published_num_images(self) -> int:
        num_models = _NUM_MODELS[self.models]
        num_train = int(_TRAIN_FRACTION * num_models)
        return {"all": num_models, "train": num_train, "test": num_models - num_train}[self.split] * len(_VIEWS)

    @property
    def image_shape(self) -> tuple[int, int, int]:
        return (3 if self.color else 1, self.resolution, self.resolution)

    def sources(self, folder: Path) -> tuple[Path, ...] | None:
        """Returns the tar, or else the unpacked folder, and the list of models if it is needed and present."""
        places = [folder / _ARCHIVE, folder / _FOLDER, *([folder] if folder.name == _FOLDER else [])]
        if (source := next((place for place in places if place.exists()), None)) is None:
            return None
        lists = [source.parent / name for name in (_SELECTED, _LISTED)] if self.models == "809" else []
        return (source, *[place for place in lists if place.is_file()][:1])

    def plan(self, sources: tuple[Path, ...]) -> Plan:
        path, *lists = sources
        source = Folder(path) if path.is_dir() else Tar(path)
        members = source.members()
        renders = _renders(source, members)
        names: list[str] = []
        if (listing := next((member for member in members if PurePosixPath(member.name).name == _NAMES), None)) is None:
            log.warning("Chairs3D: %s has no %s. The models are sorted by name.", source.path, _NAMES)
        else:
            (content,) = source.contents([listing])
            names = mat.read_names(content, "folder_names", source.named(listing))
        models = in_listed_order(renders, names) if self.models == "all" else _selected(path, lists, renders, names)
        if len(models) != _NUM_MODELS[self.models]:
            log.warning(
                "Chairs3D: %s has %s models; the official set has %s.", path, len(models), _NUM_MODELS[self.models]
            )
        chosen = [renders[model][view] for model in models for view in _VIEWS]
        (content,) = source.contents(chosen[:1])
        _, height, width = shape_of(content, source.named(chosen[0]))
        if height != width:
            raise DataError(
                f"{source.named(chosen[0])} is {height} x {width} pixels; expected a square. Fetch the official file."
            )
        framing = Framing(
            self.image_shape,
            self.crop,
            (height, width),
            formats=("PNG",),
            follow_exif=False,
            background="white",
            mask=self.masks,
        )
        table = _factor_table(len(models))
        return Plan(
            self.image_shape, table, grid_rows(table), lambda start: decode_many(source, chosen[start:], framing)
        )

    def part(self, images: FactorImages) -> FactorImages:
        if self.split == "all":
            return images
        return ChosenValues("identity", fraction=_TRAIN_FRACTION, part=self.split).select(images)


def _factor_table(num_models: int) -> tuple[Factor, ...]:
    return (
        Factor("identity", num_models, ordered=False),
        Factor("elevation", len(_ELEVATIONS)),
        Factor("azimuth", len(_AZIMUTHS)),
    )


def _renders(source: Container, members: Sequence[ArchiveMember]) -> dict[str, dict[View, ArchiveMember]]:
    """Groups the renders by model and view. The paths are MODEL/renders/NAME, with the angles of the view in NAME."""
    found: dict[str, dict[View, ArchiveMember]] = {}
    for member in members:
        *_, model, folder, name = ("", "", *PurePosixPath(member.name).parts)
        if folder != "renders" or not name.endswith(".png") or name.startswith("."):
            continue
        match = _RENDER.fullmatch(name)
        view = (int(match[1]), int(match[2])) if match else None
        if view is None or view not in _VIEWS:
            raise DataError(
                f"{source.named(member)} is not the name of a render; expected image_..._pEEE_tAAA_r...png with the "
                "elevation EEE and the azimuth AAA. Remove this file, or fetch the official file."
            )
        views = found.setdefault(model, {})
        if view in views:
            raise DataError(f"{source.named(member)} has the same view as {views[view].name}. Fetch the official file.")
        views[view] = member
    if not found:
        raise DataError(
            f"{source.path} has no renders; expected {_FOLDER}/MODEL/renders/image_000_p020_t000_r096.png etc. Fetch "
            "the official file."
        )
    for model, views in sorted(found.items()):
        if missing := [view for view in _VIEWS if view not in views]:
            raise DataError(
                f"{source.path}: model {model} lacks {len(missing)} of {len(_VIEWS)} renders, e.g. at elevation "
                f"{missing[0][0]} and azimuth {missing[0][1]}. Unpack or fetch the archive again."
            )
    return found


def _selected(path: Path, lists: Sequence[Path], models: Collection[str], names: Sequence[str]) -> list[str]:
    """Returns the listed models, in the order of the list."""
    if not lists:
        raise DataError(
            f"Chairs3D: models='809' needs a list of models that is not in the tar. Save {_SELECTED} (from "
            f"github.com/jimeiyang/deepRotator, folder chair), or {_LISTED} with one model name per line, in "
            f"{path.parent}."
        )
    (listing,) = lists
    content = read_bounded(listing, _MAX_LIST_BYTES)
    if listing.name == _LISTED:
        chosen = content.decode("latin-1").split()
    else:
        positions = mat.read_positions(content, "selected", str(listing))
        if max(positions, default=0) >= len(names):
            raise DataError(
                f"{listing} selects model {max(positions) + 1}; expected at most {len(names)}, the number of models in "
                f"{_NAMES}. Fetch the official {_ARCHIVE}."
            )
        chosen = [names[position] for position in positions]
    if not chosen:
        raise DataError(f"{listing} is empty; expected the names of 809 models. Add one name per line.")
    for name, count in Counter(chosen).items():
        if name not in models or count > 1:
            problem = f"which is not in {path}" if name not in models else "more than once"
            raise DataError(
                f"{listing} selects {name!r:.60}, {problem}; expected 809 different models. Correct the list."
            )
    return chosen
