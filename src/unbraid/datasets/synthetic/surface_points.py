"""Curved surfaces as points that lie close enough to be drawn without gaps.

What a point needs for drawing (place, normal, albedo) is rounded to whole numbers. All that follows is sums and
products of small whole numbers, which are exact in any order: so a drawing depends neither on the machine nor on the
number of its threads.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import final

import numpy as np
import torch
from jaxtyping import Float32, Float64, Int32, Int64
from torch import Tensor

POSITION_UNIT = 2**13  # whole numbers to a unit of length
NORMAL_UNIT = 2**10  # the length of a normal
ALBEDO_UNIT = 255  # the albedo of a surface that gives all light back

# The sides of the cells in which the stretch of a surface is measured, in spacings: smaller cells follow its details,
# larger ones waste fewer points.
_CELL = 2.5
# Radians. Cancellation loses four digits of sixteen, and the bend of a detail over such a step cannot be seen.
_DIFFERENCE = 1e-4

Angles = Float64[np.ndarray, " point"]


@final
@dataclass(frozen=True)
class Surface:
    """Says what lies at a polar angle (0 above, pi below) and a longitude (0 in front, positive to the right), both in
    radians.

    `place` gives x to the right, y up and z to the front; `albedo` the part of the light that is given back, in [0, 1].
    """

    place: Callable[[Angles, Angles], Float64[np.ndarray, "3 point"]]
    albedo: Callable[[Angles, Angles], Float64[np.ndarray, " point"]]


@final
@dataclass(frozen=True)
class SurfacePoints:
    """Holds points of surfaces, in whole numbers: places of `POSITION_UNIT`, outward normals of `NORMAL_UNIT`, albedos
    of `ALBEDO_UNIT` to 1.
    """

    positions: Float64[Tensor, "3 point"]
    normals: Float32[Tensor, "3 point"]
    albedos: Int32[Tensor, " point"]

    def __len__(self) -> int:
        return len(self.albedos)


def points_of(surfaces: Sequence[Surface], spacing: float) -> SurfacePoints:
    """Returns points of all surfaces, neighbors on a surface at most about `spacing` apart. A mirror-symmetric surface
    gets symmetric points.
    """
    positions, normals, albedos = zip(*(_sampled(surface, spacing) for surface in surfaces), strict=True)
    return SurfacePoints(
        torch.from_numpy(np.concatenate(positions, axis=1)),
        torch.from_numpy(np.concatenate(normals, axis=1)),
        torch.from_numpy(np.concatenate(albedos)),
    )


def _sampled(
    surface: Surface, spacing: float
) -> tuple[Float64[np.ndarray, "3 point"], Float32[np.ndarray, "3 point"], Int32[np.ndarray, " point"]]:
    """Returns places, normals and albedos, each in its unit."""
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
    """Returns polar angles and longitudes of the points: a grid, each cell of which is divided as finely as the surface
    is stretched there.
    """
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
    """Returns how many rings and meridians make cells of the size that is wanted where the surface is widest. The
    meridians are even in number.
    """
    place = surface.place(*_grid(32, 64)).reshape(3, 32, 64)
    meridian = _length(np.diff(place, axis=1)).sum(axis=0).max()
    ring = _length(np.diff(place, axis=2)).sum(axis=1).max()
    return math.ceil(meridian / (_CELL * spacing)), 2 * math.ceil(ring / (2 * _CELL * spacing))


def _grid(num_rings: int, num_meridians: int) -> tuple[Angles, Angles]:
    """Returns the middles of cells. None lies on the plane of symmetry, so that each has its mirror image."""
    rings = (np.arange(num_rings) + 0.5) * (math.pi / num_rings)
    # Counted from the front to either side: rounding treats both alike.
    meridians = (np.arange(num_meridians) - (num_meridians - 1) / 2) * (2 * math.pi / num_meridians)
    polar, longitude = np.meshgrid(rings, meridians, indexing="ij")
    return polar.ravel(), longitude.ravel()


def _length(vectors: Float64[np.ndarray, "3 ..."]) -> Float64[np.ndarray, "..."]:
    return np.sqrt((vectors**2).sum(axis=0))
