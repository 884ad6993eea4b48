"""The mean code against the value of each factor: a small curve for each latent and factor."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

import torch
from jaxtyping import Float, Int64
from torch import Tensor

from unbraid.codes import Codes, Labels
from unbraid.evaluation.latent_readings import Reading

# A curve in units of its own.
WIDTH, HEIGHT = 100.0, 56.0
MAX_LATENTS = 8
# Values of a factor beyond this number, and measurements, are taken together in as many bins.
_MAX_VALUES = 32
_LEAST_RANGE = 1.0


@final
@dataclass(frozen=True)
class CodeCurve:
    """Shows the mean of a latent over the images of each value of a factor as a line, and one standard deviation of
    their codes on either side as a band. `is_ordered` is False where the values are mere names: there are dots then.
    """

    line: str
    band: str
    is_ordered: bool

    @property
    def points(self) -> list[tuple[str, str]]:
        """Returns where each value is, for dots."""
        return [(x, y) for x, _, y in (point.partition(",") for point in self.line.split())]


@final
@dataclass(frozen=True)
class CodeCurves:
    """Holds a row of curves for each latent that is used, and a column for each factor that varies. All curves span
    codes from -`reach` to `reach`.
    """

    factors: tuple[str, ...]
    rows: tuple[tuple[int, tuple[CodeCurve, ...]], ...]
    reach: float


def code_curves(codes: Codes, readings: Sequence[Reading]) -> CodeCurves | None:
    """Returns the curves of the most informative latents that have a mean; nothing where no factor varies."""
    latents = [r.latent for r in readings if not r.is_unused and not r.num_categories][:MAX_LATENTS]
    found = {labels.name: _binned(labels) for labels in codes.factors if not labels.is_soft}
    varying = {name: bins for name, bins in found.items() if int(bins.max()) > 0}
    if not latents or not varying:
        return None
    ordered = {labels.name: labels.ordered for labels in codes.factors}
    means = codes.mean.double()
    spread = means[:, latents]
    reach = max(_LEAST_RANGE, float((spread.mean(0).abs() + 2 * spread.std(0, correction=0)).max()))
    statistics = {name: _by_value(spread, bins) for name, bins in varying.items()}
    rows = tuple(
        (j, tuple(_curve(mean[:, place], std[:, place], reach, ordered[n]) for n, (mean, std) in statistics.items()))
        for place, j in enumerate(latents)
    )
    return CodeCurves(tuple(varying), rows, reach)


def _binned(labels: Labels) -> Int64[Tensor, " image"]:
    """Returns the number of the value of each image, or of the bin of values; -1 where it is not known."""
    values, known = labels.values.double(), labels.is_known
    distinct, ranks = torch.unique(values[known], return_inverse=True)
    bins = torch.full((len(values),), -1, dtype=torch.int64)
    count = len(distinct)
    bins[known] = ranks if count <= _MAX_VALUES else ranks * _MAX_VALUES // count
    return bins


def _by_value(
    codes: Float[Tensor, "image latent"], bins: Int64[Tensor, " image"]
) -> tuple[Float[Tensor, "value latent"], Float[Tensor, "value latent"]]:
    """Returns mean and standard deviation of the codes of each value."""
    known = bins >= 0
    count = int(bins.max()) + 1
    number = torch.zeros(count, dtype=codes.dtype).index_add_(0, bins[known], codes.new_ones(int(known.sum())))
    total = codes.new_zeros(count, codes.shape[1]).index_add_(0, bins[known], codes[known])
    squares = codes.new_zeros(count, codes.shape[1]).index_add_(0, bins[known], codes[known].square())
    mean = total / number[:, None]
    return mean, (squares / number[:, None] - mean.square()).clamp(min=0).sqrt()


def _curve(mean: Float[Tensor, " value"], std: Float[Tensor, " value"], reach: float, is_ordered: bool) -> CodeCurve:
    edge = 4.0
    across = torch.linspace(edge, WIDTH - edge, len(mean)).tolist()

    def down(values: Float[Tensor, " value"]) -> list[float]:
        return (HEIGHT / 2 * (1 - (values / reach).clamp(-1, 1))).tolist()

    def text(xs: Sequence[float], ys: Sequence[float]) -> str:
        return " ".join(f"{x:.3g},{y:.3g}" for x, y in zip(xs, ys, strict=True))

    upper, lower = down(mean + std), down(mean - std)
    return CodeCurve(text(across, down(mean)), text([*across, *across[::-1]], [*upper, *lower[::-1]]), is_ordered)
