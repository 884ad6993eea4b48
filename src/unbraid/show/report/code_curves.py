"""The mean code against the value of each factor: a small curve for each latent and factor."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

import numpy as np
from jaxtyping import Float
from markupsafe import Markup

from unbraid.codes import Codes
from unbraid.figures.code_views import means_by_value
from unbraid.metrics.latent_readings import Reading
from unbraid.show.pages.svg import Frame, element, line, polyline

FRAME = Frame(width=100, height=56, left=4, right=4, top=0, bottom=0)
MAX_LATENTS = 8
_MAX_VALUES = 32  # of a factor; more are binned
_LEAST_RANGE = 1.0


@final
@dataclass(frozen=True)
class CodeCurves:
    """A row of drawn curves for each used latent, and a column for each factor that varies.

    All curves span codes from -`reach` to `reach`.
    """

    factors: tuple[str, ...]
    rows: tuple[tuple[int, tuple[Markup, ...]], ...]
    reach: float


def code_curves(codes: Codes, readings: Sequence[Reading], color: str = "") -> CodeCurves | None:
    """Draws the most informative latents that have a mean, in a color of the page; None where no factor varies.

    A line is the mean of a latent over the images of each value, a band one standard deviation of their codes on either
    side. Values without an order are dots.
    """
    latents = [r.latent for r in readings if not r.is_unused and not r.num_categories][:MAX_LATENTS]
    means = codes.mean[:, latents].double().cpu().numpy()
    labels = [labels for labels in codes.factors if not labels.is_soft]
    found = [(each, *means_by_value(each, means, _MAX_VALUES)) for each in labels]
    varying = [(each, mean, std) for each, values, mean, std in found if len(values) > 1]
    if not latents or not varying:
        return None
    reach = max(_LEAST_RANGE, float((np.abs(means.mean(axis=0)) + 2 * means.std(axis=0)).max()))
    rows = tuple(
        (
            latent,
            tuple(
                _curve(
                    mean[:, place] / reach,
                    std[:, place] / reach,
                    color,
                    is_ordered=each.ordered,
                    label=f"Mean of latent {latent} against {each.name}",
                )
                for each, mean, std in varying
            ),
        )
        for place, latent in enumerate(latents)
    )
    return CodeCurves(tuple(each.name for each, _, _ in varying), rows, reach)


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
