"""Log-densities of the aggregate posterior, the mixture over all images, at its draws.

One pass over all pairs of a draw z_s and an image x_n computes the sums over images of q(z_i | x_n), q(z | x_n) and
q(z_not_i | x_n), in blocks that fit in the cache, with float64 sums.

A term of a joint density is divided by the density of the image from which the draw is, and computed as a power of two,
the fastest exponential. Each sum is then at least the weight of this image, so underflows are negligible. Draws with an
overflow are computed again in log space. Above `MAX_FLOAT64_TERMS` terms, terms are float32, which changes an entropy
by less than 1e-5 nats.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from typing import final

import torch
from jaxtyping import Float64, Int64
from torch import Tensor

from unbraid._internal.progress import Event, emit
from unbraid.errors import CodesError
from unbraid.information.posteriors import Draws, Posteriors

# Above this number of terms (draws times images times latents), terms are float32.
MAX_FLOAT64_TERMS = 200_000_000

_LOG_2 = math.log(2)
_HALF_LOG_TWO_PI = 0.5 * math.log(2 * math.pi)
# Terms per block: 5 MB in float32, which fits in the cache of a CPU. A GPU is faster with larger blocks.
_BLOCK_TERMS = {"cpu": 1_300_000, "cuda": 40_000_000}
_IMAGES_PER_BLOCK = {"cpu": 4096, "cuda": 65_536}
# Smallest exponents of two of a single density and of a relative joint density. Their ratio then does not overflow, and
# N truncated terms contribute less than 1e-7.
_CUT = {torch.float32: (-70.0, -115.0), torch.float64: (-450.0, -950.0)}

# The computation in log space is slower and uses smaller blocks: 10 MB for ten latents.
_DRAWS_IN_LOG_SPACE = 32
_IMAGES_IN_LOG_SPACE = 2048


@final
@dataclass(frozen=True)
class LogDensities:
    """log q(z) of the aggregate posterior and log q(z | x) of the image of the draw, at each draw, in nats.

    `each` is for single latents, `joint` for all latents, `without` for all latents except one, and `groups` for the
    given groups. A discrete latent contributes the logarithm of its probability.
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
    floor: float | None = None,
) -> LogDensities:
    """Returns log q(z_i), log q(z), log q(z_not_i) and log q(z_group) at each draw.

    Do & Tran, arXiv:1908.09961v4, appendix A.10. Their code clamps densities to at least 1e-8, which the paper does not
    mention. -log q(z) is then at most 18.4 nats, less than for many independent latents. `floor` clamps densities and
    the factors of products over latents in the same way, for comparison with published numbers. It requires
    uncorrelated Gaussian latents.
    """
    if floor is not None and (posteriors.covariance is not None or posteriors.probabilities):
        raise CodesError(
            f"density_floor is {floor:g} for correlated or discrete latents; expected uncorrelated Gaussian latents. "
            "Omit density_floor."
        )
    num_terms = len(draws) * len(posteriors.weights) * posteriors.num_latents
    dtype = dtype or (torch.float64 if num_terms <= MAX_FLOAT64_TERMS else torch.float32)
    own = _log_terms(posteriors, draws, draws.image[:, None], groups, floor)[:, :, 0]
    if posteriors.covariance is None:
        logs = _by_ratios(posteriors, draws, groups, own, dtype, floor)
    else:
        logs = torch.full_like(own, math.nan)
    lost = (~logs.isfinite()).any(dim=0).nonzero()[:, 0]
    for place, draw in enumerate(lost.split(_DRAWS_IN_LOG_SPACE) if len(lost) > 0 else ()):
        logs[:, draw] = _in_log_space(posteriors, draws.rows(draw), groups, floor)
        emit(Event("far draws", min(len(lost), (place + 1) * _DRAWS_IN_LOG_SPACE), len(lost), "draws"))
    if floor is not None:
        logs, own = logs.clamp(min=math.log(floor)), own.clamp(min=math.log(floor))
    return LogDensities(*_streams(logs, posteriors.num_latents), *_streams(own, posteriors.num_latents))


def _streams(logs: Float64[Tensor, "stream draw"], num_latents: int) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Splits stacked log-densities into single latents, all latents, all latents except one, and groups."""
    each, joint, without, groups = logs.split([num_latents, 1, num_latents, len(logs) - 2 * num_latents - 1])
    return each.T, joint[0], without.T, groups.T


def _by_ratios(
    posteriors: Posteriors,
    draws: Draws,
    groups: Sequence[Sequence[int]],
    own: Float64[Tensor, "stream draw"],
    dtype: torch.dtype,
    floor: float | None,
) -> Float64[Tensor, "stream draw"]:
    """Computes log-densities of mixtures from relative terms. The result is NaN or infinite after an overflow."""
    num_latents, num_draws = posteriors.num_latents, len(draws)
    # Codes are centered, so that deviations are accurate in float32 for codes far from 0.
    middle = (posteriors.mean.double().amin(dim=0) + posteriors.mean.double().amax(dim=0)) / 2
    blocks = _image_blocks(posteriors, middle, dtype)
    z = (draws.z.double() - middle).to(dtype).T[:, :, None].contiguous()
    constant = own.new_zeros(num_latents)
    constant[: len(z)] = _HALF_LOG_TWO_PI
    # Joint and group densities are relative to the density of the draw's image, single densities are not. All are
    # without the constants of the Gaussians.
    constants = torch.stack([constant.sum(), *(constant[list(group)].sum() for group in groups)])
    base = ((own[[num_latents, *range(2 * num_latents + 1, len(own))]] + constants[:, None]) / _LOG_2).to(dtype)
    # As an exponent of two, without the constant of the Gaussian.
    lowest = None if floor is None else (math.log(floor) + _HALF_LOG_TWO_PI) / _LOG_2
    sums = own.new_zeros(own.shape)
    draws_per_block = max(1, min(_BLOCK_TERMS[_kind(own)] // (num_latents * blocks[0].mean.shape[2]), num_draws))
    buffer = z.new_empty(0)
    for begin in range(0, num_draws, draws_per_block):
        rows = slice(begin, begin + draws_per_block)
        for block in blocks:
            shape = (num_latents, z[:, rows].shape[1], block.mean.shape[2])
            buffer = buffer if buffer.shape == shape else z.new_empty(shape)
            block.powers(z[:, rows], draws.categories[rows], buffer)
            _add_terms(sums[:, rows], buffer, block.weights, base[:, rows], groups, lowest)
        emit(Event("sampled densities", min(num_draws, begin + draws_per_block), num_draws, "draws"))
    scale = torch.zeros_like(own)
    scale[:num_latents] = -constant[:, None]
    scale[num_latents] = own[num_latents]
    # q(z_not_i) is computed as q(z) / q(z_i), where q(z_i) had no constant.
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
    """Adds a block of images to the sums, in place.

    `powers` (latent, draw, image) are exponents of two. They are clamped to the floor in products, and overwritten.
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
    """Computes weighted sums over the last axis. A plain sum with a scalar weight takes a third of the time."""
    return terms.sum(dim=-1).double() * weights if isinstance(weights, float) else (terms @ weights).double()


@final
@dataclass(frozen=True)
class _ImageBlock:
    """A block of images. log2 q(z_i | x_n) without Gaussian constants is peak - ((z - mean) scale)^2."""

    mean: Tensor  # mean, scale and peak have the axes latent, 1, image
    scale: Tensor
    peak: Tensor
    tables: tuple[Tensor, ...]  # log2 probability: category, image
    weights: Tensor | float

    def powers(self, z: Tensor, categories: Int64[Tensor, "draw discrete_latent"], out: Tensor) -> None:
        """Writes the exponents of two (latent, draw, image) to `out`."""
        gaussian = out[: len(z)]
        torch.sub(z, self.mean, out=gaussian)
        gaussian.mul_(self.scale)
        torch.addcmul(self.peak, gaussian, gaussian, value=-1, out=gaussian)
        for place, table in enumerate(self.tables):
            out[len(z) + place] = table[categories[:, place]]
        out.clamp_(min=_CUT[out.dtype][0])


def _image_blocks(posteriors: Posteriors, middle: Float64[Tensor, " latent"], dtype: torch.dtype) -> list[_ImageBlock]:
    size, blocks = _IMAGES_PER_BLOCK[_kind(posteriors.mean)], []
    is_uniform = bool((posteriors.weights == posteriors.weights[0]).all())
    for begin in range(0, len(posteriors.mean), size):
        rows = slice(begin, begin + size)
        std = posteriors.std[rows].double().T[:, None].contiguous()
        mean = (posteriors.mean[rows].double() - middle).to(dtype).T[:, None].contiguous()
        tables = tuple(p[rows].double().log2().to(dtype).T.contiguous() for p in posteriors.probabilities)
        weights = float(posteriors.weights[0]) if is_uniform else posteriors.weights[rows].to(dtype)
        # exp(-d^2 / 2) = 2^-(d sqrt(log2(e) / 2))^2
        scale = (math.sqrt(0.5 / _LOG_2) / std).to(dtype)
        blocks.append(_ImageBlock(mean, scale, -std.log2().to(dtype), tables, weights))
    return blocks


def _in_log_space(
    posteriors: Posteriors, draws: Draws, groups: Sequence[Sequence[int]], floor: float | None
) -> Float64[Tensor, "stream draw"]:
    """Computes the result of `_by_ratios` in log space."""
    log_weights = posteriors.weights.log()
    parts = (
        (_log_terms(posteriors, draws, image[None], groups, floor) + log_weights[image]).logsumexp(dim=2)
        for image in torch.arange(len(log_weights), device=draws.image.device).split(_IMAGES_IN_LOG_SPACE)
    )
    return reduce(torch.logaddexp, parts)


def _log_terms(
    posteriors: Posteriors,
    draws: Draws,
    image: Int64[Tensor, "_draw image"],
    groups: Sequence[Sequence[int]],
    floor: float | None,
) -> Float64[Tensor, "stream draw image"]:
    """Returns log q(. | x_n) of all streams for each draw and the images in its row of `image`, or in a single row."""
    deviation = draws.z.double()[:, None] - posteriors.mean[image].double()
    std = posteriors.std[image].double()
    gaussian = -0.5 * (deviation / std).square() - std.log() - _HALF_LOG_TWO_PI
    discrete = [_log_category(p, image, draws.categories[:, k]) for k, p in enumerate(posteriors.probabilities)]
    each = torch.cat([gaussian, *(d[:, :, None] for d in discrete)], dim=2)
    factors = each if floor is None else each.clamp(min=math.log(floor))
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
        # z_i given the other latents is Gaussian with the precision P_ii and the deviation pull_i / P_ii.
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
    """Returns the joint log-density log q(z_group | x_n)."""
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
