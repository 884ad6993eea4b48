"""Plots of codes against factors: curves of latents, and scatter plots of the two most informative latents."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

import numpy as np
from jaxtyping import Float
from markupsafe import Markup
from PIL import Image

from unbraid._internal import row_draws
from unbraid.codes import Codes, Labels
from unbraid.figures.code_views import means_by_value
from unbraid.figures.observations import numbers_of
from unbraid.metrics.latent_readings import Reading
from unbraid.show.pages.pictures import FrameSheet, data_address
from unbraid.show.pages.svg import Frame, element, line, polyline

FRAME = Frame(width=100, height=56, left=4, right=4, top=0, bottom=0)
MAX_LATENTS = 8
_MAX_VALUES = 32  # the number of values of a factor above which values are binned
_LEAST_RANGE = 1.0
PIXELS = 120
MAX_FACTORS = 6
_MAX_IMAGES = 2000
# Colors from the first to the last value of a factor: blue, green, yellow (similar to viridis).
_SCALE = np.array(
    [(72, 60, 150, 255), (42, 120, 142, 255), (34, 168, 132, 255), (122, 200, 80, 255), (240, 200, 40, 255)]
)
_DOT = ((0, 0), (0, 1), (1, 0), (1, 1))


@final
@dataclass(frozen=True)
class CodeCurves:
    """SVG curves with a row for each used latent and a column for each factor that varies.

    The y-axis of all curves is from -`reach` to `reach`.
    """

    factors: tuple[str, ...]
    rows: tuple[tuple[int, tuple[Markup, ...]], ...]
    reach: float


def code_curves(codes: Codes, readings: Sequence[Reading], color: str = "") -> CodeCurves | None:
    """Draws the mean of each continuous latent against the values of each factor, for the most informative latents.

    The band is one standard deviation of the codes on either side. Unordered values are drawn as dots. `color` is a CSS
    class. Returns None if no factor varies.
    """
    latents = [r.latent for r in readings if not r.is_unused and not r.num_categories][:MAX_LATENTS]
    if not latents:
        return None
    means = codes.mean[:, latents].double().cpu().numpy()
    reach = max(_LEAST_RANGE, float((np.abs(means.mean(axis=0)) + 2 * means.std(axis=0)).max()))
    found = [(each, *means_by_value(each, means, _MAX_VALUES)) for each in codes.factors if not each.is_soft]
    varying = [(each, mean / reach, std / reach) for each, values, mean, std in found if len(values) > 1]
    if not varying:
        return None
    rows = []
    for place, latent in enumerate(latents):
        curves = []
        for each, mean, std in varying:
            label = f"Mean of latent {latent} against {each.name}"
            curves.append(_curve(mean[:, place], std[:, place], color, is_ordered=each.ordered, label=label))
        rows.append((latent, tuple(curves)))
    return CodeCurves(tuple(each.name for each, *_ in varying), tuple(rows), reach)


@final
@dataclass(frozen=True)
class CodeMaps:
    """Scatter plots of two latents (`across` and `up`), one for each factor that colors the dots."""

    across: int
    up: int
    maps: tuple[tuple[str, FrameSheet], ...]


def code_maps(codes: Codes, readings: Sequence[Reading]) -> CodeMaps | None:
    """Draws scatter plots of the two most informative continuous latents, colored by each factor.

    Returns None if there are fewer than two such latents, or if no factor varies.
    """
    latents = [reading.latent for reading in readings if not reading.is_unused and not reading.num_categories][:2]
    shares = {labels.name: _shares(labels) for labels in codes.factors if not labels.is_soft}
    varying = [(name, each) for name, each in shares.items() if not np.isnan(each).all()]
    if len(latents) < 2 or not varying:
        return None
    rows = row_draws.draw_rows(min(_MAX_IMAGES, len(codes.mean)), len(codes.mean), 0, "code maps").numpy()
    places = codes.mean[:, latents].double().numpy()[rows]
    maps = tuple((name, _map(places, each[rows])) for name, each in varying[:MAX_FACTORS])
    return CodeMaps(latents[0], latents[1], maps)


def _curve(
    mean: Float[np.ndarray, " value"], std: Float[np.ndarray, " value"], color: str, *, is_ordered: bool, label: str
) -> Markup:
    def points(heights: Float[np.ndarray, " value"]) -> list[tuple[float, float]]:
        shares = np.linspace(0, 1, len(heights)).tolist()
        ups = ((heights.clip(-1, 1) + 1) / 2).tolist()
        return [(FRAME.x(share), FRAME.y(up)) for share, up in zip(shares, ups, strict=True)]

    base = line(0, FRAME.y(0.5), FRAME.width, FRAME.y(0.5), class_="base")
    if is_ordered:
        band = [*points(mean + std), *points(mean - std)[::-1]]
        drawn = [polyline(band, "polygon", class_=f"band {color}"), polyline(points(mean), class_=f"thick {color}")]
    else:
        drawn = [element("circle", class_=f"point {color}", cx=x, cy=y, r=3) for x, y in points(mean)]
    return FRAME.svg(base, *drawn, label=label, class_="spark enlarge")


def _shares(labels: Labels) -> Float[np.ndarray, " image"]:
    """Returns the values scaled to [0, 1]. Unknown values, and all values of a constant factor, are NaN."""
    values = numbers_of(labels)
    known = values[~np.isnan(values)]
    if not known.size or known.min() == known.max():
        return np.full(len(values), np.nan)
    return (values - known.min()) / np.ptp(known)


def _map(places: Float[np.ndarray, "row axis"], shares: Float[np.ndarray, " row"]) -> FrameSheet:
    """Draws a dot of four pixels for each image, with the first latent on the x-axis. `shares` are the colors."""
    spans = np.ptp(places, axis=0).clip(min=1e-9)
    columns, rows = np.rint((places - places.min(axis=0)) / spans * (PIXELS - 2)).astype(int).T
    known = ~np.isnan(shares)
    steps = np.linspace(0, 1, len(_SCALE))
    colors = np.stack([np.interp(shares[known], steps, channel) for channel in _SCALE.T], axis=1)
    pixels = np.zeros((PIXELS, PIXELS, 4), dtype=np.uint8)
    for down, right in _DOT:
        pixels[PIXELS - 2 - rows[known] + down, columns[known] + right] = colors.round()
    return FrameSheet(data_address(Image.fromarray(pixels)), PIXELS, PIXELS, is_small=True)
