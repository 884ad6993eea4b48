"""Cars3D: rendered cars from four elevations and 24 azimuths."""

import re
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import ClassVar, Literal, final

import numpy as np
from einops import rearrange
from jaxtyping import UInt8

from unbraid._internal.progress import Event, emit
from unbraid.datasets.dataset import Factor, grid_rows
from unbraid.datasets.fetching.verification import Publication, PublishedFile
from unbraid.datasets.formats import mat
from unbraid.datasets.formats.archives import ArchiveMember, Container, Folder, Tar
from unbraid.datasets.image_store import Plan, sliced
from unbraid.datasets.pictures import resized
from unbraid.datasets.published.converted import ConvertedDataset, in_listed_order

_ARCHIVE = "nips2015-analogy-data.tar.gz"
_CAR = re.compile(r"car_\w+_mesh\.mat")
_LIST = "list.txt"
_SIDE = 128
_NUM_ELEVATIONS, _NUM_AZIMUTHS, _NUM_CARS = 4, 24, 183
_SHAPE = (_SIDE, _SIDE, 3, _NUM_AZIMUTHS, _NUM_ELEVATIONS)
# Four times the decompressed size of the two arrays of a car.
_MAX_FILE_BYTES = 2**26
_IMAGES_PER_BLOCK = 1_000


@final
@dataclass(frozen=True)
class Cars3D(ConvertedDataset):
    """Cars3D: 17,568 color renders of 183 cars (Reed, Zhang, Zhang & Lee), resized from 128 by 128 to 64 by 64.

    Each car is rendered from 4 elevations and 24 azimuths. The images are read from the official archive, or from a
    folder of its .mat files. The identity is the position of a car in the official list, and changes fastest. A folder
    with fewer cars gives fewer identities.
    """

    publication: ClassVar = Publication(
        title="Deep visual analogy-making: 3D cars",
        homepage="http://www.scottreed.info",
        license="not stated",
        license_note="No license is stated. The 3D models are by Fidler, Dickinson & Urtasun (NIPS 2012).",
        files=(
            PublishedFile(
                _ARCHIVE,
                f"http://www.scottreed.info/files/{_ARCHIVE}",
                checksum="md5:4e866a7919c1beedf53964e6f7a23686",
                checksum_source="disent",
            ),
        ),
        subfolders=("cars3d",),
    )

    resolution: Literal[64, 128] = 64
    """Height and width of the images, in pixels."""

    @property
    def factors(self) -> tuple[Factor, ...]:
        # Before the conversion, the factors of the published cars.
        return self.store.factor_table or _factor_table(_NUM_CARS)

    @property
    def published_num_images(self) -> int:
        return _NUM_ELEVATIONS * _NUM_AZIMUTHS * _NUM_CARS

    @property
    def image_shape(self) -> tuple[int, int, int]:
        return (3, self.resolution, self.resolution)

    def sources(self, folder: Path) -> tuple[Path, ...] | None:
        if (folder / _ARCHIVE).is_file():
            return (folder / _ARCHIVE,)
        for place in (folder / "data" / "cars", folder / "cars", folder):
            if any(_CAR.fullmatch(path.name) for path in place.glob("*.mat")):
                return (place,)
        return None

    def plan(self, sources: tuple[Path, ...]) -> Plan:
        (path,) = sources
        source = Folder(path, _MAX_FILE_BYTES) if path.is_dir() else Tar(path, is_gzipped=True)
        cars = _cars(source)
        table = _factor_table(len(cars))
        return Plan(
            self.image_shape,
            table,
            grid_rows(table),
            lambda start: sliced(_images(source, cars, self.resolution), start, _IMAGES_PER_BLOCK),
        )


def _factor_table(num_cars: int) -> tuple[Factor, ...]:
    return (
        Factor("elevation", _NUM_ELEVATIONS),
        Factor("azimuth", _NUM_AZIMUTHS),
        Factor("identity", num_cars, ordered=False),
    )


def _cars(source: Container) -> tuple[ArchiveMember, ...]:
    """Returns the files of the cars in the order of the official list, then unlisted cars by name."""
    # The archive also has other folders.
    parent = "" if isinstance(source, Folder) else "cars"
    found: dict[str, ArchiveMember] = {}
    for member in source.members():
        path = PurePosixPath(member.name)
        if path.parent.name == parent and (path.name == _LIST or _CAR.fullmatch(path.name)):
            found[path.name] = member
    listing = found.pop(_LIST, None)
    lines = b"" if listing is None else next(source.contents([listing]))
    listed = [f"{line.strip()}.mat" for line in lines.decode("latin-1").splitlines()]
    return tuple(found[name] for name in in_listed_order(found, listed))


def _images(
    source: Container, cars: tuple[ArchiveMember, ...], side: int
) -> UInt8[np.ndarray, "image channel {side} {side}"]:
    """Reads all images in the order of the archive, because a gzipped archive has no random access."""
    images = np.empty((_NUM_ELEVATIONS, _NUM_AZIMUTHS, len(cars), 3, side, side), np.uint8)
    places = sorted(range(len(cars)), key=lambda place: cars[place].offset)
    contents = source.contents(cars[place] for place in places)
    for num_read, (place, content) in enumerate(zip(places, contents, strict=True), start=1):
        values = mat.read_array(content, "im", _SHAPE, source.named(cars[place]))
        renders = rearrange(
            values, "height width channel azimuth elevation -> (elevation azimuth) channel height width"
        )
        images[:, :, place] = rearrange(
            resized(renders, side), "(elevation azimuth) ... -> elevation azimuth ...", azimuth=_NUM_AZIMUTHS
        )
        emit(Event("reading Cars3D", num_read, len(cars), "cars"))
    return images.reshape(-1, 3, side, side)
