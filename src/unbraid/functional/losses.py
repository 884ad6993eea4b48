"""Losses and penalties as plain functions of tensors.

Shapes: `x` and `logits` are (batch, ...) with equal shapes; `mean`, `logvar` and `z` are (batch, latent), with z drawn
from N(mean, exp(logvar)). A loss is a 0-d tensor: nats per image, summed over pixels and latents and averaged over the
batch, differentiable in all tensors. NumPy arrays are accepted. Weights are numbers or 0-d tensors, so a function may
run under `torch.func.vmap`. The prior is N(0, I); the likelihood is Bernoulli with logits unless `likelihood` is given.
"""

from collections.abc import Mapping
from typing import Any, Literal

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn.functional import log_softmax

from unbraid.errors import SpecError
from unbraid.functional._tensors import Array, as_float
from unbraid.information.aggregate import Estimator
from unbraid.models.distributions.likelihoods.likelihood import BernoulliLikelihood, Likelihood
from unbraid.models.distributions.posteriors.diagonal_gaussian import DiagonalGaussian
from unbraid.models.distributions.priors.prior import StandardNormal
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
from unbraid.objectives.dip_vae import DIAGONAL_SHARE
from unbraid.objectives.factor_vae import critic_loss, log_ratio
from unbraid.objectives.terms import adversary
from unbraid.objectives.terms.covariance import (
    covariance_of_means,
    expected_covariance,
    squared_distances_from_identity,
)
from unbraid.objectives.terms.mmd import Bandwidth, Kernel, Statistic, squared_mmd
from unbraid.objectives.terms.permuted_codes import permuted_codes

Weight = Any
"""The weight of a term: a number, or a 0-d tensor."""


def elbo(
    x: Array, logits: Array, mean: Array, logvar: Array, z: Array | None = None, *, likelihood: Likelihood | None = None
) -> Float[Tensor, ""]:
    """Returns the ELBO, log p(x | z) - KL(q(z | x) || p(z)), averaged over the batch.

    Kingma & Welling, arXiv:1312.6114v10, eq. 10. The KL is in closed form, so z is not read. Minimize `-elbo(...)`.

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
    """Returns -log p(x | z) + beta KL(q(z | x) || p(z)). Higgins et al., ICLR 2017, eq. 4.

    Both terms are sums, over pixels and over latents. Codes that average the distortion over P pixels and the KL over L
    latents call beta' what is beta = beta' P / L here.

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
    """Returns -log p(x | z) + alpha I(x; z) + beta TC(z) + gamma sum_j KL(q(z_j) || p(z_j)).

    Chen et al., arXiv:1802.04942v5, eq. 4. q(z) is estimated from the batch by minibatch-weighted sampling ("mws"),
    minibatch-stratified sampling ("mss") or its symmetric form ("stratified_pairs"; Esmaeili et al.,
    arXiv:1804.02086v1, eq. 13).

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
    """Returns -log p(x | z) + alpha I(x; z) + beta TC between groups + gamma TC within groups + KLs of latents.

    Esmaeili et al., arXiv:1804.02086v1, eq. 9. `groups` are tuples of latents by number; each latent is in one group.

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
    """Returns -log p(x | z) + beta I(x; z) + gamma TC(z).

    Achille & Soatto, arXiv:1611.01353v3, as in Esmaeili et al., arXiv:1804.02086v1, table 1.

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
    """Returns -log p(x | z) + KL(q(z | x) || p(z)) - weight I(x; z_a) for the latents z_a in `anchors`.

    Gao et al., arXiv:1802.05822v1, as in Esmaeili et al., arXiv:1804.02086v1, table 1.

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
    """Returns -log p(x | z) + gamma |KL(q(z | x) || p(z)) - capacity|, with the KL averaged over the batch first.

    Burgess et al., arXiv:1804.03599v1, eq. 8. `capacity` is in nats: raise it over training, such as from 0 to 25.
    Below the capacity the distance counts times `upward`.

    Examples:
        >>> import torch
        >>> x, zero = torch.ones(4, 1, 2, 2), torch.zeros(4, 3)
        >>> round(float(annealed_vae_loss(x, 0 * x, zero, zero, capacity=2.0, gamma=10.0)), 4)  # 4 log 2 + 10 * 2
        22.7726
    """
    objective = AnnealedVAE(gamma=gamma, capacity=capacity, upward=upward)
    return _loss(objective, x, logits, mean, logvar, mean if z is None else z, likelihood=likelihood)


def dip_vae_penalty(
    mean: Array,
    logvar: Array | None = None,
    *,
    kind: Literal["i", "ii"] = "i",
    off_diagonal: Weight = 10.0,
    diagonal: Weight | None = None,
) -> Float[Tensor, ""]:
    """Returns off_diagonal sum_{i != j} C_ij^2 + diagonal sum_i (C_ii - 1)^2. Kumar et al., arXiv:1711.00848v1, eq. 6.

    C is the covariance of the means over the batch ("i"), or that of the codes ("ii"), which adds the mean of
    exp(logvar) to the diagonal. Without `diagonal` it is 10 `off_diagonal` for "i" and `off_diagonal` for "ii". Add the
    penalty to `-elbo(...)`.

    Examples:
        >>> import torch
        >>> mean = torch.tensor([[1.0, 1.0], [-1.0, -1.0]])  # covariance 1 everywhere
        >>> float(dip_vae_penalty(mean, off_diagonal=2.0))
        4.0
    """
    if kind == "ii" and logvar is None:
        raise SpecError('dip_vae_penalty of kind "ii" reads the variance of q(z | x). Pass logvar.')
    mean = as_float(mean)
    posterior = DiagonalGaussian(mean, mean if logvar is None else as_float(logvar))
    covariance = covariance_of_means(posterior)
    if kind == "ii":
        covariance = covariance + expected_covariance(posterior)
    off_diagonal_part, diagonal_part = squared_distances_from_identity(covariance)
    weight_of_diagonal = off_diagonal * DIAGONAL_SHARE[kind] if diagonal is None else diagonal
    return off_diagonal * off_diagonal_part + weight_of_diagonal * diagonal_part


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
    """Returns minus the ELBO plus `dip_vae_penalty`. Kumar et al., arXiv:1711.00848v1, eq. 6.

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
    """Returns -log p(x | z) + (1 - alpha) KL(q(z | x) || p(z)) + (alpha + weight - 1) MMD^2(q(z), p(z)).

    Zhao et al., arXiv:1706.02262v3, section 3; `weight` is their lambda. `prior` are draws from p(z) (batch, latent).

    Examples:
        >>> import torch
        >>> x, zero = torch.ones(4, 1, 2, 2), torch.zeros(4, 3)
        >>> round(float(info_vae_loss(x, 0 * x, zero, zero, zero, prior=zero)), 4)  # equal draws: the MMD is 0
        2.7726
    """
    objective = InfoVAE(alpha=alpha, weight=weight, kernel=kernel, bandwidth=bandwidth, statistic=statistic)
    draws = {"prior": as_float(prior)}
    return _loss(objective, x, logits, mean, logvar, z, draws=draws, likelihood=likelihood)


def mmd(
    z: Array,
    prior: Array,
    *,
    kernel: Kernel = "rbf",
    bandwidth: Bandwidth = "dimension",
    statistic: Statistic = "biased",
) -> Float[Tensor, ""]:
    """Returns the squared maximum mean discrepancy of two samples, (batch, latent) each.

    MMD^2 = E k(z, z') - 2 E k(z, p) + E k(p, p'). Gretton et al., JMLR 13 (2012), eq. 3 (unbiased) and eq. 5 (biased).

    Examples:
        >>> import torch
        >>> float(mmd(torch.zeros(4, 2), torch.zeros(4, 2)))
        0.0
    """
    return squared_mmd(as_float(z), as_float(prior), kernel, bandwidth, statistic)


def factor_vae_loss(
    x: Array,
    logits: Array,
    mean: Array,
    logvar: Array,
    critic_logits: Array,
    *,
    gamma: Weight = 35.0,
    likelihood: Likelihood | None = None,
) -> Float[Tensor, ""]:
    """Returns minus the ELBO plus gamma TC, with TC = mean of critic_logits[:, 0] - critic_logits[:, 1].

    Kim & Mnih, arXiv:1802.05983v3, eq. 2. `critic_logits` (batch, 2) are those of the critic for z; the first belongs
    to codes from q(z). Step the encoder and decoder on this loss alone: the critic minimizes `factor_vae_critic_loss`.

    Examples:
        >>> import torch
        >>> x, zero = torch.ones(4, 1, 2, 2), torch.zeros(4, 3)
        >>> sure = torch.tensor([[1.0, 0.0]]).expand(4, 2)
        >>> round(float(factor_vae_loss(x, 0 * x, zero, zero, sure, gamma=10.0)), 4)  # 4 log 2 + 10
        12.7726
    """
    total_correlation = log_ratio(as_float(critic_logits)).mean()
    return gamma * total_correlation - elbo(x, logits, mean, logvar, likelihood=likelihood)


def factor_vae_critic_loss(joint: Array, permuted: Array) -> Float[Tensor, ""]:
    """Returns the cross-entropy of the critic between codes and permuted codes; log 2 is chance.

    Kim & Mnih, arXiv:1802.05983v3, algorithm 2. `joint` and `permuted` are its logits (batch, 2) for z and for
    `permute_latents(z_of_another_batch)`.

    Examples:
        >>> import torch
        >>> round(float(factor_vae_critic_loss(torch.zeros(4, 2), torch.zeros(4, 2))), 4)
        0.6931
    """
    return critic_loss(as_float(joint), as_float(permuted))


def permute_latents(
    z: Array, *, noise: Array | None = None, generator: torch.Generator | None = None
) -> Float[Tensor, "batch latent"]:
    """Returns each latent of the batch in a random order of its own. Kim & Mnih, arXiv:1802.05983v3, algorithm 1.

    The orders are those of `noise` (batch, latent), or of numbers drawn with `generator`.

    Examples:
        >>> import torch
        >>> z = torch.tensor([[1.0, 4.0], [2.0, 5.0], [3.0, 6.0]])
        >>> permute_latents(z, noise=torch.tensor([[0.0, 2.0], [1.0, 1.0], [2.0, 0.0]])).tolist()
        [[1.0, 6.0], [2.0, 5.0], [3.0, 4.0]]
    """
    z = as_float(z)
    if noise is None:
        noise = torch.rand(z.shape, generator=generator, device=z.device)  # noqa: TID251
    return permuted_codes(z, as_float(noise))


def aae_loss(
    x: Array,
    logits: Array,
    critic_logits: Array,
    *,
    weight: Weight = 10.0,
    likelihood: Likelihood | None = None,
) -> Float[Tensor, ""]:
    """Returns -log p(x | z) - weight log D(z), with the critic's logits (batch, 1) for z.

    Makhzani et al., arXiv:1511.05644v2, section 2. The critic minimizes `critic_cross_entropy` of its logits for draws
    from the prior and for z.

    Examples:
        >>> import torch
        >>> x = torch.ones(4, 1, 2, 2)
        >>> round(float(aae_loss(x, 0 * x, torch.zeros(4, 1), weight=1.0)), 4)  # 5 log 2
        3.4657
    """
    generator = adversary.generator_loss(as_float(critic_logits))
    return weight * generator - _log_likelihood(as_float(x), as_float(logits), likelihood).mean()


def critic_cross_entropy(real: Array, fake: Array) -> Float[Tensor, ""]:
    """Returns -log D(real) - log(1 - D(fake)) of logits (batch, 1), each averaged; 2 log 2 is chance.

    Goodfellow et al., arXiv:1406.2661v1, eq. 1: the loss of the critics of AAE and InfoGAN.

    Examples:
        >>> import torch
        >>> round(float(critic_cross_entropy(torch.zeros(4, 1), torch.zeros(4, 1))), 4)
        1.3863
    """
    return adversary.critic_loss(as_float(real), as_float(fake))


def info_gan_loss(
    critic_logits: Array, code: Array, mean: Array, logvar: Array, *, weight: Weight = 1.0
) -> Float[Tensor, ""]:
    """Returns -log D(G(c)) - weight E[log Q(c | G(c)) - log p(c)]. Chen et al., arXiv:1606.03657v1, eq. 6.

    `critic_logits` (batch, 1) belong to generated images, `code` (batch, latent) is drawn from N(0, I), and `mean`,
    `logvar` are those of Q for the generated images.

    Examples:
        >>> import torch
        >>> zero = torch.zeros(4, 2)
        >>> round(float(info_gan_loss(torch.zeros(4, 1), zero, zero, zero)), 4)  # Q is the prior: log 2
        0.6931
    """
    code = as_float(code)
    information = DiagonalGaussian(as_float(mean), as_float(logvar)).log_prob(code) - StandardNormal().log_prob(code)
    return adversary.generator_loss(as_float(critic_logits)) - weight * information.sum(dim=1).mean()


def concrete_kl(logits: Array, prior: Array | None = None) -> Float[Tensor, " batch"]:
    """Returns KL(q(c | x) || p(c)) = sum_c q_c (log q_c - log p_c) of a discrete latent, image by image, in nats.

    `logits` (batch, category) are those of q(c | x), and `prior` are probabilities; by default all are equal. It is the
    KL of the category, not of the relaxed draw (Maddison et al., arXiv:1611.00712v3, appendix C).

    Examples:
        >>> import torch
        >>> [round(kl, 4) for kl in concrete_kl(torch.tensor([[0.0, 0.0], [50.0, 0.0]])).tolist()]
        [0.0, 0.6931]
    """
    log_q = log_softmax(as_float(logits), dim=1)
    log_p = -torch.tensor(float(log_q.shape[1])).log() if prior is None else as_float(prior).log()
    return (log_q.exp() * (log_q - log_p)).sum(dim=1)


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
    """Returns the loss of an objective on these tensors."""
    x, logits, mean, logvar, z = map(as_float, (x, logits, mean, logvar, z))
    if x.shape != logits.shape or not mean.shape == logvar.shape == z.shape or len(x) != len(z) or z.ndim != 2:
        raise SpecError(
            f"x and logits have shapes {tuple(x.shape)} and {tuple(logits.shape)}; mean, logvar and z "
            f"{tuple(mean.shape)}, {tuple(logvar.shape)} and {tuple(z.shape)}. Expected two equal shapes (batch, ...), "
            "and three equal shapes (batch, latent)."
        )
    step = Step(
        x=x.reshape(len(x), 1, 1, -1),
        posterior=DiagonalGaussian(mean, logvar),
        z=z,
        log_likelihood=_log_likelihood(x, logits, likelihood),
        prior=StandardNormal(),
        dataset_size=len(x) if dataset_size is None else dataset_size,
        progress=torch.ones((), dtype=x.dtype, device=x.device),
        draws=draws or {},
        is_logged=False,
    )
    return objective(step).total


def _log_likelihood(x: Tensor, logits: Tensor, likelihood: Likelihood | None) -> Float[Tensor, " batch"]:
    rows = (len(x), 1, 1, -1)
    return (likelihood or BernoulliLikelihood()).log_prob(x.reshape(rows), logits.reshape(rows))
