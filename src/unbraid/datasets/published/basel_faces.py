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
_GET_IT = "Use the file of the code of Chen et al."


@final
@dataclass(frozen=True)
class BaselFaces(ConvertedDataset):
    """3D Faces: 127,050 renders of the Basel face model (Chen et al., arXiv:1802.04942v5), 64 by 64 gray bytes.

    The images show 50 people under 21 azimuths, 11 elevations and 11 directions of light, which change fastest. The
    images are read from the file of one tensor that the authors' code uses. The license does not allow copies.
    `ShadedFaces` is a synthetic dataset with the same factors.
    """

    publication: ClassVar = Publication(
        title="3D Faces: renders of the Basel Face Model",
        homepage="https://faces.dmi.unibas.ch/bfm/main.php?nav=1-2&id=downloads",
        license="Basel Face Model",
        license_note=(
            "For non-commercial research, after signing a license; the University of Basel does not allow to share the "
            "model or its renders."
        ),
        files=(PublishedFile(_FILE, None),),
        subfolders=("basel-faces", "data"),
        how_to_get=(
            "There is no download, because the license of the Basel Face Model does not allow sharing; ShadedFaces "
            "(--dataset shaded-faces) is a synthetic dataset with the same factors. For the original, get a license "
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
        # The authors' code accepts a list or a grid of images, flat or with height and width.
        shapes = [
            (*outer, *image)
            for outer in ((num_images,), sizes)
            for image in ((_SIDE, _SIDE), (1, _SIDE, _SIDE), (_SIDE * _SIDE,))
        ]
        if tuple(tensor.shape) not in shapes or tensor.dtype == torch.bool:
            raise DataError(
                f"{path} has a tensor of {tensor.dtype} and shape {tuple(tensor.shape)}; expected bytes from 0 to "
                f"255 of shape {shapes[0]} or {shapes[3]}. {_GET_IT}"
            )
        images = tensor.reshape(num_images, 1, _SIDE, _SIDE)

        def blocks(start: int) -> Blocks:
            for first in range(start, num_images, _IMAGES_PER_BLOCK):
                yield _as_bytes(path, first, images[first : first + _IMAGES_PER_BLOCK]).numpy()

        return Plan(self.image_shape, self.factors, grid_rows(self.factors), blocks)


def _as_bytes(path: Path, first: int, block: Tensor) -> UInt8[Tensor, "..."]:
    """Converts a block of images to bytes. Raises an error for values other than integers from 0 to 255."""
    if block.dtype == torch.uint8:
        return block
    exact = block.double()
    as_bytes = exact.clamp(0, 255).to(torch.uint8)
    wrong = (as_bytes != exact).reshape(len(block), -1).any(dim=1).nonzero()
    if len(wrong):
        values = exact[int(wrong[0])]
        raise DataError(
            f"Image {first + int(wrong[0])} in {path} has {block.dtype} from {float(values.min()):g} to "
            f"{float(values.max()):g}; expected integers from 0 to 255. {_GET_IT}"
        )
    return as_bytes
