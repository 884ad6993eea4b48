"""Estimators of the aggregate posterior q(z) = sum_n p(n) q(z | n) from a minibatch.

A batch n_1..n_B has codes z_i ~ q(z | n_i) and densities P_ij = q(z_i | n_j). All estimators have the form q^(z_i) =
sum_j W_ij P_ij, with the same W for all latents together, each group and each latent. They differ only in W, which
`log_weights` computes.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Literal, assert_never, final

import torch
from jaxtyping import Float
from torch import Tensor

from unbraid._internal.arrays import columns
from unbraid._internal.device import wide_device
from unbraid.config.annotations import check_value
from unbraid.errors import SpecError

Estimator = Literal["naive", "mws", "mss", "stratified_pairs"]
"""Estimator of q(z) from a batch; see `log_weights`."""


@final
@dataclass(frozen=True)
class Decomposition:
    """The four terms of log q(z|n) - log p(z) for each sample (Esmaeili et al., arXiv:1804.02086v1, fig. 4).

    With groups d of latents e and r = q / p, the terms are [log q(z|n) - log q(z)] + [log r(z) - sum_d log r(z_d)] +
    [sum_d log r(z_d) - sum_de log r(z_de)] + [sum_de log r(z_de)]. Their means over a batch estimate the index-code
    mutual information, the total correlation between groups, the total correlation within groups, and the
    dimension-wise KL. The total correlation of the prior is subtracted. If every latent is a group and the prior is a
    product, the terms equal Chen et al., arXiv:1802.04942v5, eq. 2, and the term within groups is 0. The sum
    does not depend on the estimator. Estimates may be negative.
    """

    mutual_information: Float[Tensor, " sample"]
    total_correlation: Float[Tensor, " sample"]
    total_correlation_within: Float[Tensor, " sample"]
    dimension_wise_kl: Float[Tensor, " sample"]


@final
@dataclass(frozen=True)
class JointDensities:
    """Joint log-densities of several latents, for posteriors or priors that are not factorized."""

    own: Float[Tensor, " sample"]
    pairwise: Float[Tensor, "sample batch"]
    pairwise_groups: Float[Tensor, "sample batch group"]
    prior: Float[Tensor, " sample"]
    prior_groups: Float[Tensor, "sample group"]


def log_weights(
    estimator: Estimator,
    batch_size: int,
    dataset_size: int,
    weights: Float[Tensor, " batch"] | None = None,
    *,
    dtype: torch.dtype | None = None,
    device: torch.device | str | None = None,
) -> Float[Tensor, "sample batch"]:
    """Returns the log-weights log W of the estimate q^(z_i) = sum_j W_ij q(z_i | n_j).

    For B codes, N images and M = B - 1:

    ================ ============ ================================= ======= ============================================
    estimator        diagonal     off the diagonal                  row sum source
    ================ ============ ================================= ======= ============================================
    naive            1 / B        1 / B                             1       the mixture of the batch
    mws              1 / (N B)    1 / (N B)                         1 / N   Chen et al., arXiv:1802.04942v5, eq. 3
    mss              1 / N        1 / M; (N-M) / (N M) right of the 1       Chen et al.'s code, with a fixed diagonal
                                  diagonal, at column (i+1) mod B
    stratified_pairs 1 / N        (N-1) / (N M)                     1       Esmaeili et al., arXiv:1804.02086v1, eq. 13
    ================ ============ ================================= ======= ============================================

    `weights` is p(n_i) of the batch, for batches drawn from p. Row i of mws is then p(n_i) / B, and row i of
    stratified_pairs is p(n_i) on the diagonal and (1 - p(n_i)) / M off the diagonal. naive does not change, and mss is
    not defined. Values of tensors are not checked, so `weights` may be a tensor under `vmap`.
    """
    _check_config(estimator, batch_size, dataset_size, is_weighted=weights is not None)
    if weights is not None and weights.shape != (batch_size,):
        raise SpecError(f"weights has shape {tuple(weights.shape)}; expected ({batch_size},). Pass one per image.")
    if weights is None:
        dtype = dtype or torch.get_default_dtype()
        # float64, because float32 would round 1 / N before the logarithm.
        place = None if device is None else wide_device(torch.device(device))
        weights = torch.full((batch_size,), 1 / dataset_size, dtype=torch.float64, device=place)
    own = torch.eye(batch_size, dtype=torch.bool, device=weights.device)
    log_own, log_others = _log_own_and_others(estimator, weights)
    log_table = torch.where(own, log_own[:, None], log_others[:, None])
    if estimator == "mss":
        stratified = math.log(dataset_size - batch_size + 1) - math.log(dataset_size) - math.log(batch_size - 1)
        log_table = torch.where(own.roll(1, dims=1), stratified, log_table)
    return log_table.to(dtype=dtype, device=device)


def log_aggregate(
    pairwise_log_prob: Float[Tensor, "sample batch latent"],
    log_weights: Float[Tensor, "sample batch"],
    groups: Sequence[Sequence[int]] | None = None,
) -> Float[Tensor, "sample group"]:
    """Returns log q^(z_g) of each code and group g of latents, the weighted mixture of the batch's posteriors, in nats.

    Without `groups`, every latent is a group.
    """
    if groups is None:
        grouped = pairwise_log_prob
    else:
        _check_groups(groups, pairwise_log_prob.shape[2])
        grouped = _sums_over_groups(pairwise_log_prob, groups)
    # The weight is added once, after the sum over the latents of a group. Inside the sum it would be raised to the
    # power of the group size.
    return torch.logsumexp(grouped + log_weights[:, :, None], dim=1)


def product_densities(
    log_posterior: Float[Tensor, "sample latent"],
    pairwise_log_prob: Float[Tensor, "sample batch latent"],
    log_prior: Float[Tensor, "sample latent"],
    groups: Sequence[Sequence[int]] | None = None,
) -> JointDensities:
    """Computes the joint densities of independent latents. Without `groups`, every latent is a group."""
    pairwise_groups, prior_groups = pairwise_log_prob, log_prior
    if groups is not None:
        _check_groups(groups, pairwise_log_prob.shape[2])
        pairwise_groups = _sums_over_groups(pairwise_log_prob, groups)
        prior_groups = _sums_over_groups(log_prior, groups)
    return JointDensities(
        log_posterior.sum(dim=1), pairwise_log_prob.sum(dim=2), pairwise_groups, log_prior.sum(dim=1), prior_groups
    )


def decompose(
    log_posterior: Float[Tensor, "sample latent"],
    pairwise_log_prob: Float[Tensor, "sample batch latent"],
    log_weights: Float[Tensor, "sample batch"],
    log_prior: Float[Tensor, "sample latent"],
    groups: Sequence[Sequence[int]] | None = None,
    joint: JointDensities | None = None,
    summed: Mapping[int, Float[Tensor, "batch _category"]] | None = None,
) -> Decomposition:
    """Decomposes log q(z|n) - log p(z) of each code into its terms, in nats, without averaging over the batch.

    Without `groups`, every latent is a group. `joint` contains joint densities that are not products. `summed` maps
    indices of discrete latents to log q(c|n). For these latents, the terms are exact means over the categories, given
    the other latents. Their columns of `log_posterior` and `log_prior` must then contain the mean log q(c|n) and
    log p(c), and their columns of `pairwise_log_prob` 0.
    """
    joint = joint or product_densities(log_posterior, pairwise_log_prob, log_prior, groups)
    each, summed = [(latent,) for latent in range(log_prior.shape[1])], summed or {}
    log_q = log_mixture(joint.pairwise + log_weights, combined_log_pmf(summed, range(len(each))))
    by_group = by_latent = (_log_mixtures(pairwise_log_prob, log_weights, each, summed) - log_prior).sum(dim=1)
    if joint.pairwise_groups is not pairwise_log_prob:
        log_q_of_groups = _log_mixtures(joint.pairwise_groups, log_weights, groups or each, summed)
        by_group = (log_q_of_groups - joint.prior_groups).sum(dim=1)
    return _parts(joint.own, log_q, joint.prior, by_group, by_latent)


def log_mixture(
    weighted: Float[Tensor, "sample batch"], log_pmf: Float[Tensor, "sample category"] | None = None
) -> Float[Tensor, " sample"]:
    """Returns log sum_j exp(weighted_ij), in nats.

    With `log_pmf`, log q(c|n_j) of a discrete latent, the result is the exact mean over its categories,
    sum_c q(c|n_i) log sum_j exp(weighted_ij) q(c|n_j). The mean takes one matrix product. Code i must be a draw from
    q(z | n_i).
    """
    if log_pmf is None:
        return torch.logsumexp(weighted, dim=1)
    top, pmf = weighted.amax(dim=1, keepdim=True).detach(), log_pmf.exp()
    # Sums that underflow are multiplied by q(c|n_i) of the same order.
    mixed = ((weighted - top).exp() @ pmf).clamp_min(torch.finfo(pmf.dtype).tiny)
    return (pmf * (mixed.log() + top)).sum(dim=1)


def combined_log_pmf(
    summed: Mapping[int, Float[Tensor, "batch _category"]], latents: Sequence[int]
) -> Float[Tensor, "batch combination"] | None:
    """Returns log q(c|n) of all combinations of categories of the latents, or None if no latent is summed.

    The latents must be independent given the image.
    """
    tables = [summed[latent] for latent in latents if latent in summed]
    if not tables:
        return None
    return reduce(lambda one, other: (one[:, :, None] + other[:, None, :]).flatten(1), tables)


def _log_mixtures(
    pairwise: Float[Tensor, "sample batch group"],
    log_weights: Float[Tensor, "sample batch"],
    groups: Sequence[Sequence[int]],
    summed: Mapping[int, Float[Tensor, "batch _category"]],
) -> Float[Tensor, "sample group"]:
    """Returns log q^ of each group, averaged over the categories of summed latents."""
    drawn = log_aggregate(pairwise, log_weights)
    if not summed:
        return drawn
    columns = list(drawn.unbind(dim=1))
    for place, group in enumerate(groups):
        log_pmf = combined_log_pmf(summed, group)
        if log_pmf is not None:
            columns[place] = log_mixture(pairwise[:, :, place] + log_weights, log_pmf)
    return torch.stack(columns, dim=1)


def decompose_aggregates(
    log_posterior: Float[Tensor, "sample latent"],
    log_q: Float[Tensor, " sample"],
    log_q_of_latents: Float[Tensor, "sample latent"],
    log_prior: Float[Tensor, "sample latent"],
) -> Decomposition:
    """Computes the decomposition for independent latents without groups from log q^(z) and log q^(z_j)."""
    by_latent = (log_q_of_latents - log_prior).sum(dim=1)
    return _parts(log_posterior.sum(dim=1), log_q, log_prior.sum(dim=1), by_latent, by_latent)


def _parts(
    own: Float[Tensor, " sample"],
    log_q: Float[Tensor, " sample"],
    log_prior: Float[Tensor, " sample"],
    by_group: Float[Tensor, " sample"],
    by_latent: Float[Tensor, " sample"],
) -> Decomposition:
    """Computes the terms from the joint log-densities and the sums of log r over groups and latents."""
    return Decomposition(
        mutual_information=own - log_q,
        # log_prior - sum of the priors of groups is subtracted, so that correlations of the prior do not count.
        total_correlation=log_q - log_prior - by_group,
        total_correlation_within=by_group - by_latent,
        dimension_wise_kl=by_latent,
    )


def _sums_over_groups(
    table: Float[Tensor, "*rows latent"], groups: Sequence[Sequence[int]]
) -> Float[Tensor, "*rows group"]:
    return torch.stack([columns(table, group).sum(dim=-1) for group in groups], dim=-1)


def _log_own_and_others(
    estimator: Estimator, weights: Float[Tensor, " batch"]
) -> tuple[Float[Tensor, " batch"], Float[Tensor, " batch"]]:
    """Returns log W on and off the diagonal of each row, given p(n_i)."""
    log_b, log_m = torch.full_like(weights, len(weights)).log(), torch.full_like(weights, len(weights) - 1).log()
    match estimator:
        case "naive":
            return -log_b, -log_b
        case "mws":
            return weights.log() - log_b, weights.log() - log_b
        case "mss":
            return weights.log(), -log_m
        case "stratified_pairs":
            return weights.log(), torch.log1p(-weights) - log_m
        case _:
            assert_never(estimator)


def _check_config(estimator: Estimator, batch_size: int, dataset_size: int, *, is_weighted: bool) -> None:
    check_value(estimator, Estimator, "estimator")
    if batch_size < 2:
        raise SpecError(
            f"The batch has {batch_size} image; expected at least 2 for the estimator {estimator!r}. Use a larger "
            "batch_size."
        )
    if batch_size > dataset_size:
        raise SpecError(
            f"batch_size is {batch_size}; expected at most {dataset_size}, the number of images. Use a smaller "
            "batch_size."
        )
    if is_weighted and estimator == "mss":
        raise SpecError(
            "The estimator is 'mss'; expected 'stratified_pairs' or 'mws' for weighted images. Use "
            "'stratified_pairs', the symmetric form of 'mss'."
        )


def _check_groups(groups: Sequence[Sequence[int]], num_latents: int) -> None:
    for group in groups:
        if len(group) == 0 or not all(0 <= latent < num_latents for latent in group):
            raise SpecError(
                f"groups contains {tuple(group)}; expected non-empty groups of existing latents. Pass indices from 0 "
                f"to {num_latents - 1}."
            )
