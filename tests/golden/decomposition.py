"""Golden values of the objectives that weigh the parts of the ELBO, and of the minibatch estimators behind them."""

from collections.abc import Callable

import torch
from torch import Tensor
from torch.nn.functional import one_hot

from tests.golden.values import Arrays, Values
from unbraid.information import decompose, log_aggregate, log_weights
from unbraid.information.aggregate import Estimator
from unbraid.models.distributions import (
    Concrete,
    ConcreteLatents,
    DiagonalGaussian,
    GaussianLatents,
    Grouped,
    GroupedPrior,
    StandardNormalPrior,
)
from unbraid.objectives import HFVAE, VAE, AnnealedVAE, BetaSVAE, BetaTCVAE, BetaVAE, Objective, Step

# The golden file's names of the minibatch estimators.
ESTIMATORS: dict[str, Estimator] = {"mws": "mws", "mss": "mss", "eq13": "stratified_pairs", "batch": "naive"}


def minibatch_estimators(arrays: Arrays) -> Values:
    posterior, z = _gaussian(arrays), arrays["z"]
    pairwise, log_posterior, log_prior = (
        posterior.pairwise_log_prob(z),
        posterior.log_prob(z),
        StandardNormalPrior().log_prob(z),
    )
    found: Values = {}
    for name, estimator in ESTIMATORS.items():
        weights = log_weights(estimator, len(z), int(arrays["N"]), dtype=z.dtype)
        parts = decompose(log_posterior, pairwise, weights, log_prior)
        found[f"weights/{name}"] = weights.exp()
        found[f"tc/{name}"] = {
            "log_qz": log_aggregate(pairwise, weights, [range(z.shape[1])])[:, 0],
            "log_prod_qzi": log_aggregate(pairwise, weights).sum(dim=1),
            "log_qz_cond_x": log_posterior.sum(dim=1),
            "log_pz": log_prior.sum(dim=1),
            "MI": parts.mutual_information.mean(),
            "TC": parts.total_correlation.mean(),
            "DWKL": parts.dimension_wise_kl.mean(),
        }
    return found


def decomposed_elbos(arrays: Arrays) -> Values:
    objectives: dict[str, Objective] = {
        "vae_loss": VAE(),
        "beta_vae_loss_4": BetaVAE(beta=4.0),
        "capacity_loss_gamma1000_C5": AnnealedVAE(gamma=1000.0, capacity=5.0),
        "beta_tc/mws_a1_b6_g1": BetaTCVAE(alpha=1.0, beta=6.0, gamma=1.0, estimator="mws"),
        "beta_tc/mss_a1_b6_g1": BetaTCVAE(alpha=1.0, beta=6.0, gamma=1.0, estimator="mss"),
        "beta_tc/mws_a0_b6_g1": BetaTCVAE(alpha=0.0, beta=6.0, gamma=1.0, estimator="mws"),
        "beta_tc/analytic_kl_plus_(b-1)TC_mws": BetaTCVAE(
            alpha=1.0, beta=6.0, gamma=1.0, estimator="mws", analytic_kl=True
        ),
    }
    step = _gaussian_step(arrays)
    return {key: objective(step).total for key, objective in objectives.items()}


def hierarchical_elbos(arrays: Arrays) -> Values:
    """The four Gaussian latents and the discrete one: two pairs with a learned prior of the categories; one group with
    a uniform one.
    """
    logits = arrays["prior_cat_logits"]
    learned, uniform = (_mixed_step(arrays, each) for each in (logits, torch.zeros_like(logits)))
    pairs, style = ((0, 1), (2, 3), (4,)), ((0, 1, 2, 3), (4,))
    return {
        "hfvae/groups_01_23_c": _parts(HFVAE(groups=pairs), learned),
        "hfvae/loss_a1_b4_g3": HFVAE(alpha=1.0, beta=4.0, gamma=3.0, groups=pairs)(learned).total,
        "hfvae/one_gauss_group": _parts(HFVAE(groups=style), uniform),
        "beta_svae_loss_4": BetaSVAE(beta=4.0)(uniform).total,
    }


LOSSES: tuple[Callable[[Arrays], Values], ...] = (minibatch_estimators, decomposed_elbos, hierarchical_elbos)


def _parts(objective: HFVAE, step: Step) -> Values:
    parts = objective(step).parts
    names = {
        "MI": "mutual_information",
        "TC_out": "total_correlation",
        "TC_in": "total_correlation_within",
        "DWKL": "dimension_wise_kl",
    }
    found = {key: parts[name] for key, name in names.items()}
    # With all weights 1, what is left beside the distortion is log q(z|x) - log p(z).
    sampled = HFVAE(alpha=1.0, beta=1.0, gamma=1.0, groups=objective.groups)(step)
    return found | {"KL_sample": sampled.total - parts["distortion"]}


def _gaussian(arrays: Arrays) -> DiagonalGaussian:
    return DiagonalGaussian(arrays["mu"], 2 * arrays["sigma"].log())


def _gaussian_step(arrays: Arrays) -> Step:
    """The batch of a losses file, with the distortion that it gives."""
    return Step(
        x=arrays["x"][:, None, None, :],
        posterior=_gaussian(arrays),
        z=arrays["z"],
        log_likelihood=-arrays["recon_nll"],
        prior=StandardNormalPrior(),
        dataset_size=int(arrays["N"]),
        progress=torch.tensor(0.0, dtype=torch.float64),
    )


def _mixed_step(arrays: Arrays, prior_logits: Tensor) -> Step:
    """The same batch with a discrete latent after the Gaussian ones, which counts by the probability of its
    category.
    """
    tau, size, categories = arrays["tau"], arrays["z"].shape[1], arrays["cat_logits"].shape[1]
    layout = (GaussianLatents(size), ConcreteLatents(categories))
    return Step(
        x=arrays["x"][:, None, None, :],
        posterior=Grouped((_gaussian(arrays), Concrete(arrays["cat_logits"], tau, "pmf")), layout),
        z=torch.cat([arrays["z"], one_hot(arrays["cat_idx"], categories).to(arrays["z"])], dim=1),
        log_likelihood=-arrays["recon_nll"],
        prior=GroupedPrior((StandardNormalPrior(), Concrete(prior_logits, tau, "pmf")), layout),
        dataset_size=int(arrays["N"]),
        progress=torch.tensor(0.0, dtype=torch.float64),
    )
