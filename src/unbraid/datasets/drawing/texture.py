"""A smooth random texture in color, the same on every machine: value noise in whole numbers.

Octave c (a power of two) has a random byte at every corner of a grid of squares of c pixels. Between corners the value
is interpolated, first along the columns and then along the rows, with the weight s(t) = 3 t² - 2 t³ at a distance of t
squares from the corner above or to the left. The texture is the sum over the octaves, each weighted by its c, stretched
in each channel so that it runs from 0 to 255.
"""

from collections.abc import Sequence

import numpy as np
import torch
from jaxtyping import Int64, UInt8

from unbraid.datasets.drawing.painted_sprites import random_bytes


def texture(
    seed: int, stream: str, height: int, width: int, octaves: Sequence[int]
) -> UInt8[np.ndarray, "3 height width"]:
    """Returns a texture that depends on (seed, stream) alone. The top left corner does not depend on height and width,
    but for the stretching.
    """
    # Each octave is in units of c⁻⁶; in those of the widest all are whole.
    unit = max(octaves) ** 6
    total = sum(
        octave * _octave(seed, f"{stream}/{octave}", height, width, octave) * (unit // octave**6) for octave in octaves
    )
    low, high = (edge(total, axis=(1, 2), keepdims=True) for edge in (np.min, np.max))
    return ((total - low) * 255 // np.maximum(high - low, 1)).astype(np.uint8)


def _octave(seed: int, stream: str, height: int, width: int, octave: int) -> Int64[np.ndarray, "3 height width"]:
    """Returns one octave, in units of octave⁻⁶."""
    num_rows, num_columns = -(-height // octave) + 1, -(-width // octave) + 1
    rows = torch.arange(num_rows)
    corners = (
        random_bytes(seed, stream, rows, 3 * num_columns)
        .reshape(num_rows, 3, num_columns)
        .numpy()
        .transpose(1, 0, 2)
        .astype(np.int64)
    )
    return _interpolated(_interpolated(corners, height, octave, axis=1), width, octave, axis=2)


def _interpolated(values: Int64[np.ndarray, "..."], length: int, octave: int, axis: int) -> Int64[np.ndarray, "..."]:
    """Interpolates along one axis, in units of octave⁻³."""
    square, t = np.divmod(np.arange(length), octave)
    weight = (t * t * (3 * octave - 2 * t)).reshape([-1 if axis == other else 1 for other in range(values.ndim)])
    return np.take(values, square, axis) * (octave**3 - weight) + np.take(values, square + 1, axis) * weight
