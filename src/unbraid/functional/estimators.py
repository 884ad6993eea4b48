"""Estimators of q(z) and of information, as plain functions of tensors. All results are in nats."""

from collections.abc import Sequence

from jaxtyping import Float
from torch import Tensor

from unbraid.functional.losses import Array, as_float
from unbraid.information.aggregate import Decomposition, Estimator, decompose, log_aggregate, log_weights
from unbraid.models.distributions.posteriors.gaussian import DiagonalGaussian
from unbraid.models.distributions.priors.prior import StandardNormalPrior

Groups = Sequence[Sequence[int]]


def aggregate_log_prob(
    z: Array,
    mean: Array,
    logvar: Array,
    *,
    dataset_size: int,
    estimator: Estimator = "stratified_pairs",
    groups: Groups | None = None,
) -> Float[Tensor, "batch group"]:
    """Returns log q(z_g) of each code and group of latents, with q(z) = 1/N sum_n q(z | x_n) estimated from the batch.

    `z`, `mean` and `logvar` are (batch, latent), with z_i drawn from q(z | x_i). `estimator` is "mws", minibatch-
    weighted sampling (Chen et al., arXiv:1802.04942v5, eq. 3), "mss", minibatch-stratified sampling (their appendix C),
    "stratified_pairs", its symmetric form (Esmaeili et al., arXiv:1804.02086v1, eq. 13), or "naive", the mixture of
    the batch only. `groups` are lists of latent indices; by default each latent is a group.

    Examples:
        >>> import torch
        >>> zero = torch.zeros(4, 2)  # all posteriors are equal, so q(z) equals each of them
        >>> aggregate_log_prob(zero, zero, zero, dataset_size=100)[0].tolist()
        [-0.918938..., -0.918938...]
    """
    z = as_float(z)
    pairwise = DiagonalGaussian(as_float(mean), as_float(logvar)).pairwise_log_prob(z)
    return log_aggregate(pairwise, _table(estimator, z, dataset_size), groups)


def total_correlation(
    z: Array,
    mean: Array,
    logvar: Array,
    *,
    dataset_size: int,
    estimator: Estimator = "stratified_pairs",
    groups: Groups | None = None,
) -> Float[Tensor, ""]:
    """Returns the total correlation E[log q(z) - sum_g log q(z_g)], estimated as in `aggregate_log_prob`.

    With "mws", the estimate is shifted by the constant (L - 1) log N nats for L latents and N images.

    Examples:
        >>> import torch
        >>> zero = torch.zeros(4, 2)
        >>> abs(round(float(total_correlation(zero, zero, zero, dataset_size=100)), 5))
        0.0
    """
    return _parts(z, mean, logvar, dataset_size, estimator, groups).total_correlation.mean()


def index_code_mutual_information(
    z: Array, mean: Array, logvar: Array, *, dataset_size: int, estimator: Estimator = "stratified_pairs"
) -> Float[Tensor, ""]:
    """Returns the mutual information I(x; z) = E[log q(z | x) - log q(z)], estimated as in `aggregate_log_prob`.

    Examples:
        >>> import torch
        >>> zero = torch.zeros(4, 2)
        >>> abs(round(float(index_code_mutual_information(zero, zero, zero, dataset_size=100)), 5))
        0.0
    """
    return _parts(z, mean, logvar, dataset_size, estimator, None).mutual_information.mean()


def _parts(
    z: Array, mean: Array, logvar: Array, dataset_size: int, estimator: Estimator, groups: Groups | None
) -> Decomposition:
    z, posterior = as_float(z), DiagonalGaussian(as_float(mean), as_float(logvar))
    own, pairwise, prior = posterior.log_prob(z), posterior.pairwise_log_prob(z), StandardNormalPrior().log_prob(z)
    # The prior is factorized, so it does not change the total correlation.
    return decompose(own, pairwise, _table(estimator, z, dataset_size), prior, groups)


def _table(estimator: Estimator, z: Tensor, dataset_size: int) -> Float[Tensor, "sample batch"]:
    return log_weights(estimator, len(z), dataset_size, dtype=z.dtype, device=z.device)
