"""Rendering of curved surfaces with dense points, a depth buffer and Lambert's law.

The projection is orthographic. The object rotates about its vertical axis by the azimuth, then about the horizontal
axis of the image by the elevation. The viewer and the lamp are fixed. The position, normal and albedo of a point are
rounded to integers. All later sums and products of small integers are exact in any order, so that an image does not
depend on the machine or the number of threads.
"""

import math
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import final

import numpy as np
import torch
from einops import rearrange
from jaxtyping import Float32, Float64, Int32, Int64, UInt8
from torch import Tensor

POSITION_UNIT = 2**13  # integer steps per unit of length
NORMAL_UNIT = 2**10  # length of a normal
ALBEDO_UNIT = 255  # albedo of a surface that reflects all light

# Side of the cells in which the stretch of a surface is measured, in spacings. Small cells follow details of the
# surface; large cells need fewer points.
_CELL = 2.5
# Step of numerical derivatives in radians. Cancellation loses four of sixteen digits; curvature is negligible.
_DIFFERENCE = 1e-4

FRAME = 1.25  # units of length from the center of the image to an edge
AMBIENT = 0.2  # fraction of ambient light; the rest is from the lamp

MAX_ELEVATION = math.radians(30)
_LAMP_HEIGHT = math.radians(25)  # elevation of the lamp

_SAMPLES = 2  # along each side of a pixel
_ROTATION_UNIT = 2**13
_X_UNIT = POSITION_UNIT * _ROTATION_UNIT  # after one rotation
_DEPTH_UNIT = _X_UNIT * _ROTATION_UNIT  # after two rotations
# A key combines a depth below 2^42 and a point number below 2^20.
_NUMBER_BITS = 20
_NOTHING = torch.iinfo(torch.int64).min
_LIGHT_UNIT = 2**12  # products with a normal stay below 2^24, so that float32 is exact
_AMBIENT_LIGHT = round(AMBIENT * _LIGHT_UNIT)
# Small enough for torch to use one thread: starting threads for many small sums takes longer than the sums.
_AT_ONCE = 30_000

Angles = Float64[np.ndarray, " point"]


@final
@dataclass(frozen=True)
class Surface:
    """Closed surface parametrized by polar angle (0 above, pi below) and longitude (0 in front, positive right).

    `place` returns the position (x to the right, y up, z to the front), and `albedo` the fraction of reflected light.
    """

    place: Callable[[Angles, Angles], Float64[np.ndarray, "3 point"]]
    albedo: Callable[[Angles, Angles], Float64[np.ndarray, " point"]]


@final
@dataclass(frozen=True)
class SurfacePoints:
    """Points of surfaces as integers in `POSITION_UNIT`, `NORMAL_UNIT` (outward normals) and `ALBEDO_UNIT`."""

    positions: Float64[Tensor, "3 point"]
    normals: Float32[Tensor, "3 point"]
    albedos: Int32[Tensor, " point"]

    def __len__(self) -> int:
        return len(self.albedos)


def points_of(surfaces: Sequence[Surface], spacing: float) -> SurfacePoints:
    """Samples points on all surfaces, about `spacing` apart, with the mirror symmetry of each surface."""
    positions, normals, albedos = zip(*(_sampled(surface, spacing) for surface in surfaces), strict=True)
    return SurfacePoints(
        torch.from_numpy(np.concatenate(positions, axis=1)),
        torch.from_numpy(np.concatenate(normals, axis=1)),
        torch.from_numpy(np.concatenate(albedos)),
    )


def _sampled(
    surface: Surface, spacing: float
) -> tuple[Float64[np.ndarray, "3 point"], Float32[np.ndarray, "3 point"], Int32[np.ndarray, " point"]]:
    """Samples positions, normals and albedos of a surface in `POSITION_UNIT`, `NORMAL_UNIT` and `ALBEDO_UNIT`."""
    polar, longitude = _angles(surface, spacing)
    place = surface.place(polar, longitude)
    down = surface.place(polar + _DIFFERENCE, longitude) - place
    # The step is away from the front on both sides, so that mirror images have mirrored normals.
    aside = np.copysign(_DIFFERENCE, longitude)
    normals = np.cross(down, np.sign(aside) * (surface.place(polar, longitude + aside) - place), axis=0)
    normals /= _length(normals)
    albedos = surface.albedo(polar, longitude)
    return (
        np.rint(POSITION_UNIT * place),
        np.rint(NORMAL_UNIT * normals).astype(np.float32),
        np.rint(ALBEDO_UNIT * albedos).astype(np.int32),
    )


def _angles(surface: Surface, spacing: float) -> tuple[Angles, Angles]:
    """Returns polar angles and longitudes of the points: a grid whose stretched cells are subdivided."""
    num_rings, num_meridians = _grid_for(surface, spacing)
    height, width = math.pi / num_rings, 2 * math.pi / num_meridians
    polar, longitude = _grid(num_rings, num_meridians)
    place = surface.place(polar, longitude)

    def parts(height: float, width: float) -> Int64[np.ndarray, " cell"]:
        halves = [
            _length(surface.place(polar + sign * height / 2, longitude + sign * width / 2) - place) for sign in (-1, 1)
        ]
        return np.maximum(1, np.ceil(2 * np.maximum(*halves) / spacing)).astype(np.int64)

    rows, columns = parts(height, 0.0), parts(0.0, width)
    cell = np.repeat(np.arange(len(polar)), rows * columns)
    number = np.arange(len(cell)) - (np.cumsum(rows * columns) - rows * columns)[cell]
    row, column = np.divmod(number, columns[cell])
    return (
        polar[cell] + height * ((row + 0.5) / rows[cell] - 0.5),
        longitude[cell] + width * ((column + 0.5) / columns[cell] - 0.5),
    )


def _grid_for(surface: Surface, spacing: float) -> tuple[int, int]:
    """Returns the number of rings and the even number of meridians for the widest part of the surface."""
    place = surface.place(*_grid(32, 64)).reshape(3, 32, 64)
    meridian = _length(np.diff(place, axis=1)).sum(axis=0).max()
    ring = _length(np.diff(place, axis=2)).sum(axis=1).max()
    return math.ceil(meridian / (_CELL * spacing)), 2 * math.ceil(ring / (2 * _CELL * spacing))


def _grid(num_rings: int, num_meridians: int) -> tuple[Angles, Angles]:
    """Returns the cell centers. No center is on the plane of symmetry, so that each center has a mirror image."""
    rings = (np.arange(num_rings) + 0.5) * (math.pi / num_rings)
    # Counted from the front to both sides, so that rounding is symmetric.
    meridians = (np.arange(num_meridians) - (num_meridians - 1) / 2) * (2 * math.pi / num_meridians)
    polar, longitude = np.meshgrid(rings, meridians, indexing="ij")
    return polar.ravel(), longitude.ravel()


def _length(vectors: Float64[np.ndarray, "3 ..."]) -> Float64[np.ndarray, "..."]:
    return np.sqrt((vectors**2).sum(axis=0))


def spacing_for(resolution: int) -> float:
    """Returns a point spacing without gaps: in any orientation, the square of each sample contains a point."""
    return math.sqrt(0.5) * 2 * FRAME / (_SAMPLES * resolution)


def lamps_at(angles: Sequence[float]) -> Float64[Tensor, "lamp 3"]:
    """Returns unit vectors towards lamps, each at an angle (in radians) to the right of the viewer."""
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
    """Draws the points at one azimuth, for each elevation (radians, up to `MAX_ELEVATION`) and lamp (unit vector)."""
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
    """Points after the rotation by the azimuth and before the rotation by the elevation, with their numbers."""

    number: Int64[Tensor, " point"]
    x: Float64[Tensor, " point"]
    y: Float64[Tensor, " point"]
    z: Float64[Tensor, " point"]

    @staticmethod
    def of(points: SurfacePoints, start: int, azimuth: float) -> "_Turned":
        """Rotates the points from number `start` on, and drops points that face away from the viewer at any elevation.

        Slightly more than half of the points remain.
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
    """Returns the number of the nearest point for each sample of each pixel, or -1. The last point wins ties."""
    side = _SAMPLES * resolution
    cell = 2 * FRAME / side
    nearest = torch.full(((side + 2) ** 2,), _NOTHING, dtype=torch.int64)
    for piece in pieces:
        height, depth = _turned(piece.y, piece.z, -elevation)
        # One more cell on each side collects the points outside of the frame.
        column = (piece.x / (cell * _X_UNIT)).add_(side // 2 + 1).clamp_(0, side + 1).long()
        row = (height / (-cell * _DEPTH_UNIT)).add_(side // 2 + 1).clamp_(0, side + 1).long()
        # Depth and number in one integer: the maximum is the nearest point, in any order of comparison.
        nearest.scatter_reduce_(
            0, row.mul_(side + 2).add_(column), (depth.long() << _NUMBER_BITS) + piece.number, "amax"
        )
    framed = nearest.unflatten(0, (side + 2, side + 2))[1:-1, 1:-1]
    seen = torch.where(framed == _NOTHING, -1, framed & (2**_NUMBER_BITS - 1))
    return rearrange(seen, "(row i) (column j) -> (i j) (row column)", i=_SAMPLES, j=_SAMPLES)


def _lit(
    points: SurfacePoints, nearest: Int64[Tensor, "sample pixel"], lamps: Sequence[Sequence[int]]
) -> Iterator[UInt8[Tensor, " pixel"]]:
    """Yields the image for each lamp: Lambert's law at each sample, averaged over the samples of a pixel."""
    unit = _SAMPLES**2 * _LIGHT_UNIT
    number = nearest.clamp(min=0).flatten()
    albedo = points.albedos.index_select(0, number).view_as(nearest).mul_(nearest >= 0)
    x, y, z = (normal.index_select(0, number).view_as(nearest) for normal in points.normals)
    for lamp_x, lamp_y, lamp_z in lamps:
        lamp = (x * lamp_x).add_(y, alpha=lamp_y).add_(z, alpha=lamp_z).clamp_(min=0).div_(NORMAL_UNIT).to(torch.int32)
        light = lamp.add_(_AMBIENT_LIGHT).mul_(albedo).sum(dim=0, dtype=torch.int32)
        # Half a unit is added, so that truncation rounds to the nearest byte.
        yield ((light + unit // 2) // unit).to(torch.uint8)


def _lamps_around(lamps: Float64[Tensor, "lamp 3"], azimuth: float, elevation: float) -> list[list[int]]:
    """Returns the lamps in object coordinates as integers. Rotating all normals instead would be slower."""
    x, y, z = lamps.T
    y, z = y * math.cos(elevation) + z * math.sin(elevation), z * math.cos(elevation) - y * math.sin(elevation)
    x, z = x * math.cos(azimuth) - z * math.sin(azimuth), z * math.cos(azimuth) + x * math.sin(azimuth)
    return (torch.stack([x, y, z], dim=1) * (_LIGHT_UNIT - _AMBIENT_LIGHT)).round().long().tolist()


def _turned(
    first: Float64[Tensor, " point"], second: Float64[Tensor, " point"], angle: float
) -> tuple[Float64[Tensor, " point"], Float64[Tensor, " point"]]:
    """Rotates two coordinates by an angle, from the second to the first axis. The result is times `_ROTATION_UNIT`."""
    cos, sin = _whole(math.cos(angle)), _whole(math.sin(angle))
    return first * cos + second * sin, second * cos - first * sin


def _whole(value: float) -> int:
    return round(value * _ROTATION_UNIT)


# More threads would wait for the interpreter lock.
_NUM_THREADS = 2


def drawn_ahead(
    draw: Callable[[int], Tensor], numbers: Iterable[int], skipped: int
) -> Iterator[UInt8[np.ndarray, "block 1 height width"]]:
    """Draws blocks of images in threads and yields the blocks in order. Skips `skipped` images of the first block."""
    with ThreadPoolExecutor(_NUM_THREADS) as threads:
        ahead: deque[Future[Tensor]] = deque()
        for number in numbers:
            ahead.append(threads.submit(draw, number))
            # A few blocks are drawn in advance, so that no thread waits for the writer. The number limits the memory.
            if len(ahead) > 2 * _NUM_THREADS:
                yield ahead.popleft().result().numpy()[skipped:]
                skipped = 0
        for drawing in ahead:
            yield drawing.result().numpy()[skipped:]
            skipped = 0
