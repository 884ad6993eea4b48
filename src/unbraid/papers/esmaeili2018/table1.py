"""Table 1: objectives as weights of the terms of one decomposition."""

from collections.abc import Mapping

import torch

from unbraid import sampling
from unbraid.distributions import DiagonalGaussian, StandardNormal
from unbraid.objectives import HFVAE, VAE, BetaTCVAE, BetaVAE, DecomposedELBO, InformationDropout
from unbraid.objectives.decomposed_elbo import Groups
from unbraid.objectives.objective import Objective, Step
from unbraid.papers.calculation import Calculation
from unbraid.papers.item import Choice, Item
from unbraid.studies.claims import Within

_BATCH, _LATENTS, _IMAGES = 64, 6, 10_000
_DRAWN = ("means", "log-variances", "noise")
_PAIRS = ((0, 1, 2), (3, 4, 5))
# The weights of rate, mutual information, TC between groups, TC within groups and dimension-wise KL, row by row.
_ROWS: dict[str, tuple[Objective, tuple[float, ...], Groups]] = {
    "VAE": (VAE(), (1, 0, 0, 0, 0), "each"),
    "beta-VAE 4": (BetaVAE(4.0), (4, 0, 0, 0, 0), "each"),
    "information dropout": (InformationDropout(beta=2.0, gamma=3.0), (0, 2, 3, 0, 0), "each"),
    "beta-TCVAE 4": (BetaTCVAE(beta=4.0, estimator="eq13"), (0, 1, 4, 0, 1), "each"),
    "HFVAE": (HFVAE(alpha=1.0, beta=4.0, gamma=3.0, groups=_PAIRS), (0, 1, 4, 3, 1), _PAIRS),
}
_SUMS: dict[str, Groups] = {"all terms, latents apart": "each", "all terms, two groups": _PAIRS}
_TERMS = ("rate", "mutual_information", "total_correlation", "total_correlation_within", "dimension_wise_kl")


def _batch(seed: int) -> Step:
    """Returns a batch of codes and likelihoods that no model made: identities hold for any."""
    loc, log_var, noise = (sampling.normal((_BATCH, _LATENTS), seed, name).double() for name in _DRAWN)
    posterior = DiagonalGaussian(loc, log_var)
    return Step(
        x=sampling.uniform((_BATCH, 1, 2, 2), seed, "pixels").double(),
        posterior=posterior,
        z=posterior.rsample(noise),
        log_likelihood=-100 * sampling.uniform((_BATCH,), seed, "log-likelihoods").double(),
        prior=StandardNormal(),
        dataset_size=_IMAGES,
        progress=torch.tensor(0.5, dtype=torch.float64),
    )


def _terms(step: Step, groups: Groups) -> list[float]:
    """Returns each term alone: the loss with its weight 1 and all others 0, less the distortion."""
    none = DecomposedELBO(**dict.fromkeys(_TERMS, 0.0), groups=groups, estimator="eq13", deeper=())
    distortion = float(none(step).total)
    return [
        float(
            DecomposedELBO(**{**dict.fromkeys(_TERMS, 0.0), name: 1.0}, groups=groups, estimator="eq13", deeper=())(
                step
            ).total
        )
        - distortion
        for name in _TERMS
    ]


def _compute(label: str, seed: int) -> Mapping[str, float]:
    step = _batch(seed)
    distortion = -float(step.log_likelihood.mean())
    if label in _SUMS:
        log_q = step.posterior.log_prob(step.z).sum(dim=1)
        log_p = torch.distributions.Normal(0.0, 1.0).log_prob(step.z).sum(dim=1)
        return {"difference": abs(sum(_terms(step, _SUMS[label])[1:]) - float((log_q - log_p).mean()))}
    objective, weights, groups = _ROWS[label]
    expected = distortion + sum(w * term for w, term in zip(weights, _terms(step, groups), strict=True))
    return {"difference": abs(float(objective(step).total) - expected)}


def _work() -> Calculation:
    labels = (*_ROWS, *_SUMS)
    claims = [
        Within(f"{label} is the distortion and these terms with its weights.", "difference", (label,), high=1e-9)
        for label in _ROWS
    ]
    sums = Within("The four terms of the rate add up to log q(z|x) - log p(z).", "difference", tuple(_SUMS), high=1e-9)
    return Calculation(
        name="esmaeili2018-table1",
        cases=dict.fromkeys(labels, tuple(range(5))),
        metrics={"difference": False},
        compute=_compute,
        claims=(*claims, sums),
    )


TABLE1 = Item(
    id="esmaeili2018/table1",
    title="Objectives as weights of the terms of one decomposition",
    claim="VAE, beta-VAE, information dropout, beta-TCVAE and HFVAE weigh the same terms differently.",
    work={"smoke": _work, "paper": _work},
    data="none",
    seconds={"paper": 1},
    choices=(
        Choice("batch", "none: the table is algebra", f"5 drawn batches of {_BATCH} codes of {_LATENTS} latents"),
        Choice("estimate of q(z)", "eq. 13", "eq. 13 in every term; the rate of VAE and beta-VAE in closed form"),
    ),
    trains=False,
    notes=(
        "Rows that approximate a term by other means (DIP-VAE by moments, InfoVAE by a kernel, the anchor VAE by some "
        "of the latents) weigh no term exactly and are left out. The labels of the terms are garbled in the text that "
        "was read; they are taken as in eq. 9."
    ),
)
