"""Images in the shape that a model was trained on."""

import torch
from torch import Tensor

from unbraid.datasets.dataset import FactorImages
from unbraid.datasets.pixels.pixels import Raw
from unbraid.errors import DataError

# ITU-R BT.601, which pillow uses too: how bright red, green and blue are to the eye.
_LUMA = (0.299, 0.587, 0.114)


def fitted(images: FactorImages, image_shape: tuple[int, int, int], origin: str) -> Raw:
    """Returns the pixels with as many channels as the model takes: colors become gray by their brightness, and gray
    becomes color. Raises if their height or width differs: to resize or to crop is a choice, and the user's.
    """
    channels, height, width = image_shape
    _, has_channels, has_height, has_width = images.pixels.shape
    if (has_height, has_width) != (height, width):
        if images.bytes_of(slice(1)).is_floating_point():
            raise DataError(
                f"Vectors of {has_width} numbers were given; this run was trained on "
                + (
                    f"vectors of {width}."
                    if height == 1
                    else f"images of {height} x {width} pixels. Give one as x[None]."
                )
            )
        raise DataError(wrong_size(origin, (has_height, has_width), (height, width)))
    pixels: Tensor = images.pixels[:]
    if has_channels == channels:
        return pixels
    if channels == 3:
        return pixels.expand(-1, 3, -1, -1)
    luma = torch.tensor(_LUMA, device=pixels.device)
    return torch.einsum("nchw,c->nhw", pixels.float(), luma).round().to(torch.uint8)[:, None]


def wrong_size(origin: str, has: tuple[int, int], expected: tuple[int, int]) -> str:
    """Returns the error message for images of another height and width."""
    return (
        f"{origin} is {has[0]} x {has[1]} pixels (height x width); this run was trained on {expected[0]} x "
        f"{expected[1]}. Resize or crop it first."
    )
