"""Golden values of distributions: divergences, densities of discrete latents, the flow and the correlated noise."""

import math
from collections.abc import Callable

import torch

from tests.golden.values import Arrays, Values
from unbraid.models.distributions import (
    BinaryConcrete,
    Concrete,
    CorrelatedGaussian,
    DiagonalGaussian,
    Flow,
    FullGaussian,
    StandardNormalPrior,
)
from unbraid.models.distributions.posteriors.concrete import Measure

RHO = 0.9


def gaussian_divergences(arrays: Arrays) -> Values:
    prior = FullGaussian(arrays["m1"], torch.diag(arrays["s1"]))
    posterior = DiagonalGaussian(arrays["mu"], 2 * arrays["sigma"].log())
    return {"kl_gauss_gauss": prior.kl_from(posterior, arrays["z"]).sum(dim=1)}


def discrete_divergences(arrays: Arrays) -> Values:
    posterior, binary = _concrete(arrays, "pmf"), _binary(arrays, "pmf")
    tau, logits = arrays["tau"], arrays["prior_cat_logits"]
    uniform, learned = (Concrete(each, tau, "pmf") for each in (torch.zeros_like(logits), logits))
    half, less = (BinaryConcrete(tau.new_full((1,), math.log(p / (1 - p))), tau, "pmf") for p in (0.5, 0.3))
    z, b = posterior.probabilities[0], arrays["bern_b"][:, None]
    return {
        "kl_categorical_vs_uniform": uniform.kl_from(posterior, z)[:, 0],
        "kl_categorical_vs_learned": learned.kl_from(posterior, z)[:, 0],
        "kl_bernoulli_vs_half": half.kl_from(binary, b)[:, 0],
        "kl_bernoulli_vs_0.3": less.kl_from(binary, b)[:, 0],
    }


def concrete_densities(arrays: Arrays) -> Values:
    posterior, binary = _concrete(arrays, "density"), _binary(arrays, "density")
    # The Gumbel noise of a draw is -log(-log u), and the library makes it from the normal quantile of u.
    z = posterior.rsample(torch.special.ndtri(arrays["uniform"]))
    prior = Concrete(torch.zeros_like(arrays["prior_cat_logits"]), arrays["tau"], "density")
    return {
        "concrete_sample": z,
        "concrete_logpdf": posterior.log_prob(z)[:, 0],
        "concrete_kl_mc_same_tau": prior.kl_from(posterior, z)[:, 0].mean(),
        "binary_concrete_logpdf": binary.log_prob(arrays["bern_b"][:, None])[:, 0],
    }


def flow_density(arrays: Arrays) -> Values:
    return {"flow_logpdf": Flow(arrays["flow_scale"], arrays["flow_weight"], arrays["flow_bias"]).log_prob(arrays["z"])}


def correlated_noise(arrays: Arrays) -> Values:
    posterior = CorrelatedGaussian(arrays["mu"], 2 * arrays["sigma"].log(), RHO, exact=True)
    correlation = posterior.density_correlation
    assert correlation is not None
    every = range(posterior.loc.shape[1])
    # log q(z | x) beyond the sum over latents, at the mean, is -1/2 log det of the correlations: so is the total
    # correlation given x.
    beyond = posterior.joint_log_prob(posterior.loc, every) - posterior.log_prob(posterior.loc).sum(dim=1)
    return {
        f"correlated_noise_{RHO}": {
            "logdet": torch.linalg.slogdet(correlation).logabsdet,
            "closed_form": -2 * beyond.mean(),
            "KL": StandardNormalPrior().kl_from(posterior, arrays["z"]).sum(dim=1).mean(),
            "TC_given_x": beyond.mean(),
            "cholesky": torch.linalg.cholesky(correlation),
        }
    }


LOSSES: tuple[Callable[[Arrays], Values], ...] = (
    gaussian_divergences,
    discrete_divergences,
    concrete_densities,
    flow_density,
    correlated_noise,
)


def _concrete(arrays: Arrays, measure: Measure) -> Concrete:
    return Concrete(arrays["cat_logits"], arrays["tau"], measure)


def _binary(arrays: Arrays, measure: Measure) -> BinaryConcrete:
    return BinaryConcrete(arrays["bern_logit"][:, None], arrays["tau"], measure)
