"""Losses and penalties as plain functions of tensors.

`x` and `logits` are (batch, ...) with equal shapes. `mean`, `logvar` and `z` are (batch, latent), with z drawn from
N(mean, exp(logvar)). A loss is a differentiable 0-d tensor in nats, summed over pixels and latents and averaged over
the batch. NumPy arrays are accepted. Weights are numbers or 0-d tensors, and all functions support `torch.func.vmap`.
The prior is N(0, I). The likelihood is Bernoulli with logits by default; `likelihood` selects another one.
"""

from collections.abc import Mapping
from typing import Any, Literal

import torch
from jaxtyping import Float
from torch import Tensor

from unbraid.errors import SpecError
from unbraid.information.aggregate import Estimator
from unbraid.models.distributions.likelihoods import BernoulliLikelihood, Likelihood
from unbraid.models.distributions.posteriors.gaussian import DiagonalGaussian
from unbraid.models.distributions.priors.prior import StandardNormalPrior
from unbraid.objectives import (
    DIPVAE,
    HFVAE,
    VAE,
    AnchorVAE,
    AnnealedVAE,
    BetaTCVAE,
    BetaVAE,
    InformationDropout,
    InfoVAE,
    Objective,
    Step,
)
from unbraid.objectives.decomposed_elbo import Groups
from unbraid.objectives.terms.mmd import Bandwidth, Kernel, Statistic

Array = Any
"""A tensor or a NumPy array."""

Weight = Any
"""The weight of a term: a number or a 0-d tensor."""


def elbo(
    x: Array, logits: Array, mean: Array, logvar: Array, z: Array | None = None, *, likelihood: Likelihood | None = None
) -> Float[Tensor, ""]:
    """Returns the ELBO, log p(x | z) - KL(q(z | x) || p(z)), averaged over the batch.

    Kingma & Welling, arXiv:1312.6114v10, eq. 10. The KL is computed in closed form, so `z` is ignored. To train a VAE,
    minimize `-elbo(...)`.

    Examples:
        >>> import torch
        >>> x, zero = torch.ones(4, 1, 2, 2), torch.zeros(4, 3)
        >>> round(float(elbo(x, 0 * x, zero, zero)), 4)  # 4 pixels of probability 1/2: -4 log 2
        -2.7726
    """
    return -_loss(VAE(), x, logits, mean, logvar, mean if z is None else z, likelihood=likelihood)


def beta_vae_loss(
    x: Array,
    logits: Array,
    mean: Array,
    logvar: Array,
    z: Array | None = None,
    *,
    beta: Weight = 4.0,
    likelihood: Likelihood | None = None,
) -> Float[Tensor, ""]:
    """Returns the beta-VAE loss, -log p(x | z) + beta KL(q(z | x) || p(z)). Higgins et al., ICLR 2017, eq. 4.

    The first term is summed over pixels, the second over latents. In implementations that average over P pixels and L
    latents instead, a weight beta' corresponds to beta = beta' P / L here.

    Examples:
        >>> import torch
        >>> x, one = torch.ones(4, 1, 2, 2), torch.ones(4, 3)
        >>> round(float(beta_vae_loss(x, 0 * x, one, 0 * one, beta=2.0)), 4)  # 4 log 2 + 2 * 3 / 2
        5.7726
    """
    return _loss(BetaVAE(beta), x, logits, mean, logvar, mean if z is None else z, likelihood=likelihood)


def beta_tcvae_loss(
    x: Array,
    logits: Array,
    mean: Array,
    logvar: Array,
    z: Array,
    *,
    dataset_size: int,
    alpha: Weight = 1.0,
    beta: Weight = 6.0,
    gamma: Weight = 1.0,
    estimator: Estimator = "mws",
    analytic_kl: bool = False,
    likelihood: Likelihood | None = None,
) -> Float[Tensor, ""]:
    """Returns the beta-TCVAE loss, -log p(x | z) + alpha I(x; z) + beta TC(z) + gamma sum_j KL(q(z_j) || p(z_j)).

    Chen et al., arXiv:1802.04942v5, eq. 4. `estimator` selects how q(z) is estimated from the batch, as in
    `aggregate_log_prob`. `analytic_kl` computes the KL of each image in closed form.

    Examples:
        >>> import torch
        >>> generator = torch.Generator().manual_seed(0)
        >>> mean, x = torch.randn(8, 3, generator=generator), torch.ones(8, 1, 2, 2)
        >>> loss = beta_tcvae_loss(x, 0 * x, mean, 0 * mean, mean, dataset_size=1_000, beta=6.0)
        >>> loss.shape
        torch.Size([])
    """
    objective = BetaTCVAE(alpha=alpha, beta=beta, gamma=gamma, estimator=estimator, analytic_kl=analytic_kl)
    return _loss(objective, x, logits, mean, logvar, z, dataset_size, likelihood=likelihood)


def hfvae_loss(
    x: Array,
    logits: Array,
    mean: Array,
    logvar: Array,
    z: Array,
    *,
    dataset_size: int,
    groups: Groups,
    alpha: Weight = 1.0,
    beta: Weight = 4.0,
    gamma: Weight = 3.0,
    estimator: Estimator = "stratified_pairs",
    likelihood: Likelihood | None = None,
) -> Float[Tensor, ""]:
    """Returns the HFVAE loss: -log p(x | z) + alpha I(x; z) + beta TC between groups + gamma TC within groups + KLs.

    Esmaeili et al., arXiv:1804.02086v1, eq. 9. The KLs are sum_j KL(q(z_j) || p(z_j)). `groups` are tuples of
    latent indices; each latent is in exactly one group.

    Examples:
        >>> import torch
        >>> generator = torch.Generator().manual_seed(0)
        >>> mean, x = torch.randn(8, 3, generator=generator), torch.ones(8, 1, 2, 2)
        >>> hfvae_loss(x, 0 * x, mean, 0 * mean, mean, dataset_size=1_000, groups=((0, 1), (2,))).shape
        torch.Size([])
    """
    objective = HFVAE(alpha=alpha, beta=beta, gamma=gamma, groups=groups, estimator=estimator)
    return _loss(objective, x, logits, mean, logvar, z, dataset_size, likelihood=likelihood)


def information_dropout_loss(
    x: Array,
    logits: Array,
    mean: Array,
    logvar: Array,
    z: Array,
    *,
    dataset_size: int,
    beta: Weight = 1.0,
    gamma: Weight = 1.0,
    estimator: Estimator = "stratified_pairs",
    likelihood: Likelihood | None = None,
) -> Float[Tensor, ""]:
    """Returns the information dropout loss, -log p(x | z) + beta I(x; z) + gamma TC(z).

    Achille & Soatto, arXiv:1611.01353v3, in the form of Esmaeili et al., arXiv:1804.02086v1, table 1.

    Examples:
        >>> import torch
        >>> generator = torch.Generator().manual_seed(0)
        >>> mean, x = torch.randn(8, 3, generator=generator), torch.ones(8, 1, 2, 2)
        >>> information_dropout_loss(x, 0 * x, mean, 0 * mean, mean, dataset_size=1_000).shape
        torch.Size([])
    """
    objective = InformationDropout(beta=beta, gamma=gamma, estimator=estimator)
    return _loss(objective, x, logits, mean, logvar, z, dataset_size, likelihood=likelihood)


def anchor_vae_loss(
    x: Array,
    logits: Array,
    mean: Array,
    logvar: Array,
    z: Array,
    *,
    dataset_size: int,
    anchors: tuple[int, ...] = (0,),
    weight: Weight = 1.0,
    likelihood: Likelihood | None = None,
) -> Float[Tensor, ""]:
    """Returns the AnchorVAE loss, -log p(x | z) + KL(q(z | x) || p(z)) - weight I(x; z_a).

    z_a are the latents with the indices `anchors`. Gao et al., arXiv:1802.05822v1, in the form of Esmaeili et al.,
    arXiv:1804.02086v1, table 1.

    Examples:
        >>> import torch
        >>> x, zero = torch.ones(8, 1, 2, 2), torch.zeros(8, 3)
        >>> round(float(anchor_vae_loss(x, 0 * x, zero, zero, zero, dataset_size=1_000)), 4)  # z carries no information
        2.7726
    """
    objective = AnchorVAE(weight, anchors)
    return _loss(objective, x, logits, mean, logvar, z, dataset_size, likelihood=likelihood)


def annealed_vae_loss(
    x: Array,
    logits: Array,
    mean: Array,
    logvar: Array,
    z: Array | None = None,
    *,
    capacity: Weight,
    gamma: Weight = 1000.0,
    upward: Weight = 1.0,
    likelihood: Likelihood | None = None,
) -> Float[Tensor, ""]:
    """Returns the AnnealedVAE loss, -log p(x | z) + gamma |KL(q(z | x) || p(z)) - capacity|.

    Burgess et al., arXiv:1804.03599v1, eq. 8. The KL is averaged over the batch before the absolute value. Increase
    `capacity`, in nats, during training, e.g. from 0 to 25. `upward` multiplies gamma while the KL is below `capacity`.

    Examples:
        >>> import torch
        >>> x, zero = torch.ones(4, 1, 2, 2), torch.zeros(4, 3)
        >>> round(float(annealed_vae_loss(x, 0 * x, zero, zero, capacity=2.0, gamma=10.0)), 4)  # 4 log 2 + 10 * 2
        22.7726
    """
    objective = AnnealedVAE(gamma=gamma, capacity=capacity, upward=upward)
    return _loss(objective, x, logits, mean, logvar, mean if z is None else z, likelihood=likelihood)


def dip_vae_loss(
    x: Array,
    logits: Array,
    mean: Array,
    logvar: Array,
    z: Array | None = None,
    *,
    kind: Literal["i", "ii"] = "i",
    off_diagonal: Weight = 10.0,
    diagonal: Weight | None = None,
    likelihood: Likelihood | None = None,
) -> Float[Tensor, ""]:
    """Returns the DIP-VAE loss, minus the ELBO plus `dip_vae_penalty`. Kumar et al., arXiv:1711.00848v1, eq. 6.

    Examples:
        >>> import torch
        >>> x, mean = torch.ones(2, 1, 2, 2), torch.tensor([[1.0, 1.0], [-1.0, -1.0]])
        >>> round(float(dip_vae_loss(x, 0 * x, mean, 0 * mean, off_diagonal=2.0)), 4)  # 4 log 2 + 1 + 4
        7.7726
    """
    objective = DIPVAE(kind, off_diagonal=off_diagonal, diagonal=diagonal)
    return _loss(objective, x, logits, mean, logvar, mean if z is None else z, likelihood=likelihood)


def info_vae_loss(
    x: Array,
    logits: Array,
    mean: Array,
    logvar: Array,
    z: Array,
    prior: Array,
    *,
    alpha: Weight = 0.5,
    weight: Weight = 100.0,
    kernel: Kernel = "rbf",
    bandwidth: Bandwidth = "dimension",
    statistic: Statistic = "biased",
    likelihood: Likelihood | None = None,
) -> Float[Tensor, ""]:
    """Returns the InfoVAE loss, -log p(x | z) + (1 - alpha) KL(q(z | x) || p(z)) + (alpha + weight - 1) MMD^2.

    Zhao et al., arXiv:1706.02262v3, section 3; `weight` is their lambda. MMD^2 compares `z` with `prior`, draws from
    p(z) of shape (batch, latent).

    Examples:
        >>> import torch
        >>> x, zero = torch.ones(4, 1, 2, 2), torch.zeros(4, 3)
        >>> round(float(info_vae_loss(x, 0 * x, zero, zero, zero, prior=zero)), 4)  # equal draws: the MMD is 0
        2.7726
    """
    objective = InfoVAE(alpha=alpha, weight=weight, kernel=kernel, bandwidth=bandwidth, statistic=statistic)
    draws = {"prior": as_float(prior)}
    return _loss(objective, x, logits, mean, logvar, z, draws=draws, likelihood=likelihood)


def _loss(
    objective: Objective,
    x: Array,
    logits: Array,
    mean: Array,
    logvar: Array,
    z: Array,
    dataset_size: int | None = None,
    *,
    draws: Mapping[str, Tensor] | None = None,
    likelihood: Likelihood | None = None,
) -> Float[Tensor, ""]:
    """Evaluates an objective on the given tensors."""
    x, logits, mean, logvar, z = map(as_float, (x, logits, mean, logvar, z))
    if x.shape != logits.shape or not mean.shape == logvar.shape == z.shape or len(x) != len(z) or z.ndim != 2:
        raise SpecError(
            f"x and logits have shapes {tuple(x.shape)} and {tuple(logits.shape)}; mean, logvar and z have shapes "
            f"{tuple(mean.shape)}, {tuple(logvar.shape)} and {tuple(z.shape)}. Pass x and logits with equal shapes "
            "(batch, ...), and mean, logvar and z with equal shapes (batch, latent)."
        )
    step = Step(
        x=x.reshape(len(x), 1, 1, -1),
        posterior=DiagonalGaussian(mean, logvar),
        z=z,
        log_likelihood=log_likelihood(x, logits, likelihood),
        prior=StandardNormalPrior(),
        dataset_size=len(x) if dataset_size is None else dataset_size,
        progress=torch.ones((), dtype=x.dtype, device=x.device),
        draws=draws or {},
        is_logged=False,
    )
    return objective(step).total


def log_likelihood(x: Tensor, logits: Tensor, likelihood: Likelihood | None) -> Float[Tensor, " batch"]:
    """Returns log p(x | z) of each image, summed over pixels. The default likelihood is Bernoulli."""
    rows = (len(x), 1, 1, -1)
    return (likelihood or BernoulliLikelihood()).log_prob(x.reshape(rows), logits.reshape(rows))


def as_float(given: Array) -> Tensor:
    """Converts an array to a floating-point tensor, without a copy if possible."""
    tensor = torch.as_tensor(given)
    return tensor if tensor.is_floating_point() else tensor.to(torch.get_default_dtype())
