"""Aggregate posterior of Gaussians, without a table of all codes, images and latents.

Densities are computed and summed together. The sums are custom operators, so that a trace under `vmap` contains one
call for all members of a fleet. Logarithms are in base 2, the base of the exponential function of GPUs.
"""

import importlib
import importlib.util
import math
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

_LOG_2 = math.log(2)
_MAX_TERMS = 2**20  # maximum number of entries of a table in plain torch
# d/d log_var of log2 N(z; loc, exp log_var) is u^2 - 1 / (2 log 2), where u^2 = log_peak - log2 density.
_HALF = 0.5 / math.log(2)


def gaussian_log_aggregate(
    z: Float[Tensor, "sample latent"],
    loc: Float[Tensor, "batch latent"],
    log_var: Float[Tensor, "batch latent"],
    log_weights: Float[Tensor, "sample batch"],
) -> tuple[Float[Tensor, " sample"], Float[Tensor, "sample latent"]]:
    """Returns log sum_j W_ij N(z_i; loc_j, exp log_var_j) for all latents together and for each latent, in nats.

    The result equals `log_aggregate` of `DiagonalGaussian.pairwise_log_prob`, without a table larger than the weights.
    It is differentiable once, with respect to `z`, `loc` and `log_var`. The weights are constants.
    """
    in_bits = log_weights.detach() / _LOG_2
    joint, latents = _Log2Aggregate.apply(z, loc, log_var, in_bits, in_bits.mT.contiguous())
    return _LOG_2 * joint, _LOG_2 * latents


class _Log2Aggregate(torch.autograd.Function):
    """Autograd function of `gaussian_log_aggregate` in base 2. Gradients use the unscaled logarithms."""

    generate_vmap_rule = True

    @staticmethod
    def forward(
        z: Float[Tensor, "sample latent"],
        loc: Float[Tensor, "batch latent"],
        log_var: Float[Tensor, "batch latent"],
        log_weights: Float[Tensor, "sample batch"],
        log_weights_by_image: Float[Tensor, "batch sample"],
    ) -> tuple[Float[Tensor, " sample"], Float[Tensor, "sample latent"]]:
        del log_weights
        codes = z.mT.contiguous()[None]
        joint, latents = log_sums(
            codes[None], _posteriors(loc, log_var)[None], log_weights_by_image[None], _slice_length(len(loc))
        )
        return log2_sum(joint[0]), log2_sum(latents[0]).mT.contiguous()

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor, ...], output: tuple[Tensor, ...]) -> None:
        ctx.save_for_backward(*inputs, *output)

    @staticmethod
    def backward(ctx: Any, *output_gradients: Tensor) -> tuple[Tensor | None, ...]:
        return (*_Log2AggregateGradients.apply(*ctx.saved_tensors, *output_gradients), None, None)


class _Log2AggregateGradients(torch.autograd.Function):
    """Backward pass of `_Log2Aggregate`. `grad` can trace the custom operator only as an autograd function."""

    generate_vmap_rule = True

    @staticmethod
    def forward(
        z: Float[Tensor, "sample latent"],
        loc: Float[Tensor, "batch latent"],
        log_var: Float[Tensor, "batch latent"],
        log_weights: Float[Tensor, "sample batch"],
        log_weights_by_image: Float[Tensor, "batch sample"],
        joint: Float[Tensor, " sample"],
        latents: Float[Tensor, "sample latent"],
        joint_gradient: Float[Tensor, " sample"],
        latents_gradient: Float[Tensor, "sample latent"],
    ) -> tuple[Float[Tensor, "sample latent"], Float[Tensor, "batch latent"], Float[Tensor, "batch latent"]]:
        of_codes, of_posteriors = gradients(
            torch.stack([z.mT, finite(latents).mT, latents_gradient.mT])[None],
            torch.stack([finite(joint), joint_gradient])[None],
            _posteriors(loc, log_var)[None],
            log_weights[None],
            log_weights_by_image[None],
            _slice_length(len(loc)),
            _slice_length(len(z)),
        )
        of_loc, of_log_var = of_posteriors[0].sum(dim=0)
        return of_codes[0].sum(dim=0).mT, of_loc.mT, of_log_var.mT

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor, ...], output: tuple[Tensor, ...]) -> None:
        pass

    @staticmethod
    def backward(ctx: Any, *output_gradients: Tensor) -> None:
        raise NotImplementedError(
            "gaussian_log_aggregate was differentiated twice; expected once. Use log_aggregate for second derivatives."
        )


def _posteriors(
    loc: Float[Tensor, "batch latent"], log_var: Float[Tensor, "batch latent"]
) -> Float[Tensor, "3 latent batch"]:
    """Returns the terms of log2 N(z; loc, exp log_var) = log_peak - ((z - loc) inverse_scale)^2."""
    inverse_scale = (-0.5 * log_var).exp() * math.sqrt(0.5 / _LOG_2)
    log_peak = (-0.5 / _LOG_2) * (log_var + math.log(2 * math.pi))
    return torch.stack([loc.mT, inverse_scale.mT, log_peak.mT])


def _slice_length(size: int) -> int:
    """Returns the number of entries of an axis that are summed together, a power of 2 that is equal in every fleet.

    Slices are small, so that a GPU can compute many sums in parallel.
    """
    return min(256, max(16, 2 ** math.ceil(math.log2(size)) // 4))


@torch.library.custom_op(
    "unbraid::gaussian_log_sums",
    mutates_args=(),
    schema="(Tensor codes, Tensor posteriors, Tensor log_weights_by_image, int length) -> (Tensor, Tensor)",
)
def log_sums(
    codes: Float[Tensor, "member 1 latent sample"],
    posteriors: Float[Tensor, "member 3 latent batch"],
    log_weights_by_image: Float[Tensor, "#member batch sample"],
    length: int,
) -> tuple[Float[Tensor, "member slice sample"], Float[Tensor, "member slice latent sample"]]:
    """Returns log2 of the sums over slices of `length` images, for all latents together and for each latent."""
    if (kernels := _kernels_for(codes)) is not None:
        return kernels.log_sums(codes, posteriors, log_weights_by_image, length)
    joint, latents = empty_log_sums(codes, posteriors, length)
    for some in _tiles(codes.shape[3], posteriors, length):
        weight = log_weights_by_image[:, :, some]
        _, log_density = _log_densities(codes[:, 0, :, some], posteriors)
        of_all, of_each = log_density.sum(dim=1) + weight, log_density + weight[:, None]
        for piece in range(joint.shape[1]):
            images = slice(piece * length, (piece + 1) * length)
            joint[:, piece, some] = log2_sum(of_all[:, images].movedim(1, 0))
            latents[:, piece, :, some] = log2_sum(of_each[:, :, images].movedim(2, 0))
    return joint, latents


@torch.library.custom_op(
    "unbraid::gaussian_log_sums_gradients",
    mutates_args=(),
    schema="(Tensor codes, Tensor joint, Tensor posteriors, Tensor log_weights, "
    "Tensor log_weights_by_image, int length, int length_of_samples)"
    " -> (Tensor, Tensor)",
)
def gradients(
    codes: Float[Tensor, "member 3 latent sample"],
    joint: Float[Tensor, "member 2 sample"],
    posteriors: Float[Tensor, "member 3 latent batch"],
    log_weights: Float[Tensor, "#member sample batch"],
    log_weights_by_image: Float[Tensor, "#member batch sample"],
    length: int,
    length_of_samples: int,
) -> tuple[Float[Tensor, "member slice latent sample"], Float[Tensor, "member slice_of_samples 2 latent batch"]]:
    """Returns the gradients with respect to z, by slice of images, and to loc and log_var, by slice of codes.

    `codes` contains z, the log-sums of each latent, and the gradients with respect to these sums. `joint` contains the
    log-sums of all latents together and the gradients with respect to these sums. The weights are passed in both memory
    layouts, because a GPU reads a table fast only along the last axis.
    """
    if (kernels := _kernels_for(codes)) is not None:
        return kernels.gradients(codes, joint, posteriors, log_weights, log_weights_by_image, length, length_of_samples)
    of_codes, of_posteriors = empty_gradients(codes, posteriors, length, length_of_samples)
    of_posteriors.zero_()
    for some in _tiles(codes.shape[3], posteriors, length_of_samples):
        weight, (z, logs, slopes) = log_weights_by_image[:, :, some], codes[:, :, :, None, some].unbind(dim=1)
        u, log_density = _log_densities(z[:, :, 0], posteriors)
        shared = (log_density.sum(dim=1) + weight - joint[:, :1, some]).clamp(max=0).exp2() * joint[:, 1:, some]
        slope = (log_density + weight[:, None] - logs).exp2() * slopes + shared[:, None]
        pull = 2 * slope * u * posteriors[:, 1, :, :, None]
        for piece, from_images in enumerate(pull.split(length, dim=2)):
            of_codes[:, piece, :, some] = -from_images.sum(dim=2)
        of_slice = of_posteriors[:, some.start // length_of_samples]
        of_slice[:, 0] += pull.sum(dim=3)
        of_slice[:, 1] += (slope * (u.square() - _HALF)).sum(dim=3)
    return of_codes, of_posteriors


def _kernels_for(codes: Tensor) -> Any:
    """Returns the module of Triton kernels, or None if the codes are not supported or Triton is missing."""
    if codes.is_cuda and codes.dtype == torch.float32 and _has_kernels():
        from unbraid.information import gaussian_mixture_kernels

        return gaussian_mixture_kernels
    return None


@cache
def _has_kernels() -> bool:
    """Returns whether Triton 3.3 or later, which supports tuples, is installed."""
    if importlib.util.find_spec("triton") is None:
        return False
    return hasattr(importlib.import_module("triton.language"), "tuple")


@log_sums.register_fake
def _fake_log_sums(codes: Tensor, posteriors: Tensor, _weights: Tensor, length: int) -> tuple[Tensor, Tensor]:
    return empty_log_sums(codes, posteriors, length)


@gradients.register_fake
def _fake_gradients(
    codes: Tensor, _joint: Tensor, posteriors: Tensor, _log_weights: Tensor, _by_image: Tensor, *lengths: int
) -> tuple[Tensor, Tensor]:
    return empty_gradients(codes, posteriors, *lengths)


def empty_log_sums(codes: Tensor, posteriors: Tensor, length: int) -> tuple[Tensor, Tensor]:
    """Allocates the results of `log_sums`."""
    members, _, latents, samples = codes.shape
    slices = math.ceil(posteriors.shape[3] / length)
    return codes.new_empty(members, slices, samples), codes.new_empty(members, slices, latents, samples)


def empty_gradients(codes: Tensor, posteriors: Tensor, length: int, length_of_samples: int) -> tuple[Tensor, Tensor]:
    """Allocates the results of `gradients`."""
    members, _, latents, samples = codes.shape
    images = posteriors.shape[3]
    of_codes = codes.new_empty(members, math.ceil(images / length), latents, samples)
    return of_codes, codes.new_empty(members, math.ceil(samples / length_of_samples), 2, latents, images)


def log2_sum(logarithms: Float[Tensor, " term *any"]) -> Float[Tensor, "*any"]:
    """Returns log2 sum_i 2^logarithms_i over the first axis. If one term dominates, its logarithm is exact."""
    if len(logarithms) == 1:
        return logarithms[0]
    top = finite(logarithms.amax(dim=0))
    return top + (logarithms - top).exp2().sum(dim=0).log2()


def finite(logarithm: Float[Tensor, "*any"]) -> Float[Tensor, "*any"]:
    """Replaces -inf, the logarithm of an empty sum, by a finite number, so that differences are not NaN."""
    return logarithm.clamp(min=-3e38)


def _tiles(num_samples: int, posteriors: Float[Tensor, "member 3 latent batch"], length: int) -> Iterator[slice]:
    """Returns slices of the codes that need small tables. No slice crosses a multiple of `length`, a power of 2."""
    size = min(length, 2 ** int(math.log2(max(1, _MAX_TERMS // posteriors[:, 0].numel()))))
    return (slice(start, min(start + size, num_samples)) for start in range(0, num_samples, size))


def _log_densities(
    z: Float[Tensor, "member latent sample"], posteriors: Float[Tensor, "member 3 latent batch"]
) -> tuple[Float[Tensor, "member latent batch sample"], Float[Tensor, "member latent batch sample"]]:
    """Returns the scaled distance u of each code from each mean, and log2 of the density, which is log_peak - u^2."""
    loc, inverse_scale, log_peak = posteriors[..., None].unbind(dim=1)
    u = (z[:, :, None] - loc) * inverse_scale
    return u, log_peak - u.square()


def _over_members(op: Callable[..., tuple[Tensor, ...]], num_tables: int) -> Callable[..., Any]:
    """Returns a `vmap` rule that calls an operator once, with the mapped axis as its member axis.

    Tensors after the first `num_tables` are weights, which all members may share.
    """

    def rule(info: Any, in_dims: tuple[int | None, ...], *arguments: Any) -> tuple[tuple[Tensor, ...], tuple[int, ...]]:
        def of_all(position: int, argument: Any, dim: int | None) -> Any:
            if not isinstance(argument, Tensor) or (dim is None and position >= num_tables and len(argument) == 1):
                return argument
            mapped = argument.expand(info.batch_size, *argument.shape) if dim is None else argument.movedim(dim, 0)
            return mapped.flatten(0, 1)

        outputs = op(*(of_all(position, *each) for position, each in enumerate(zip(arguments, in_dims, strict=True))))
        return tuple(output.unflatten(0, (info.batch_size, -1)) for output in outputs), (0,) * len(outputs)

    return rule


log_sums.register_vmap(_over_members(log_sums, 2))
gradients.register_vmap(_over_members(gradients, 3))
