"""How a digit is written, measured from its pixels."""

import numpy as np
from jaxtyping import Float64, UInt8

MEASURED = ("thickness", "width", "slant")
_IMAGES_AT_ONCE = 5_000


def digit_shape(images: UInt8[np.ndarray, "image height width"]) -> Float64[np.ndarray, "image 3"]:
    """Returns the thickness of the stroke and the width of the digit, in pixels, and its slant: the tangent of the
    angle by which it leans to the right. Ink is what is bright. An image without ink has NaN.

    A stroke of width w and length l has the area w l and the outline 2 (w + l), so w follows from both: nearly, since
    corners are rounded and strokes are bent. The slant is the slope of x on height; the width is that of an even bar
    with the same spread of x once the slant is taken away.
    """
    blocks = [images[first : first + _IMAGES_AT_ONCE] for first in range(0, len(images), _IMAGES_AT_ONCE)]
    return np.concatenate([_measured(block.astype(np.float64) / 255) for block in blocks] or [np.empty((0, 3))])


def _measured(ink: Float64[np.ndarray, "image height width"]) -> Float64[np.ndarray, "image 3"]:
    area = ink.sum(axis=(1, 2))
    with np.errstate(divide="ignore", invalid="ignore"):
        slant, width = _lean(ink, area)
        half = _outline(ink) / 2
        # The shorter side of the rectangle with this area and this outline; of a blob that has none, of the square.
        thickness = (half - np.sqrt(np.maximum(half**2 - 4 * area, 0.0))) / 2
    return np.where(area[:, None] > 0, np.stack([thickness, width, slant], axis=1), np.nan)


def _outline(ink: Float64[np.ndarray, "image height width"]) -> Float64[np.ndarray, " image"]:
    """Returns the length of the outline: the change of brightness, summed. Along a slope its two directions are one."""
    framed = np.pad(ink, ((0, 0), (1, 1), (1, 1)))
    down, right = np.diff(framed, axis=1), np.diff(framed, axis=2)
    # Both at the corner that four pixels share, so that no direction is favored.
    down, right = (down[:, :, 1:] + down[:, :, :-1]) / 2, (right[:, 1:] + right[:, :-1]) / 2
    return np.hypot(down, right).sum(axis=(1, 2))


def _lean(
    ink: Float64[np.ndarray, "image height width"], area: Float64[np.ndarray, " image"]
) -> tuple[Float64[np.ndarray, " image"], Float64[np.ndarray, " image"]]:
    """Returns slant and width by the moments of the ink."""
    up = -np.arange(ink.shape[1], dtype=np.float64)
    right = np.arange(ink.shape[2], dtype=np.float64)
    rows, columns = ink.sum(axis=2), ink.sum(axis=1)
    mean_up, mean_right = rows @ up / area, columns @ right / area
    of_up = rows @ up**2 / area - mean_up**2
    of_right = columns @ right**2 / area - mean_right**2
    together = np.einsum("nhw,h,w->n", ink, up, right) / area - mean_up * mean_right
    slant = np.divide(together, of_up, out=np.zeros_like(of_up), where=of_up > 1e-12)
    straight = np.maximum(of_right - slant * together, 0.0)
    # w pixels side by side have the variance (w^2 - 1) / 12.
    return slant, np.sqrt(12 * straight + 1)
