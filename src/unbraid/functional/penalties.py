"""Penalties of codes, as plain functions of tensors. Shapes and units are as in `losses`."""

from typing import Literal

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn.functional import log_softmax

from unbraid.config.annotations import check_value
from unbraid.errors import SpecError
from unbraid.functional.losses import Array, Weight, as_float
from unbraid.models.distributions.posteriors.gaussian import DiagonalGaussian
from unbraid.objectives.dip_vae import DIAGONAL_SHARE
from unbraid.objectives.terms.covariance import covariance_of_batch, squared_distances_from_identity
from unbraid.objectives.terms.mmd import Bandwidth, Kernel, Statistic, squared_mmd


def dip_vae_penalty(
    mean: Array,
    logvar: Array | None = None,
    *,
    kind: Literal["i", "ii"] = "i",
    off_diagonal: Weight = 10.0,
    diagonal: Weight | None = None,
) -> Float[Tensor, ""]:
    """Returns off_diagonal sum_{i != j} C_ij^2 + diagonal sum_i (C_ii - 1)^2. Kumar et al., arXiv:1711.00848v1, eq. 6.

    For `kind` "i", C is the covariance of the means over the batch. For "ii", C is the covariance of the codes: the
    mean of exp(logvar) is added to the diagonal. `diagonal` defaults to 10 `off_diagonal` for "i" and to `off_diagonal`
    for "ii". The DIP-VAE loss is `-elbo(...)` plus this penalty.

    Examples:
        >>> import torch
        >>> mean = torch.tensor([[1.0, 1.0], [-1.0, -1.0]])  # covariance 1 everywhere
        >>> float(dip_vae_penalty(mean, off_diagonal=2.0))
        4.0
    """
    if kind == "ii" and logvar is None:
        raise SpecError('Expected `logvar` to be an array for kind="ii", got None. Pass logvar, or kind="i".')
    mean = as_float(mean)
    posterior = DiagonalGaussian(mean, mean if logvar is None else as_float(logvar))
    off_diagonal_part, diagonal_part = squared_distances_from_identity(covariance_of_batch(posterior, kind))
    weight_of_diagonal = off_diagonal * DIAGONAL_SHARE[kind] if diagonal is None else diagonal
    return off_diagonal * off_diagonal_part + weight_of_diagonal * diagonal_part


def mmd(
    z: Array,
    prior: Array,
    *,
    kernel: Kernel = "rbf",
    bandwidth: Bandwidth = "dimension",
    statistic: Statistic = "biased",
) -> Float[Tensor, ""]:
    """Returns the squared maximum mean discrepancy between codes and draws from the prior, both (batch, latent).

    MMD^2 = E k(z, z') - 2 E k(z, p) + E k(p, p'). Gretton et al., JMLR 13 (2012), eq. 3 (unbiased) and eq. 5 (biased).

    Examples:
        >>> import torch
        >>> float(mmd(torch.zeros(4, 2), torch.zeros(4, 2)))
        0.0
    """
    check_value(kernel, Kernel, "kernel")
    check_value(bandwidth, Bandwidth, "bandwidth")
    check_value(statistic, Statistic, "statistic")
    return squared_mmd(as_float(z), as_float(prior), kernel, bandwidth, statistic)


def concrete_kl(logits: Array, prior: Array | None = None) -> Float[Tensor, " batch"]:
    """Returns the KL of a discrete latent for each image, sum_c q_c (log q_c - log p_c), in nats.

    `logits` (batch, category) define q(c | x). `prior` holds the probabilities p(c); the default is uniform. The
    categorical distributions are compared, not the relaxed ones (Maddison et al., arXiv:1611.00712v3, appendix C).

    Examples:
        >>> import torch
        >>> [round(kl, 4) for kl in concrete_kl(torch.tensor([[0.0, 0.0], [50.0, 0.0]])).tolist()]
        [0.0, 0.6931]
    """
    log_q = log_softmax(as_float(logits), dim=1)
    log_p = -torch.tensor(float(log_q.shape[1])).log() if prior is None else as_float(prior).log()
    return (log_q.exp() * (log_q - log_p)).sum(dim=1)
