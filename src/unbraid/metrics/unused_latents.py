"""Latents without information about the image, and the warning badge of collapsed models."""

from dataclasses import replace

import torch
from jaxtyping import Bool, Float64
from torch import Tensor

from unbraid.codes import Codes
from unbraid.errors import CodesError
from unbraid.information.posteriors import Posteriors
from unbraid.metrics.estimators import Exact, Quantized
from unbraid.metrics.metric import Score
from unbraid.metrics.reductions.statistics import Statistics

UNUSED = 0.01
"""Minimum information of a used latent about the image, in nats."""

# For codes without a std above 0: a latent is unused if the std of its means is below this fraction of the largest std,
# or if the largest std is below _LEAST_SPREAD.
_LEAST_SHARE = 0.05
_LEAST_SPREAD = 0.01


def unused_latents(
    codes: Codes, mig: Score | None = None, nats: Float64[Tensor, " latent"] | None = None
) -> Bool[Tensor, " latent"]:
    """Returns a mask of unused latents, which have I(x; z_j) < 0.01 nats.

    For codes without a std above 0, a continuous latent is unused if the std of its means is below 0.05 times the
    largest std, or if all stds are below 0.01. `mig` is a MIG score of these codes, whose tables may contain the
    expensive part of the computation. `nats` is the result of `informativeness`, if known.
    """
    if has_width(codes):
        return (informativeness(codes, mig) if nats is None else nats) < UNUSED
    weights = Statistics(codes).weights
    away = codes.mean.double() - weights @ codes.mean.double()
    spread = (weights @ away.square()).sqrt()
    largest = spread.max()
    unused = (spread < _LEAST_SHARE * largest) | (largest < _LEAST_SPREAD)
    if not codes.probabilities:
        return unused
    discrete = Codes(codes.mean[:, :0], probabilities=codes.probabilities, weights=codes.weights)
    return torch.cat([unused, informativeness(discrete) < UNUSED])


def informativeness(codes: Codes, mig: Score | None = None) -> Float64[Tensor, " latent"]:
    """Returns I(x; z_j) = H(z_j) - H(z_j | x) in nats (Do & Tran, arXiv:1908.09961v4, section 3.1).

    If q(z | x) has no density, bins are used. `mig` is an optional exact MIG score, whose table of H(z_j) avoids the
    expensive part of the computation.
    """
    std, has_continuous = codes.marginal_std, codes.mean.shape[1] > 0
    if has_continuous and std is None and codes.samples is None:
        raise CodesError("The codes have only means; expected the std of posteriors for I(x; z). Pass std or log_var.")
    statistics = Statistics(replace(codes, factors=()))
    if has_continuous and (std is None or bool((std <= 0).any())):
        return Quantized().information(statistics).informativeness
    if mig is None or mig.settings.get("estimator") != "exact":
        return Exact().information(statistics).informativeness
    each = Posteriors(codes.mean, statistics.std, statistics.weights, probabilities=codes.probabilities).entropy().each
    return mig.tables["latent_entropy"].to(each) - each


def is_collapsed(num_unused: int, num_latents: int) -> bool:
    """Returns whether fewer than two latents are used and at least one is unused."""
    return num_unused > 0 and num_latents - num_unused < 2


def badge(num_unused: int, num_latents: int) -> str:
    """Returns a warning on the scores of a collapsed model, or an empty string."""
    if not is_collapsed(num_unused, num_latents):
        return ""
    described = "noise" if num_unused == num_latents else "one latent and noise"
    return f"{num_unused} of {num_latents} latents unused: these scores describe {described}"


def has_width(codes: Codes) -> bool:
    """Returns whether all posteriors have a std above 0."""
    std = codes.marginal_std
    return codes.mean.shape[1] == 0 or (std is not None and bool((std > 0).all()))
