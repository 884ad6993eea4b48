"""3D Faces: the renders of the Basel face model."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, final

import numpy as np
import torch
from jaxtyping import UInt8
from torch import Tensor

from unbraid.datasets.conversion.converted import ConvertedDataset
from unbraid.datasets.dataset import Factor
from unbraid.datasets.formats.pth import read_tensor
from unbraid.datasets.grid import grid_rows
from unbraid.datasets.image_store import Plan
from unbraid.datasets.publication import Publication, PublishedFile
from unbraid.errors import DataError

_FILE = "basel_face_renders.pth"
_SIDE = 64
_FACTORS = (
    Factor("identity", 50, ordered=False),
    Factor("azimuth", 21),
    Factor("elevation", 11),
    Factor("lighting", 11),
)
_IMAGES_PER_BLOCK = 4096


@final
@dataclass(frozen=True)
class BaselFaces(ConvertedDataset):
    """The faces of Chen et al., arXiv:1802.04942v5: 50 people under 21 azimuths, 11 elevations and 11 directions of
    light, 64 by 64 gray bytes.

    Read from the file that their code reads: one tensor of 127,050 images, the light changing fastest. Its license does
    not allow it to be passed on; `ShadedFaces` is a drawn stand-in with the same factors.
    """

    publication: ClassVar = Publication(
        title="3D Faces: renders of the Basel Face Model",
        homepage="https://faces.dmi.unibas.ch/bfm/main.php?nav=1-2&id=downloads",
        license="Basel Face Model",
        license_note=(
            "For non-commercial research, after signing; the University of Basel does not allow the model or its "
            "renders to be passed on."
        ),
        files=(PublishedFile(_FILE, None),),
        subfolders=("basel-faces", "data"),
        how_to_get=(
            "The Basel Face Model may not be passed on by its license, so there is no download; ShadedFaces "
            "(--dataset shaded-faces) is a drawn stand-in "
            "with the same factors. For the original, get the model at https://faces.dmi.unibas.ch/bfm, and then the "
            "renders from the authors of "
            "arXiv:1802.04942v5"
        ),
    )

    @property
    def factors(self) -> tuple[Factor, ...]:
        return _FACTORS

    @property
    def published_num_images(self) -> int:
        return math.prod(factor.size for factor in _FACTORS)

    @property
    def image_shape(self) -> tuple[int, int, int]:
        return (1, _SIDE, _SIDE)

    def sources(self, folder: Path) -> tuple[Path, ...] | None:
        return (folder / _FILE,) if (folder / _FILE).is_file() else None

    def plan(self, sources: tuple[Path, ...]) -> Plan:
        (path,) = sources
        images = _as_list(path, read_tensor(path))

        def blocks(start: int) -> Iterator[UInt8[np.ndarray, "block channel height width"]]:
            for first in range(start, len(images), _IMAGES_PER_BLOCK):
                block = _as_bytes(path, first, images[first : first + _IMAGES_PER_BLOCK])
                yield block.reshape(-1, 1, _SIDE, _SIDE).numpy()

        return Plan(self.image_shape, self.factors, grid_rows(_FACTORS), blocks)


def _as_list(path: Path, tensor: Tensor) -> Tensor:
    """Returns one image after the other, however the tensor has its axes: their code takes any that has as many numbers
    an image.
    """
    sizes = tuple(factor.size for factor in _FACTORS)
    num_images = math.prod(sizes)
    lists = [(num_images, _SIDE, _SIDE), (num_images, 1, _SIDE, _SIDE), (num_images, _SIDE * _SIDE)]
    grids = [(*sizes, _SIDE, _SIDE), (*sizes, 1, _SIDE, _SIDE)]
    shape = tuple(tensor.shape)
    if shape not in (*lists, *grids):
        raise DataError(
            f"{path} holds a tensor of shape {shape}; the renders are {lists[0]}, or {grids[0]}. Get the file that "
            "their code reads."
        )
    if tensor.dtype == torch.bool:
        raise DataError(
            f"{path} holds {tensor.dtype}; expected bytes from 0 to 255. Get the file that their code reads."
        )
    return tensor.flatten(0, len(sizes) - 1) if shape in grids else tensor


def _as_bytes(path: Path, first: int, block: Tensor) -> UInt8[Tensor, "..."]:
    """Returns the images as bytes. Their code divides by 255, whatever the type: other numbers do as well, if they are
    whole and from 0 to 255.
    """
    if block.dtype == torch.uint8:
        return block
    exact = block.double()
    as_bytes = exact.clamp(0, 255).to(torch.uint8)
    wrong = (as_bytes != exact).reshape(len(block), -1).any(dim=1).nonzero()
    if len(wrong):
        values = exact[int(wrong[0])]
        raise DataError(
            f"Image {first + int(wrong[0])} in {path} holds {block.dtype} from {float(values.min()):g} to "
            f"{float(values.max()):g}; expected whole "
            "numbers from 0 to 255. Get the file that their code reads."
        )
    return as_bytes
