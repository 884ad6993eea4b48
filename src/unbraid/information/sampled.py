"""Densities of the aggregate posterior at draws from it: the mixture of all images, never a part of them.

For each draw z_s the sums over images of q(z_i | x_n), of q(z | x_n) and of q(z_not_i | x_n) come out of one pass over
all pairs of a draw and an image. Pairs are taken in blocks that stay in the cache; only sums leave a block, and they
are kept in float64.

A term of a joint density is computed relative to the density of the image that the draw came from, in powers of two
(which are the fastest). So each sum is at least that image's weight: what underflows is negligible, and what overflows
is noticed and done again in plain log space. With more than `MAX_FLOAT64_TERMS` terms they are float32, which moves an
entropy by less than 1e-5 nats.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

import torch
from jaxtyping import Float64, Int64
from torch import Tensor

from unbraid._internal.progress import Event, emit
from unbraid.information.posteriors import Draws, Posteriors

# Above this many terms (draws times images times latents), they are float32.
MAX_FLOAT64_TERMS = 200_000_000

_LOG_2 = math.log(2)
_HALF_LOG_TWO_PI = 0.5 * math.log(2 * math.pi)
# A block's terms: 5 MB in float32, which the cache of a processor holds; a GPU wants many at once.
_BLOCK_TERMS = {"cpu": 1_300_000, "cuda": 40_000_000}
_IMAGES_PER_BLOCK = {"cpu": 4096, "cuda": 65_536}
# Powers of two are cut off below: a single density, and a joint one relative to the draw's own. Dividing the second by
# the first then stays within the numbers of the type, and what N cut-off terms add is below 1e-7.
_CUT = {torch.float32: (-70.0, -115.0), torch.float64: (-450.0, -950.0)}

# The plain way is slower and takes smaller blocks: 10 MB for ten latents.
_DRAWS_IN_LOG_SPACE = 32
_IMAGES_IN_LOG_SPACE = 2048


@final
@dataclass(frozen=True)
class LogDensities:
    """Holds log q at each draw, in nats: of the mixture of all images, and of the draw's own image.

    `each` is of a latent alone, `joint` of all, `without` of all but one, `groups` of given groups. A discrete latent
    counts by its probability.
    """

    each: Float64[Tensor, "draw latent"]
    joint: Float64[Tensor, " draw"]
    without: Float64[Tensor, "draw latent"]
    groups: Float64[Tensor, "draw group"]
    each_given_image: Float64[Tensor, "draw latent"]
    joint_given_image: Float64[Tensor, " draw"]
    without_given_image: Float64[Tensor, "draw latent"]
    groups_given_image: Float64[Tensor, "draw group"]


def log_densities(
    posteriors: Posteriors,
    draws: Draws,
    groups: Sequence[Sequence[int]] = (),
    dtype: torch.dtype | None = None,
    factor_floor: float | None = None,
) -> LogDensities:
    """Returns log q(z_i), log q(z), log q(z_not_i) and log q(z_group) at each draw.

    Do & Tran, arXiv:1908.09961v4, appendix A.10, without the floors of their code: a density below 1e-8 counts. With a
    `factor_floor` no factor of a product of uncorrelated Gaussians is less than this (see `floored_log_densities`).
    """
    num_terms = len(draws) * len(posteriors.weights) * posteriors.num_latents
    dtype = dtype or (torch.float64 if num_terms <= MAX_FLOAT64_TERMS else torch.float32)
    own = _log_terms(posteriors, draws, draws.image[:, None], groups, factor_floor)[:, :, 0]
    if posteriors.covariance is None:
        logs = _by_ratios(posteriors, draws, groups, own, dtype, factor_floor)
    else:
        logs = torch.full_like(own, math.nan)
    lost = (~logs.isfinite()).any(dim=0).nonzero()[:, 0]
    for place, draw in enumerate(lost.split(_DRAWS_IN_LOG_SPACE) if len(lost) > 0 else ()):
        logs[:, draw] = _in_log_space(posteriors, draws.rows(draw), groups, factor_floor)
        emit(Event("far draws", min(len(lost), (place + 1) * _DRAWS_IN_LOG_SPACE), len(lost), "draws"))
    return LogDensities(*_streams(logs, posteriors.num_latents), *_streams(own, posteriors.num_latents))


def _streams(logs: Float64[Tensor, "stream draw"], num_latents: int) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Returns each latent, all, all but each, groups: the order in which they are stacked."""
    each, joint, without, groups = logs.split([num_latents, 1, num_latents, len(logs) - 2 * num_latents - 1])
    return each.T, joint[0], without.T, groups.T


def _by_ratios(
    posteriors: Posteriors,
    draws: Draws,
    groups: Sequence[Sequence[int]],
    own: Float64[Tensor, "stream draw"],
    dtype: torch.dtype,
    factor_floor: float | None,
) -> Float64[Tensor, "stream draw"]:
    """Returns log of the mixtures, from sums of terms that are relative to the draw's own: NaN or infinite where a term
    overflowed.
    """
    num_latents, num_draws = posteriors.num_latents, len(draws)
    pairs = _Pairs.of(posteriors, draws, dtype)
    constant = _HALF_LOG_TWO_PI * own.new_tensor(pairs.is_gaussian)
    # Relative to the own density: the joint and the groups. The single densities are as they are. All of them without
    # the Gaussian's constants.
    constants = torch.stack([constant.sum(), *(constant[list(group)].sum() for group in groups)])
    base = (own[[num_latents, *range(2 * num_latents + 1, len(own))]] + constants[:, None]) / _LOG_2
    # In powers of two, and as the powers are, without the Gaussian's constant.
    floor = None if factor_floor is None else (math.log(factor_floor) + _HALF_LOG_TWO_PI) / _LOG_2
    sums = own.new_zeros(own.shape)
    draws_per_block = max(1, min(_BLOCK_TERMS[_kind(own)] // (num_latents * pairs.images_per_block), num_draws))
    for begin in range(0, num_draws, draws_per_block):
        rows = slice(begin, begin + draws_per_block)
        for block in range(pairs.num_blocks):
            powers, weights = pairs.powers(rows, block), pairs.weights(block)
            _add_terms(sums[:, rows], powers, weights, base[:, rows].to(dtype), groups, floor)
        emit(Event("sampled densities", min(num_draws, begin + draws_per_block), num_draws, "draws"))
    scale = torch.zeros_like(own)
    scale[:num_latents] = -constant[:, None]
    scale[num_latents] = own[num_latents]
    # All but i = all / i, and the divisor was without its constant.
    scale[num_latents + 1 : 2 * num_latents + 1] = own[num_latents] + constant[:, None]
    scale[2 * num_latents + 1 :] = own[2 * num_latents + 1 :]
    return sums.log() + scale


def _add_terms(
    sums: Float64[Tensor, "stream draw"],
    powers: Tensor,
    weights: Tensor | float,
    base: Tensor,
    groups: Sequence[Sequence[int]],
    floor: float | None,
) -> None:
    """Adds a block of images to the sums, in place. `powers` (latent, draw, image) are exponents of two, and are
    overwritten. In products they are at least the floor.
    """
    num_latents = len(powers)
    _, joint_cut = _CUT[powers.dtype]
    factors = powers if floor is None else powers.clamp(min=floor)

    def ratio(members: Tensor, row: int) -> Tensor:
        return members.sum(dim=0).sub_(base[row, :, None]).clamp_(min=joint_cut).exp2_()

    joint = ratio(factors, 0)
    for number, group in enumerate(groups):
        sums[2 * num_latents + 1 + number] += _weighted_sum(ratio(factors[list(group)], 1 + number), weights)
    densities = powers.exp2_()
    sums[:num_latents] += _weighted_sum(densities, weights)
    if floor is not None:
        densities.clamp_(min=2.0**floor)
    sums[num_latents] += _weighted_sum(joint, weights)
    sums[num_latents + 1 : 2 * num_latents + 1] += _weighted_sum(torch.div(joint, densities, out=densities), weights)


def _weighted_sum(terms: Tensor, weights: Tensor | float) -> Float64[Tensor, "*axes"]:
    """Sums over the last axis. Equally likely images share one weight: a plain sum takes a third of the time."""
    return terms.sum(dim=-1).double() * weights if isinstance(weights, float) else (terms @ weights).double()


@final
@dataclass(frozen=True)
class _Pairs:
    """Computes log2 of q(z_i | x_n) without Gaussian constants, for pairs of a draw and an image, a block of images at
    a time.
    """

    z: Tensor  # latent, draw, 1
    categories: Int64[Tensor, "draw discrete_latent"]
    blocks: tuple[tuple[Tensor, Tensor, Tensor], ...]  # mean, scale and log2 of the peak: latent, 1, image
    tables: tuple[tuple[Tensor, ...], ...]  # log2 probability: category, image
    block_weights: tuple[Tensor | float, ...]
    buffer: list[Tensor]

    @classmethod
    def of(cls, posteriors: Posteriors, draws: Draws, dtype: torch.dtype) -> "_Pairs":
        size = _IMAGES_PER_BLOCK[_kind(posteriors.mean)]
        is_uniform = bool((posteriors.weights == posteriors.weights[0]).all())
        # Around the middle of each latent, so that float32 keeps the digits of deviations, wherever the codes lie.
        middle = (posteriors.mean.double().amin(dim=0) + posteriors.mean.double().amax(dim=0)) / 2
        blocks, tables, weights = [], [], []
        for begin in range(0, len(posteriors.mean), size):
            rows = slice(begin, begin + size)
            std = posteriors.std[rows].double().T[:, None].contiguous()
            mean = (posteriors.mean[rows].double() - middle).to(dtype).T[:, None].contiguous()
            # exp(-d^2 / 2) = 2^-(d sqrt(log2(e) / 2))^2
            blocks.append((mean, (math.sqrt(0.5 / _LOG_2) / std).to(dtype), -std.log2().to(dtype)))
            tables.append(tuple(p[rows].double().log2().to(dtype).T.contiguous() for p in posteriors.probabilities))
            weights.append(float(posteriors.weights[0]) if is_uniform else posteriors.weights[rows].to(dtype))
        z = (draws.z.double() - middle).to(dtype).T[:, :, None].contiguous()
        return cls(z, draws.categories, tuple(blocks), tuple(tables), tuple(weights), [z.new_empty(0)])

    @property
    def num_blocks(self) -> int:
        return len(self.blocks)

    @property
    def images_per_block(self) -> int:
        return self.blocks[0][0].shape[2]

    @property
    def is_gaussian(self) -> list[float]:
        return [1.0] * len(self.z) + [0.0] * self.categories.shape[1]

    def weights(self, block: int) -> Tensor | float:
        return self.block_weights[block]

    def powers(self, rows: slice, block: int) -> Tensor:
        """Returns the powers (latent, draw, image), in the same memory each time."""
        z, (mean, scale, peak) = self.z[:, rows], self.blocks[block]
        shape = (len(z) + len(self.tables[block]), z.shape[1], mean.shape[2])
        if self.buffer[0].shape != shape:
            self.buffer[0] = z.new_empty(shape)
        powers = self.buffer[0]
        gaussian = powers[: len(z)]
        torch.sub(z, mean, out=gaussian)
        gaussian.mul_(scale)
        torch.addcmul(peak, gaussian, gaussian, value=-1, out=gaussian)
        for place, table in enumerate(self.tables[block]):
            powers[len(z) + place] = table[self.categories[rows, place]]
        return powers.clamp_(min=_CUT[powers.dtype][0])


def _in_log_space(
    posteriors: Posteriors, draws: Draws, groups: Sequence[Sequence[int]], factor_floor: float | None
) -> Float64[Tensor, "stream draw"]:
    """Returns the same as `_by_ratios` without shortcuts: logarithms of terms, added up by logaddexp."""
    log_weights = posteriors.weights.log()
    total: Tensor | None = None
    for image in torch.arange(len(log_weights), device=draws.image.device).split(_IMAGES_IN_LOG_SPACE):
        terms = _log_terms(posteriors, draws, image[None], groups, factor_floor) + log_weights[image]
        terms = terms.logsumexp(dim=2)
        total = terms if total is None else torch.logaddexp(total, terms)
    assert total is not None
    return total


def _log_terms(
    posteriors: Posteriors,
    draws: Draws,
    image: Int64[Tensor, "_draw image"],
    groups: Sequence[Sequence[int]],
    factor_floor: float | None,
) -> Float64[Tensor, "stream draw image"]:
    """Returns log q(. | x_n) of every stream, for each draw and the images of its row (or of the one row, for all
    draws).
    """
    deviation = draws.z.double()[:, None] - posteriors.mean[image].double()
    std = posteriors.std[image].double()
    gaussian = -0.5 * (deviation / std).square() - std.log() - _HALF_LOG_TWO_PI
    discrete = [_log_category(p, image, draws.categories[:, k]) for k, p in enumerate(posteriors.probabilities)]
    each = torch.cat([gaussian, *(d[:, :, None] for d in discrete)], dim=2)
    factors = each if factor_floor is None else each.clamp(min=math.log(factor_floor))
    joint = factors.sum(dim=2)
    given_others = factors
    if posteriors.covariance is not None:
        pull = torch.einsum("dnij,dnj->dni", posteriors.precision[image].expand(len(deviation), -1, -1, -1), deviation)
        shared = joint - gaussian.sum(dim=2)
        joint = (
            shared
            - 0.5 * (deviation * pull).sum(dim=2)
            - 0.5 * posteriors.log_det[image]
            - gaussian.shape[2] * _HALF_LOG_TWO_PI
        )
        # z_i given the others is Gaussian with the precision P_ii, and P_ii times its deviation is the pull.
        precision = posteriors.precision.diagonal(dim1=1, dim2=2)[image]
        alone = -0.5 * pull.square() / precision + 0.5 * precision.log() - _HALF_LOG_TWO_PI
        given_others = torch.cat([alone, each[:, :, gaussian.shape[2] :]], dim=2)
    by_group = [_log_group(posteriors, deviation, factors, image, group)[:, :, None] for group in groups]
    streams = torch.cat([each, joint[:, :, None], joint[:, :, None] - given_others, *by_group], dim=2)
    return streams.permute(2, 0, 1)


def _log_category(
    probabilities: Tensor, image: Int64[Tensor, "_draw image"], category: Int64[Tensor, " draw"]
) -> Tensor:
    table = probabilities.double().log()[image]
    return table.expand(len(category), -1, -1).gather(2, category[:, None, None].expand(-1, table.shape[1], 1))[:, :, 0]


def _log_group(posteriors: Posteriors, deviation: Tensor, each: Tensor, image: Tensor, group: Sequence[int]) -> Tensor:
    """Returns log q(z_group | x_n)."""
    if posteriors.covariance is None:
        return each[:, :, list(group)].sum(dim=2)
    gaussian = [i for i in group if i < deviation.shape[2]]
    discrete = [i for i in group if i >= deviation.shape[2]]
    covariance = posteriors.covariance[:, gaussian][:, :, gaussian].double()[image]
    inside = deviation[:, :, gaussian]
    solved = torch.linalg.solve(covariance, inside[..., None])[..., 0]
    log_density = (
        -0.5 * (inside * solved).sum(dim=2)
        - 0.5 * torch.linalg.slogdet(covariance)[1]
        - len(gaussian) * _HALF_LOG_TWO_PI
    )
    return log_density + each[:, :, discrete].sum(dim=2)


def _kind(tensor: Tensor) -> str:
    return "cpu" if tensor.device.type == "cpu" else "cuda"
