"""Points of surfaces, seen from a direction and lit by a distant lamp: a depth buffer and Lambert's law.

The view is orthographic. The object turns about its vertical axis by the azimuth, then about the horizontal axis of the
image by the elevation; the viewer and the lamp stay. All sums are of whole numbers, held in floating point and small
enough to be exact, so they come out the same everywhere.
"""

import math
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import final

import numpy as np
import torch
from einops import rearrange
from jaxtyping import Float64, Int64, UInt8
from torch import Tensor

from unbraid.datasets.synthetic.surface_points import NORMAL_UNIT, POSITION_UNIT, SurfacePoints

FRAME = 1.25  # units of length from the middle of the image to its edge
AMBIENT = 0.2  # the part of the light that comes from everywhere; the lamp gives the rest to a surface that faces it

MAX_ELEVATION = math.radians(30)
_LAMP_HEIGHT = math.radians(25)  # the lamp stays above the level of the eyes, wherever it moves

_SAMPLES = 2  # along each side of a pixel
_ROTATION_UNIT = 2**13
_X_UNIT = POSITION_UNIT * _ROTATION_UNIT  # turned once
_DEPTH_UNIT = _X_UNIT * _ROTATION_UNIT  # turned twice
# A key is a depth of less than 2^42 and the number of a point, of which there are less than 2^20.
_NUMBER_BITS = 20
_NOTHING = torch.iinfo(torch.int64).min
_LIGHT_UNIT = 2**12  # times a normal it stays below 2^24, up to where float32 is exact
_AMBIENT_LIGHT = round(AMBIENT * _LIGHT_UNIT)
# Few enough for torch to stay in its thread: waking the others for each of many small sums takes far longer than the
# sums.
_AT_ONCE = 30_000


def spacing_for(resolution: int) -> float:
    """Returns how close points must lie to leave no gap: however a surface is turned, each square of one sample then
    holds one of its points.
    """
    return math.sqrt(0.5) * 2 * FRAME / (_SAMPLES * resolution)


def lamps_at(angles: Sequence[float]) -> Float64[Tensor, "lamp 3"]:
    """Returns unit vectors towards lamps, each turned by an angle (in radians) from the viewer to the right."""
    turned = torch.tensor(angles, dtype=torch.float64)
    level, up = math.cos(_LAMP_HEIGHT), math.sin(_LAMP_HEIGHT)
    return torch.stack([level * turned.sin(), torch.full_like(turned, up), level * turned.cos()], dim=1)


def draw(
    points: SurfacePoints,
    azimuth: float,
    elevations: Sequence[float],
    lamps: Float64[Tensor, "lamp 3"],
    resolution: int,
) -> UInt8[Tensor, "elevation lamp {resolution} {resolution}"]:
    """Returns the points at one azimuth and each of some elevations, lit by each lamp. Angles are in radians; a lamp is
    the unit vector towards it.
    """
    if len(points) >= 2**_NUMBER_BITS or any(abs(elevation) > MAX_ELEVATION for elevation in elevations):
        raise ValueError(
            f"{len(points)} points at elevations {list(elevations)}: expected below 2^{_NUMBER_BITS}, and within "
            f"{MAX_ELEVATION:.3f}."
        )
    pieces = [_Turned.of(points, start, azimuth) for start in range(0, len(points), _AT_ONCE)]
    images = torch.empty((len(elevations), len(lamps), resolution**2), dtype=torch.uint8)
    for elevation, at_elevation in zip(elevations, images, strict=True):
        nearest = _nearest(pieces, elevation, resolution)
        for image, lit in zip(
            at_elevation, _lit(points, nearest, _lamps_around(lamps, azimuth, elevation)), strict=True
        ):
            image.copy_(lit)
    return images.unflatten(2, (resolution, resolution))


@final
@dataclass(frozen=True)
class _Turned:
    """Holds some of the points, at one azimuth: their numbers, and where they are before the elevation is given."""

    number: Int64[Tensor, " point"]
    x: Float64[Tensor, " point"]
    y: Float64[Tensor, " point"]
    z: Float64[Tensor, " point"]

    @staticmethod
    def of(points: SurfacePoints, start: int, azimuth: float) -> "_Turned":
        """Returns, of the points from `start` on, those that face the viewer at this azimuth and at some elevation:
        somewhat more than half.
        """
        piece = slice(start, start + _AT_ONCE)
        normal_x, normal_y, normal_z = (normal[piece].double() for normal in points.normals)
        _, front = _turned(normal_x, normal_z, azimuth)
        up = normal_y.abs() * _ROTATION_UNIT
        facing = front * _whole(math.cos(MAX_ELEVATION)) + up * _whole(math.sin(MAX_ELEVATION)) > 0
        number = facing.nonzero()[:, 0] + start
        x, y, z = (axis.index_select(0, number) for axis in points.positions)
        x, z = _turned(x, z, azimuth)
        return _Turned(number, x, y * _ROTATION_UNIT, z)


def _nearest(pieces: Sequence[_Turned], elevation: float, resolution: int) -> Int64[Tensor, "sample pixel"]:
    """Returns which point is seen in each sample of each pixel, the last of equally near ones; -1 where none is."""
    side = _SAMPLES * resolution
    cell = 2 * FRAME / side
    nearest = torch.full(((side + 2) ** 2,), _NOTHING, dtype=torch.int64)
    for piece in pieces:
        height, depth = _turned(piece.y, piece.z, -elevation)
        # One cell more on each side takes what lies outside the frame.
        column = (piece.x / (cell * _X_UNIT)).add_(side // 2 + 1).clamp_(0, side + 1).long()
        row = (height / (-cell * _DEPTH_UNIT)).add_(side // 2 + 1).clamp_(0, side + 1).long()
        # Depth and number in one integer: the largest is the nearest, in whatever order they are compared.
        nearest.scatter_reduce_(
            0, row.mul_(side + 2).add_(column), (depth.long() << _NUMBER_BITS) + piece.number, "amax"
        )
    framed = nearest.unflatten(0, (side + 2, side + 2))[1:-1, 1:-1]
    seen = torch.where(framed == _NOTHING, -1, framed & (2**_NUMBER_BITS - 1))
    return rearrange(seen, "(row i) (column j) -> (i j) (row column)", i=_SAMPLES, j=_SAMPLES)


def _lit(
    points: SurfacePoints, nearest: Int64[Tensor, "sample pixel"], lamps: Sequence[Sequence[int]]
) -> Iterator[UInt8[Tensor, " pixel"]]:
    """Yields the light of each lamp: Lambert's law in each sample, and the mean of the samples of each pixel."""
    unit = _SAMPLES**2 * _LIGHT_UNIT
    number = nearest.clamp(min=0).flatten()
    albedo = points.albedos.index_select(0, number).view_as(nearest).mul_(nearest >= 0)
    x, y, z = (normal.index_select(0, number).view_as(nearest) for normal in points.normals)
    for lamp_x, lamp_y, lamp_z in lamps:
        lamp = (x * lamp_x).add_(y, alpha=lamp_y).add_(z, alpha=lamp_z).clamp_(min=0).div_(NORMAL_UNIT).to(torch.int32)
        light = lamp.add_(_AMBIENT_LIGHT).mul_(albedo).sum(dim=0, dtype=torch.int32)
        # Half a unit more, so that the nearest byte is left when what is below a unit falls away.
        yield ((light + unit // 2) // unit).to(torch.uint8)


def _lamps_around(lamps: Float64[Tensor, "lamp 3"], azimuth: float, elevation: float) -> list[list[int]]:
    """Returns the lamps as the turned object has them around it, in whole numbers: it is cheaper to turn them than all
    normals.
    """
    x, y, z = lamps.T
    y, z = y * math.cos(elevation) + z * math.sin(elevation), z * math.cos(elevation) - y * math.sin(elevation)
    x, z = x * math.cos(azimuth) - z * math.sin(azimuth), z * math.cos(azimuth) + x * math.sin(azimuth)
    return (torch.stack([x, y, z], dim=1) * (_LIGHT_UNIT - _AMBIENT_LIGHT)).round().long().tolist()


def _turned(
    first: Float64[Tensor, " point"], second: Float64[Tensor, " point"], angle: float
) -> tuple[Float64[Tensor, " point"], Float64[Tensor, " point"]]:
    """Returns two coordinates, turned by the angle from the second towards the first, in units `_ROTATION_UNIT` times
    as fine.
    """
    cos, sin = _whole(math.cos(angle)), _whole(math.sin(angle))
    return first * cos + second * sin, second * cos - first * sin


def _whole(value: float) -> int:
    return round(value * _ROTATION_UNIT)


# More would wait for the interpreter, which holds one at a time between the sums.
_NUM_THREADS = 2

Drawings = Callable[[ThreadPoolExecutor], Iterator[Future[Tensor]]]


def drawn_ahead(drawings: Drawings, skipped: int) -> Iterator[UInt8[np.ndarray, "block 1 height width"]]:
    """Yields what the drawings give, in order, less the first `skipped` images of the first."""
    with ThreadPoolExecutor(_NUM_THREADS) as threads:
        drawn: deque[Future[Tensor]] = deque()
        for drawing in drawings(threads):
            drawn.append(drawing)
            # A few are drawn ahead, so that no thread waits for the one that writes; not more, to bound memory.
            if len(drawn) > 2 * _NUM_THREADS:
                yield drawn.popleft().result().numpy()[skipped:]
                skipped = 0
        for drawing in drawn:
            yield drawing.result().numpy()[skipped:]
            skipped = 0
