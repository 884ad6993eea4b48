"""Rendering of curved surfaces with dense points, a depth buffer and Lambert's law.

The view is orthographic. The object turns about its vertical axis by the azimuth, then about the horizontal axis of the
image by the elevation; the viewer and the lamp are fixed. The position, normal and albedo of a point are rounded to
whole numbers. All later sums and products are of small whole numbers and exact in any order, so a drawing depends
neither on the machine nor on the number of threads.
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

POSITION_UNIT = 2**13  # whole numbers to a unit of length
NORMAL_UNIT = 2**10  # the length of a normal
ALBEDO_UNIT = 255  # the albedo of a surface that gives all light back

# The sides of the cells in which the stretch of a surface is measured, in spacings: smaller cells follow its details,
# larger ones waste fewer points.
_CELL = 2.5
# Radians. Cancellation loses four digits of sixteen, and the bend of a detail over such a step cannot be seen.
_DIFFERENCE = 1e-4

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
# Few enough for torch to stay in one thread: starting the others for many small sums takes longer than the sums.
_AT_ONCE = 30_000

Angles = Float64[np.ndarray, " point"]


@final
@dataclass(frozen=True)
class Surface:
    """A closed surface, by polar angle (0 above, pi below) and longitude (0 in front, positive to the right).

    `place` returns x to the right, y up and z to the front; `albedo` returns the fraction of reflected light.
    """

    place: Callable[[Angles, Angles], Float64[np.ndarray, "3 point"]]
    albedo: Callable[[Angles, Angles], Float64[np.ndarray, " point"]]


@final
@dataclass(frozen=True)
class SurfacePoints:
    """Points of surfaces in whole numbers, by `POSITION_UNIT`, `NORMAL_UNIT` (outward) and `ALBEDO_UNIT`."""

    positions: Float64[Tensor, "3 point"]
    normals: Float32[Tensor, "3 point"]
    albedos: Int32[Tensor, " point"]

    def __len__(self) -> int:
        return len(self.albedos)


def points_of(surfaces: Sequence[Surface], spacing: float) -> SurfacePoints:
    """Returns points of all surfaces, about `spacing` apart, with the mirror symmetry of each surface."""
    positions, normals, albedos = zip(*(_sampled(surface, spacing) for surface in surfaces), strict=True)
    return SurfacePoints(
        torch.from_numpy(np.concatenate(positions, axis=1)),
        torch.from_numpy(np.concatenate(normals, axis=1)),
        torch.from_numpy(np.concatenate(albedos)),
    )


def _sampled(
    surface: Surface, spacing: float
) -> tuple[Float64[np.ndarray, "3 point"], Float32[np.ndarray, "3 point"], Int32[np.ndarray, " point"]]:
    """Returns positions, normals and albedos in `POSITION_UNIT`, `NORMAL_UNIT` and `ALBEDO_UNIT`."""
    polar, longitude = _angles(surface, spacing)
    place = surface.place(polar, longitude)
    down = surface.place(polar + _DIFFERENCE, longitude) - place
    # Away from the front on both sides, so that mirror images have mirrored normals.
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
    """Returns polar angles and longitudes of the points: a grid with cells subdivided where stretched."""
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
    """Returns the cell centers. None lies on the plane of symmetry, so that each has a mirror image."""
    rings = (np.arange(num_rings) + 0.5) * (math.pi / num_rings)
    # Counted from the front to either side: rounding treats both alike.
    meridians = (np.arange(num_meridians) - (num_meridians - 1) / 2) * (2 * math.pi / num_meridians)
    polar, longitude = np.meshgrid(rings, meridians, indexing="ij")
    return polar.ravel(), longitude.ravel()


def _length(vectors: Float64[np.ndarray, "3 ..."]) -> Float64[np.ndarray, "..."]:
    return np.sqrt((vectors**2).sum(axis=0))


def spacing_for(resolution: int) -> float:
    """Returns a point spacing without gaps: in any orientation, the square of each sample holds a point."""
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
    """Draws the points at one azimuth for each elevation (radians, up to `MAX_ELEVATION`) and lamp (unit vector)."""
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
    """Subset of the points at one azimuth: point numbers, and positions before the rotation by the elevation."""

    number: Int64[Tensor, " point"]
    x: Float64[Tensor, " point"]
    y: Float64[Tensor, " point"]
    z: Float64[Tensor, " point"]

    @staticmethod
    def of(points: SurfacePoints, start: int, azimuth: float) -> "_Turned":
        """Returns the points from `start` on that may face the viewer at this azimuth and any elevation.

        This selects slightly more than half of the points.
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
    """Returns the nearest point for each sample of each pixel, or -1 for none. The last point wins ties."""
    side = _SAMPLES * resolution
    cell = 2 * FRAME / side
    nearest = torch.full(((side + 2) ** 2,), _NOTHING, dtype=torch.int64)
    for piece in pieces:
        height, depth = _turned(piece.y, piece.z, -elevation)
        # One more cell on each side takes the points outside of the frame.
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
    """Yields the image for each lamp: Lambert's law in each sample, averaged over the samples of a pixel."""
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
    """Returns the lamps in object coordinates, as whole numbers. Rotating all normals instead would cost more."""
    x, y, z = lamps.T
    y, z = y * math.cos(elevation) + z * math.sin(elevation), z * math.cos(elevation) - y * math.sin(elevation)
    x, z = x * math.cos(azimuth) - z * math.sin(azimuth), z * math.cos(azimuth) + x * math.sin(azimuth)
    return (torch.stack([x, y, z], dim=1) * (_LIGHT_UNIT - _AMBIENT_LIGHT)).round().long().tolist()


def _turned(
    first: Float64[Tensor, " point"], second: Float64[Tensor, " point"], angle: float
) -> tuple[Float64[Tensor, " point"], Float64[Tensor, " point"]]:
    """Rotates two coordinates by an angle, from the second to the first, in units `_ROTATION_UNIT` times as fine."""
    cos, sin = _whole(math.cos(angle)), _whole(math.sin(angle))
    return first * cos + second * sin, second * cos - first * sin


def _whole(value: float) -> int:
    return round(value * _ROTATION_UNIT)


# More threads would wait for the interpreter lock.
_NUM_THREADS = 2


def drawn_ahead(
    draw: Callable[[int], Tensor], numbers: Iterable[int], skipped: int
) -> Iterator[UInt8[np.ndarray, "block 1 height width"]]:
    """Yields the drawing of each number, in order. Omits the first `skipped` images of the first drawing."""
    with ThreadPoolExecutor(_NUM_THREADS) as threads:
        ahead: deque[Future[Tensor]] = deque()
        for number in numbers:
            ahead.append(threads.submit(draw, number))
            # A few are drawn ahead, so that no thread waits for the writer; not more, to limit memory.
            if len(ahead) > 2 * _NUM_THREADS:
                yield ahead.popleft().result().numpy()[skipped:]
                skipped = 0
        for drawing in ahead:
            yield drawing.result().numpy()[skipped:]
            skipped = 0
