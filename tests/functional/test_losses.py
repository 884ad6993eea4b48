"""Losses as functions: the numbers of the objectives of the same name."""

import numpy as np
import pytest
import torch
from torch.func import grad, vmap

from tests.discovery import concrete_subclasses
from unbraid import BetaTCVAE, functional
from unbraid.errors import SpecError
from unbraid.models.distributions.likelihoods import BernoulliLikelihood
from unbraid.models.distributions.posteriors.gaussian import DiagonalGaussian
from unbraid.models.distributions.priors.prior import StandardNormalPrior
from unbraid.objectives import HFVAE, AnnealedVAE, Objective, Step

N, SIZE = 500, 12
GENERATOR = torch.Generator().manual_seed(0)


def normal(*shape):
    return torch.randn(shape, generator=GENERATOR, dtype=torch.float64)


X, LOGITS = torch.rand(SIZE, 1, 4, 4, generator=GENERATOR, dtype=torch.float64), normal(SIZE, 1, 4, 4)
MEAN, LOGVAR, PRIOR, NOISE = normal(SIZE, 3), 0.3 * normal(SIZE, 3), normal(SIZE, 3), normal(SIZE, 3)
Z = MEAN + (0.5 * LOGVAR).exp() * NOISE
CODES = (X, LOGITS, MEAN, LOGVAR, Z)
CRITICS = {outputs: normal(3, outputs) for outputs in (1, 2)}
GROUPS = ((0, 1), (2,))


def critic(outputs):
    return lambda z: torch.tanh(z) @ CRITICS[outputs]


def step(outputs=1, **changes):
    judge = critic(outputs)
    return Step(
        x=X,
        posterior=DiagonalGaussian(MEAN, LOGVAR),
        z=Z,
        log_likelihood=BernoulliLikelihood().log_prob(X, LOGITS),
        prior=StandardNormalPrior(),
        dataset_size=N,
        progress=torch.ones((), dtype=torch.float64),
        draws={"prior": PRIOR, "permutation": NOISE},
        critic=judge,
        critic_in_training=lambda seen: judge(seen.detach()),
        **changes,
    )


ONE = {"dataset_size": N}
LOSSES = {
    "VAE": lambda: -functional.elbo(*CODES),
    "BetaVAE": lambda: functional.beta_vae_loss(*CODES),
    "BetaSVAE": lambda: functional.beta_vae_loss(*CODES),
    "BetaTCVAE": lambda: functional.beta_tcvae_loss(*CODES, **ONE),
    "HFVAE": lambda: functional.hfvae_loss(*CODES, groups=GROUPS, **ONE),
    "InformationDropout": lambda: functional.information_dropout_loss(*CODES, **ONE),
    "AnchorVAE": lambda: functional.anchor_vae_loss(*CODES, **ONE),
    "AnnealedVAE": lambda: functional.annealed_vae_loss(*CODES, capacity=5.0),
    "DIPVAE": lambda: functional.dip_vae_loss(*CODES),
    "InfoVAE": lambda: functional.info_vae_loss(*CODES, prior=PRIOR),
    "FactorVAE": lambda: functional.factor_vae_loss(*CODES[:4], critic(2)(Z)),
    "AAE": lambda: functional.aae_loss(X, LOGITS, critic(1)(Z)),
}
OF_MEAN = {
    "elbo": lambda mean: functional.elbo(X, LOGITS, mean, LOGVAR),
    "beta_vae_loss": lambda mean: functional.beta_vae_loss(X, LOGITS, mean, LOGVAR),
    "hfvae_loss": lambda mean: functional.hfvae_loss(X, LOGITS, mean, LOGVAR, Z, groups=GROUPS, **ONE),
    "information_dropout_loss": lambda mean: functional.information_dropout_loss(X, LOGITS, mean, LOGVAR, Z, **ONE),
    "anchor_vae_loss": lambda mean: functional.anchor_vae_loss(X, LOGITS, mean, LOGVAR, Z, **ONE),
    "annealed_vae_loss": lambda mean: functional.annealed_vae_loss(X, LOGITS, mean, LOGVAR, capacity=5.0),
    "dip_vae_loss": lambda mean: functional.dip_vae_loss(X, LOGITS, mean, LOGVAR),
    "dip_vae_penalty": lambda mean: functional.dip_vae_penalty(mean, LOGVAR, kind="ii"),
    "info_vae_loss": lambda mean: functional.info_vae_loss(X, LOGITS, mean, LOGVAR, mean + NOISE, prior=PRIOR),
    "mmd": lambda mean: functional.mmd(mean, PRIOR),
    "factor_vae_loss": lambda mean: functional.factor_vae_loss(X, LOGITS, mean, LOGVAR, critic(2)(mean)),
    "factor_vae_critic_loss": lambda mean: functional.factor_vae_critic_loss(critic(2)(mean), critic(2)(PRIOR)),
    "aae_loss": lambda mean: functional.aae_loss(X, LOGITS, critic(1)(mean)),
    "info_gan_loss": lambda mean: functional.info_gan_loss(critic(1)(mean), PRIOR, mean, LOGVAR),
    "concrete_kl": lambda mean: functional.concrete_kl(mean).sum(),
    "total_correlation": lambda mean: functional.total_correlation(Z, mean, LOGVAR, **ONE),
    "index_code_mutual_information": lambda mean: functional.index_code_mutual_information(Z, mean, LOGVAR, **ONE),
    "aggregate_log_prob": lambda mean: functional.aggregate_log_prob(Z, mean, LOGVAR, **ONE).sum(),
    "permute_latents": lambda mean: functional.permute_latents(mean, noise=NOISE).square().sum(),
}
DEFAULTS = {"HFVAE": HFVAE(groups=GROUPS), "AnnealedVAE": AnnealedVAE(capacity=5.0)}


@pytest.mark.parametrize("cls", concrete_subclasses(Objective), ids=lambda cls: cls.__name__)
def test_an_objective_and_its_function_have_the_same_loss(cls):
    name = cls.__name__
    if name not in LOSSES:  # sums of terms of others, a loss whose step generates images (compared below), a new one
        pytest.skip(f"{name} has no function")
    objective = DEFAULTS.get(name) or cls()
    expected = objective.at(torch.ones(()))(step(objective.critic_outputs)).total
    torch.testing.assert_close(LOSSES[name](), expected, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("estimator", ["naive", "mws", "mss", "stratified_pairs"])
def test_the_estimators_of_beta_tcvae(estimator):
    expected = BetaTCVAE(alpha=0.5, beta=3.0, gamma=2.0, estimator=estimator)(step()).total
    found = functional.beta_tcvae_loss(*CODES, alpha=0.5, beta=3.0, gamma=2.0, estimator=estimator, **ONE)
    torch.testing.assert_close(found, expected)


@pytest.mark.parametrize("kind", ["i", "ii"])
def test_the_penalty_of_dip_vae_is_its_loss_less_that_of_the_vae(kind):
    penalty = functional.dip_vae_penalty(MEAN, LOGVAR, kind=kind)
    torch.testing.assert_close(functional.dip_vae_loss(*CODES, kind=kind), penalty - functional.elbo(*CODES))


def test_the_covariance_of_dip_vae_is_that_of_numpy():
    covariance = np.cov(MEAN.T.numpy(), ddof=0) + np.diag(LOGVAR.exp().mean(dim=0).numpy())
    off = (covariance**2).sum() - (np.diag(covariance) ** 2).sum()
    expected = 2.0 * off + 3.0 * ((np.diag(covariance) - 1) ** 2).sum()
    found = functional.dip_vae_penalty(MEAN, LOGVAR, kind="ii", off_diagonal=2.0, diagonal=3.0)
    assert float(found) == pytest.approx(expected)


def test_the_critics_losses_are_those_of_the_objectives():
    permuted = functional.permute_latents(Z, noise=NOISE)
    objective = next(cls for cls in concrete_subclasses(Objective) if cls.__name__ == "FactorVAE")(same_batch=True)
    expected = objective(step(2)).critic
    torch.testing.assert_close(functional.factor_vae_critic_loss(critic(2)(Z), critic(2)(permuted)), expected)
    aae = next(cls for cls in concrete_subclasses(Objective) if cls.__name__ == "AAE")()
    torch.testing.assert_close(functional.critic_cross_entropy(critic(1)(PRIOR), critic(1)(Z)), aae(step()).critic)


def test_permuted_latents_keep_the_values_of_each_latent():
    permuted = functional.permute_latents(Z, generator=torch.Generator().manual_seed(1))
    torch.testing.assert_close(permuted.sort(dim=0).values, Z.sort(dim=0).values)
    assert not torch.equal(permuted, Z)


def test_the_loss_of_infogan_rewards_codes_that_are_read_back():
    logits = critic(1)(Z)
    at_prior = functional.info_gan_loss(logits, PRIOR, torch.zeros_like(PRIOR), torch.zeros_like(PRIOR))
    read = functional.info_gan_loss(logits, PRIOR, PRIOR, torch.full_like(PRIOR, -2.0))
    # log N(c; c, e^-2) - log N(c; 0, 1) = 1 + c^2 / 2 for each latent.
    assert float(at_prior - read) == pytest.approx(3 + 0.5 * float(PRIOR.square().sum(dim=1).mean()))


def test_the_kl_of_categories_is_that_of_torch():
    logits, prior = normal(5, 4), torch.tensor([0.1, 0.2, 0.3, 0.4], dtype=torch.float64)
    expected = torch.distributions.kl_divergence(
        torch.distributions.Categorical(logits=logits), torch.distributions.Categorical(probs=prior.expand(5, 4))
    )
    torch.testing.assert_close(functional.concrete_kl(logits, prior), expected)


def test_arrays_of_numpy_give_the_same_number():
    found = functional.beta_tcvae_loss(*(tensor.numpy() for tensor in CODES), **ONE)
    torch.testing.assert_close(found, functional.beta_tcvae_loss(*CODES, **ONE))


def test_members_of_a_fleet_differ_in_a_weight_under_vmap():
    betas = torch.tensor([1.0, 4.0, 6.0], dtype=torch.float64)

    def loss(beta, mean):
        return functional.beta_tcvae_loss(X, LOGITS, mean, LOGVAR, Z, beta=beta, **ONE)

    means = torch.stack([MEAN, MEAN + 1, 2 * MEAN])
    expected = torch.stack([grad(loss, argnums=1)(beta, mean) for beta, mean in zip(betas, means, strict=True)])
    torch.testing.assert_close(vmap(grad(loss, argnums=1))(betas, means), expected)


@pytest.mark.parametrize("name", sorted(OF_MEAN))
def test_every_loss_is_differentiable_and_maps_over_members(name):
    loss, means = OF_MEAN[name], torch.stack([MEAN, MEAN + 1, 2 * MEAN])
    for change in (loss, grad(loss)):
        torch.testing.assert_close(vmap(change)(means), torch.stack([change(mean) for mean in means]))
    assert bool((grad(loss)(MEAN) != 0).any())


def test_shapes_that_do_not_fit_are_named():
    with pytest.raises(SpecError, match=r"\(12, 3\), \(12"):
        functional.elbo(X, LOGITS, MEAN, LOGVAR[:, :2])
    with pytest.raises(SpecError, match="Pass logvar"):
        functional.dip_vae_penalty(MEAN, kind="ii")
