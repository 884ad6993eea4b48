"""Smaller images."""

import numpy as np
from jaxtyping import UInt8


def resized(
    images: UInt8[np.ndarray, "image channel height width"], side: int
) -> UInt8[np.ndarray, "image channel {side} {side}"]:
    """Returns squares of this side, gray or color, by Pillow's Lanczos filter, in which every pixel has its part.
    Those of the right size stay as they are.
    """
    from PIL import Image

    if images.shape[2:] == (side, side):
        return images
    small = np.empty((*images.shape[:2], side, side), np.uint8)
    for image, place in zip(images, small, strict=True):
        is_gray = len(image) == 1
        picture = Image.fromarray(image[0] if is_gray else np.ascontiguousarray(image.transpose(1, 2, 0)))
        pixels = np.asarray(picture.resize((side, side), Image.Resampling.LANCZOS))
        place[:] = pixels if is_gray else pixels.transpose(2, 0, 1)
    return small
