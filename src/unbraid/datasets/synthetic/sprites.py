"""Sprites: the white polygons of dSprites, rasterized bit for bit like the originals.

Columns increase to the right, and rows downwards. The center of the pixel in row r and column c is (c + 0.5, r + 0.5).
A row of pixels is one 64-bit word with bit c for column c.
"""

import numpy as np
from jaxtyping import Float64, Int64, UInt64

SHAPES = ("square", "ellipse", "heart")
MAX_RESOLUTION = 64

# Vertices are on a grid of 1/256 pixel, so that inside tests use integers and give equal results on every machine.
_SUBPIXELS = 256
_ALL_COLUMNS = np.uint64(2**64 - 1)


def outline(shape: str, resolution: int) -> Float64[np.ndarray, "vertex 2"]:
    """Returns the vertices (x, y) of a shape at scale 1, in pixels relative to the center of rotation."""
    pixel = resolution / 64
    if shape == "square":
        return pixel * 9.6 * np.array([[-1.0, -1.0], [1.0, -1.0], [1.0, 1.0], [-1.0, 1.0]])
    if shape == "ellipse":
        t = 2 * np.pi * np.arange(100) / 100
        return pixel * np.stack([9.6 * 1.33 * np.cos(t), 9.6 / 1.33 * np.sin(t)], axis=1)
    t = 2 * np.pi * np.arange(150) / 150  # a heart
    y = -(19.2 / 29) * (13 * np.cos(t) - 5 * np.cos(2 * t) - 2 * np.cos(3 * t) - np.cos(4 * t)) - 1.44
    return pixel * np.stack([9.6 * np.sin(t) ** 3, y], axis=1)


def draw(
    vertices: Float64[np.ndarray, "vertex 2"],
    angle: float,
    centers_x: Float64[np.ndarray, " x"],
    centers_y: Float64[np.ndarray, " y"],
    resolution: int,
) -> UInt64[np.ndarray, "x y row"]:
    """Draws a polygon, rotated counterclockwise by `angle` radians, at each pair of centers.

    The polygon must be within the image. A pixel is white if and only if its center is inside the polygon, whose
    vertices are rounded to 1/256 pixel. Pixel centers on an upper horizontal edge are outside, and on a lower edge
    inside. Pixel centers on another left edge are inside, and on a right edge outside.
    """
    x, y = vertices.T
    xs = _snapped(centers_x[:, None] + x * np.cos(angle) + y * np.sin(angle))
    ys = _snapped(centers_y[:, None] - x * np.sin(angle) + y * np.cos(angle))
    line, edge = _crossings(ys, resolution)
    words = _half_lines(xs, ys, line, edge, resolution)
    # A pixel is inside if an odd number of crossings are at or left of it: XOR over the crossings of each line.
    first = np.flatnonzero(np.diff(line, prepend=-1))
    rows = np.zeros((len(centers_x), len(centers_y) * resolution), dtype=np.uint64)
    if len(line):
        rows[:, line[first]] = np.bitwise_xor.reduceat(words, first, axis=1)
    return rows.reshape(len(centers_x), len(centers_y), resolution)


def _snapped(pixels: Float64[np.ndarray, "center vertex"]) -> Int64[np.ndarray, "center vertex"]:
    return np.rint(_SUBPIXELS * pixels).astype(np.int64)


def _row_centers(resolution: int) -> Int64[np.ndarray, " row"]:
    return _SUBPIXELS * np.arange(resolution, dtype=np.int64) + _SUBPIXELS // 2


def _crossings(
    ys: Int64[np.ndarray, "y vertex"], resolution: int
) -> tuple[Int64[np.ndarray, " crossing"], Int64[np.ndarray, " crossing"]]:
    """Returns the line and the edge of each crossing between a line of pixel centers and an edge, sorted by line.

    A line of pixel centers has the number `y * resolution + row`. Edge k connects vertices k and k + 1.
    """
    above = ys[:, None, :] < _row_centers(resolution)[:, None]
    crosses = above != np.roll(above, -1, axis=2)
    line, edge = np.divmod(np.flatnonzero(crosses), ys.shape[1])
    return line, edge


def _half_lines(
    xs: Int64[np.ndarray, "x vertex"],
    ys: Int64[np.ndarray, "y vertex"],
    line: Int64[np.ndarray, " crossing"],
    edge: Int64[np.ndarray, " crossing"],
    resolution: int,
) -> UInt64[np.ndarray, "x crossing"]:
    """Returns a mask of the pixels at or right of each crossing, as bits of a word."""
    y, row = np.divmod(line, resolution)
    end = (edge + 1) % xs.shape[1]
    rise = ys[y, end] - ys[y, edge]
    climbed = (_row_centers(resolution)[row] - ys[y, edge]) * np.sign(rise)
    rise = np.abs(rise)
    start = xs[:, edge]
    # The crossing is at start + climbed / rise * (end - start). Ceiling division gives the first column at or right of
    # the crossing.
    past_first_center = (start - _SUBPIXELS // 2) * rise + climbed * (xs[:, end] - start)
    column = -(-past_first_center // (_SUBPIXELS * rise))
    # NumPy shifts by 64 or more to zero, as needed for a crossing beyond the last column.
    return np.left_shift(_ALL_COLUMNS, column.astype(np.uint64))
