"""3D Faces: the renders of the Basel face model."""

import math
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, final

import torch
from jaxtyping import UInt8
from torch import Tensor

from unbraid.datasets.dataset import Factor, grid_rows
from unbraid.datasets.fetching.verification import Publication, PublishedFile
from unbraid.datasets.formats.pth import read_tensor
from unbraid.datasets.image_store import Blocks, Plan
from unbraid.datasets.published.converted import ConvertedDataset
from unbraid.errors import DataError

_FILE = "basel_face_renders.pth"
_SIDE = 64
_IMAGES_PER_BLOCK = 4096
_GET_IT = "Get the file that the code of Chen et al. reads."


@final
@dataclass(frozen=True)
class BaselFaces(ConvertedDataset):
    """The 127,050 face renders of Chen et al., arXiv:1802.04942v5, 64 by 64 gray bytes.

    50 people under 21 azimuths, 11 elevations and 11 directions of light, the last changing fastest. The images are
    read from a file of one tensor, as used by the authors' code. The license does not allow copies; `ShadedFaces` is a
    synthetic stand-in with the same factors.
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
            "(--dataset shaded-faces) is a synthetic stand-in with the same factors. For the original, get the model "
            "at https://faces.dmi.unibas.ch/bfm, and then the renders from the authors of arXiv:1802.04942v5"
        ),
    )
    factors: ClassVar = (
        Factor("identity", 50, ordered=False),
        Factor("azimuth", 21),
        Factor("elevation", 11),
        Factor("lighting", 11),
    )
    image_shape: ClassVar = (1, _SIDE, _SIDE)

    def plan(self, sources: tuple[Path, ...]) -> Plan:
        (path,) = sources
        tensor, sizes = read_tensor(path), tuple(factor.size for factor in self.factors)
        num_images = math.prod(sizes)
        # The authors' code accepts a list or a grid of images, each flat or not.
        shapes = [
            (*outer, *image)
            for outer in ((num_images,), sizes)
            for image in ((_SIDE, _SIDE), (1, _SIDE, _SIDE), (_SIDE * _SIDE,))
        ]
        if tuple(tensor.shape) not in shapes or tensor.dtype == torch.bool:
            raise DataError(
                f"{path} holds a tensor of {tensor.dtype} and shape {tuple(tensor.shape)}; expected bytes from 0 to "
                f"255 of shape {shapes[0]} or {shapes[3]}. {_GET_IT}"
            )
        images = tensor.reshape(num_images, 1, _SIDE, _SIDE)

        def blocks(start: int) -> Blocks:
            for first in range(start, num_images, _IMAGES_PER_BLOCK):
                yield _as_bytes(path, first, images[first : first + _IMAGES_PER_BLOCK]).numpy()

        return Plan(self.image_shape, self.factors, grid_rows(self.factors), blocks)


def _as_bytes(path: Path, first: int, block: Tensor) -> UInt8[Tensor, "..."]:
    """Converts the images to bytes. Raises an error for values other than whole numbers from 0 to 255."""
    if block.dtype == torch.uint8:
        return block
    exact = block.double()
    as_bytes = exact.clamp(0, 255).to(torch.uint8)
    wrong = (as_bytes != exact).reshape(len(block), -1).any(dim=1).nonzero()
    if len(wrong):
        values = exact[int(wrong[0])]
        raise DataError(
            f"Image {first + int(wrong[0])} in {path} holds {block.dtype} from {float(values.min()):g} to "
            f"{float(values.max()):g}; expected whole numbers from 0 to 255. {_GET_IT}"
        )
    return as_bytes
