"""Influence of each image on an estimate of information."""

from collections.abc import Callable
from functools import partial

import torch
from jaxtyping import Int64
from torch import Tensor

from unbraid.information.quantized import (
    Bins,
    QuantizedStatistics,
    Quantizer,
    discrete_statistics,
    influences,
    quantize,
    statistics_of_masses,
)
from unbraid.metrics.reductions.statistics import Statistics

# Number of bins for influences over the range of each latent, for estimators without bins.
_DENSITY_BINS = 50
# Blocks of images have about this many numbers in a table: 128 MB.
_BLOCK_INFLUENCES = 16_000_000

Influences = dict[str, Tensor]


def image_influences(
    statistics: Statistics, continuous: Callable[[], tuple[Quantizer, QuantizedStatistics]]
) -> Influences:
    """Returns the influences of sampled images on the information of continuous latents, if any, and discrete latents.

    `continuous` returns the masses of the sampled images in bins, and the sums of masses over all images.
    """
    rows, correction = statistics.influence_sample.rows, statistics.influence_sample.correction
    parts = [continuous()] if statistics.codes.mean.shape[1] > 0 else []
    for table in statistics.codes.probabilities:
        masses = partial(lambda table, part: table[rows[part]].double()[:, None], table)
        parts.append((masses, discrete_statistics(table, statistics.values)))
    found = [_in_blocks(statistics, masses, sums) for masses, sums in parts]
    # The entropy of a factor is equal in all parts.
    joined = {
        name: one if name == "factor_entropy" else torch.cat([part[name] for part in found], dim=1)
        for name, one in found[0].items()
    }
    return {name: part * correction.reshape(-1, *[1] * (part.ndim - 1)) for name, part in joined.items()}


def density_influences(statistics: Statistics) -> Influences:
    """Returns the influences on differential information, computed in bins over the range of each latent."""

    def continuous() -> tuple[Quantizer, QuantizedStatistics]:
        rows = statistics.influence_sample.rows
        mean, std = statistics.codes.mean[rows].double(), statistics.std[rows].double()
        low, high = (mean - 3 * std).amin(dim=0), (mean + 3 * std).amax(dim=0)
        width = (high - low).clamp(min=torch.finfo(torch.float64).tiny)
        mean, std, bins = (mean - low) / width, std / width, Bins(_DENSITY_BINS, 0.0, 1.0)
        values = statistics.values.sample(rows, statistics.influence_sample.weights)

        def masses(part: Int64[Tensor, " row"]) -> Tensor:
            return quantize(mean[part], std[part], bins)

        return masses, statistics_of_masses(masses, mean.shape[1], _DENSITY_BINS, values)

    return statistics.once("density_influences", lambda: image_influences(statistics, continuous))


def _in_blocks(statistics: Statistics, masses: Quantizer, sums: QuantizedStatistics) -> Influences:
    """Computes influences in blocks of images, to limit the memory of tables by latent, bin and value."""
    num_latents, num_bins = sums.marginal.shape
    values, sampled = statistics.values, statistics.influence_sample
    widest = max(values.sizes, default=0)
    size = max(1, _BLOCK_INFLUENCES // (num_latents * (num_bins + widest) + values.num_columns))
    blocks = []
    for part in torch.arange(len(sampled.rows), device=sums.marginal.device).split(size):
        rows = sampled.rows[part]
        p = values.weights[rows].clamp(min=torch.finfo(torch.float64).tiny)
        assignments = values.split(values.columns(rows) / p[:, None])
        blocks.append(influences(masses(part), assignments, sampled.weights[part], sums))
    return {name: torch.cat([block[name] for block in blocks]) for name in blocks[0]}
