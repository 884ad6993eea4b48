"""Information in the means alone, counted in bins."""

import numpy as np
import torch
from jaxtyping import Float, Int64
from torch import Tensor

from unbraid.errors import SpecError
from unbraid.information.latent_information import LatentInformation, information_of_tables
from unbraid.information.value_table import ValueTable


def means_histogram_information(
    mean: Float[Tensor, "image latent"], values: ValueTable, num_bins: int = 20
) -> LatentInformation:
    """Returns discrete information of each latent's mean, in `num_bins` bins of equal width from its smallest to its
    largest value, in nats.

    This is the estimator of Locatello et al., arXiv:1811.12359v4 (20 bins). It never sees the width of a posterior: a
    latent whose means differ by a thousandth of its standard deviation fills as many bins as one that is read off
    without error. It is kept for comparison with published numbers.
    """
    if num_bins < 1:
        raise SpecError(f"means_histogram: num_bins is {num_bins}; expected at least 1 (20 is usual).")
    tables = torch.stack(
        [values.grouped_columns(bins, num_bins)[0] for bins in histogram_bins(mean, num_bins, values.weights).unbind(1)]
    )
    return information_of_tables(
        tables[:, :, 0], values.split(tables), entropy_given_image=tables.new_zeros(len(tables))
    )


def histogram_bins(
    mean: Float[Tensor, "image latent"], num_bins: int, weights: Float[Tensor, " image"] | None = None
) -> Int64[Tensor, "image latent"]:
    """Returns the bin of each mean, as `numpy.histogram` counts it: bins [a, b), the last one closed. They span the
    images whose weight is not 0.
    """
    bins = []
    for column in mean.double().T.contiguous():
        counted = column if weights is None else column[weights > 0]
        edges = torch.from_numpy(np.linspace(float(counted.min()), float(counted.max()), num_bins + 1)).to(
            column.device
        )
        bins.append((torch.searchsorted(edges, column, right=True) - 1).clamp(0, num_bins - 1))
    return torch.stack(bins, dim=1)
