"""Golden values of the correlation matrices."""

from collections.abc import Callable

import torch

from tests.golden.values import Arrays, Values, codes_of
from unbraid.information.posteriors import Draws
from unbraid.metrics.correlations import Correlations
from unbraid.metrics.reductions.statistics import Statistics


def correlations(arrays: Arrays) -> Values:
    """Of the means, of one draw for each datum, and of the means with the labels."""
    z = arrays["z_per_datum"]
    tables = Correlations().of(Statistics(codes_of(arrays), draws=Draws.of(z, torch.arange(len(z))))).tables
    return {
        "corr/deterministic": tables["deterministic"],
        "corr/stochastic": tables["stochastic"],
        "corr/latent_vs_factor": tables["latent_factor"],
    }


METRICS: tuple[Callable[[Arrays], Values], ...] = (correlations,)
