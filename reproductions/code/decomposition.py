"""Table 1 of Esmaeili et al.: objectives as weights of the terms of one decomposition, on synthetic batches."""

from typing import Any

import torch

from unbraid import VAE, BetaTCVAE, BetaVAE
from unbraid.models.distributions import DiagonalGaussian, StandardNormalPrior
from unbraid.objectives import HFVAE, DecomposedELBO, InformationDropout, Step

_BATCH, _LATENTS, _IMAGES = 64, 6, 10_000
_PAIRS = ((0, 1, 2), (3, 4, 5))
_TERMS = ("rate", "mutual_information", "total_correlation", "total_correlation_within", "dimension_wise_kl")
_ROWS: dict[str, tuple[Any, tuple[float, ...], Any]] = {
    "VAE": (VAE(), (1, 0, 0, 0, 0), "each"),
    "beta-VAE 4": (BetaVAE(4.0), (4, 0, 0, 0, 0), "each"),
    "information dropout": (InformationDropout(beta=2.0, gamma=3.0), (0, 2, 3, 0, 0), "each"),
    "beta-TCVAE 4": (BetaTCVAE(beta=4.0, estimator="stratified_pairs"), (0, 1, 4, 0, 1), "each"),
    "HFVAE": (HFVAE(alpha=1.0, beta=4.0, gamma=3.0, groups=_PAIRS), (0, 1, 4, 3, 1), _PAIRS),
}
_SUMS: dict[str, Any] = {"all terms, latents apart": "each", "all terms, two groups": _PAIRS}
CASES = (*_ROWS, *_SUMS)


def compute_terms(label: str, seed: int) -> dict[str, float]:
    """Returns how far the loss of an objective is from its weighted terms, or the sum of the terms from the rate."""
    step = _batch(seed)
    distortion = -float(step.log_likelihood.mean())
    if label in _SUMS:
        log_q = step.posterior.log_prob(step.z).sum(dim=1)
        log_p = torch.distributions.Normal(0.0, 1.0).log_prob(step.z).sum(dim=1)
        return {"difference": abs(sum(_terms(step, _SUMS[label])[1:]) - float((log_q - log_p).mean()))}
    objective, weights, groups = _ROWS[label]
    expected = distortion + sum(w * term for w, term in zip(weights, _terms(step, groups), strict=True))
    return {"difference": abs(float(objective(step).total) - expected)}


def _batch(seed: int) -> Step:
    """Returns a batch of codes and likelihoods that no model made: identities hold for any."""
    generator = torch.Generator().manual_seed(seed)
    loc, log_var, noise = torch.randn(3, _BATCH, _LATENTS, generator=generator, dtype=torch.float64)
    posterior = DiagonalGaussian(loc, log_var)
    return Step(
        x=torch.rand(_BATCH, 1, 2, 2, generator=generator, dtype=torch.float64),
        posterior=posterior,
        z=posterior.rsample(noise),
        log_likelihood=-100 * torch.rand(_BATCH, generator=generator, dtype=torch.float64),
        prior=StandardNormalPrior(),
        dataset_size=_IMAGES,
        progress=torch.tensor(0.5, dtype=torch.float64),
    )


def _terms(step: Step, groups: Any) -> list[float]:
    """Returns each term alone: the loss with its weight 1 and all others 0, less the distortion."""

    def total(**weights: float) -> float:
        none = dict.fromkeys(_TERMS, 0.0)
        return float(DecomposedELBO(**{**none, **weights}, groups=groups, estimator="stratified_pairs", deeper=())(step).total)

    return [total(**{name: 1.0}) - total() for name in _TERMS]
