"""Triton kernels for the sums of `gaussian_mixture` on a GPU.

Triton is installed only with torch for CUDA, so this module is imported on first use on a GPU.

A program is one warp. Each lane stores two entries of one axis (codes or images) in registers, and all lanes iterate
over a slice of the other axis. One lane computes a sum in a fixed order and lanes exchange no numbers, so the results
of a member do not depend on other members. Loops over latents are unrolled. If there are too many latents for the
registers, they are distributed over several programs, and each program sums the joint density of all latents in the
same order. The order matters, because log-densities far from all means are so large that rounding changes them by more
than 1.

Tables are padded with zeros, so that a lane reads several numbers at once. Padded pairs have the log-weight -inf and
contribute 0.
"""

from typing import no_type_check

import torch
import triton
import triton.language as tl
from torch import Tensor
from torch.nn.functional import pad

from unbraid.information.gaussian_mixture import empty_gradients, empty_log_sums

_MOST_LATENTS = 16
_MOST_LATENTS_SHARED = 10
_OWN = 64
_WARPS = 1
_STEP_OF_SUMS = 8
_STEP_OF_GRADIENTS = 2

# Below every log-density, and finite, because -inf - (-inf) is NaN.
_LOWEST = tl.constexpr(-3.0e38)
# d/d log_var of log2 N(z; loc, exp log_var) is u^2 - 1 / (2 log 2), where u^2 = log_peak - log2 density.
_HALF = tl.constexpr(0.7213475204444817)


def log_sums(codes: Tensor, posteriors: Tensor, log_weights_by_image: Tensor, length: int) -> tuple[Tensor, Tensor]:
    """Computes `gaussian_mixture.log_sums` on a GPU."""
    joint, latents = empty_log_sums(codes, posteriors, length)
    sizes = _sizes(codes, posteriors)
    chunks = _chunks(sizes[2])
    tables = _padded(codes, 1, chunks), _padded(posteriors, length, chunks)
    weights = log_weights_by_image.contiguous()
    grid = (triton.cdiv(sizes[0], _OWN), joint.shape[1] * chunks, len(codes))
    with torch.cuda.device_of(codes):
        _log_sums[grid](
            *tables,
            weights,
            joint,
            latents,
            *sizes,
            _member_stride(weights),
            LENGTH=length,
            **_constants(*tables, chunks, _STEP_OF_SUMS),
        )
    return joint, latents


def gradients(
    codes: Tensor,
    joint: Tensor,
    posteriors: Tensor,
    log_weights: Tensor,
    log_weights_by_image: Tensor,
    length: int,
    length_of_samples: int,
) -> tuple[Tensor, Tensor]:
    """Computes `gaussian_mixture.gradients` on a GPU."""
    of_codes, of_posteriors = empty_gradients(codes, posteriors, length, length_of_samples)
    sizes = _sizes(codes, posteriors)
    chunks = _chunks(sizes[2])
    tables = _padded(codes, length_of_samples, chunks), _padded(posteriors, length, chunks)
    of_samples = _padded(joint[:, :, None], length_of_samples, 1)
    by_sample, by_image = log_weights.contiguous(), log_weights_by_image.contiguous()
    constants = _constants(*tables, chunks, _STEP_OF_GRADIENTS)
    with torch.cuda.device_of(codes):
        _gradient_of_codes[triton.cdiv(sizes[0], _OWN), of_codes.shape[1] * chunks, len(codes)](
            *tables, of_samples, by_image, of_codes, *sizes, _member_stride(by_image), LENGTH=length, **constants
        )
        _gradients_of_posteriors[triton.cdiv(sizes[1], _OWN), of_posteriors.shape[1] * chunks, len(codes)](
            *tables,
            of_samples,
            by_sample,
            of_posteriors,
            *sizes,
            _member_stride(by_sample),
            LENGTH=length_of_samples,
            **constants,
        )
    return of_codes, of_posteriors


def _sizes(codes: Tensor, posteriors: Tensor) -> tuple[int, int, int]:
    """Returns the number of samples, of images and of latents."""
    return codes.shape[3], posteriors.shape[3], codes.shape[2]


def _chunks(num_latents: int) -> int:
    """Returns the number of programs over which the latents are distributed."""
    return 1 if num_latents <= _MOST_LATENTS else triton.cdiv(num_latents, _MOST_LATENTS_SHARED)


def _padded(table: Tensor, length: int, chunks: int) -> Tensor:
    """Pads a table to complete slices and an equal number of latents per program."""
    missing = (0, -table.shape[3] % length, 0, -table.shape[2] % chunks)
    return (pad(table, missing) if any(missing) else table).contiguous()


def _constants(codes: Tensor, posteriors: Tensor, chunks: int, step: int) -> dict[str, int]:
    """Returns the compile-time constants of the kernels, without the slice length."""
    latents = codes.shape[2] // chunks
    sizes = {"LATENTS": latents, "CHUNKS": chunks, "SAMPLES": codes.shape[3], "IMAGES": posteriors.shape[3]}
    return {**sizes, "OWN": _OWN, "STEP": step, "num_warps": _WARPS}


def _member_stride(weights: Tensor) -> int:
    """Returns the stride between the weights of two members, which is 0 for shared weights."""
    return 0 if weights.shape[0] == 1 else weights.stride(0)


@triton.jit(do_not_specialize=["num_samples", "num_images"])
@no_type_check
def _log_sums(
    codes, posteriors, log_weights, joint, latents, num_samples, num_images, num_latents, member_stride,
    LENGTH: tl.constexpr, LATENTS: tl.constexpr, CHUNKS: tl.constexpr, SAMPLES: tl.constexpr, IMAGES: tl.constexpr,
    OWN: tl.constexpr, STEP: tl.constexpr,
):  # fmt: skip
    """Computes the sums of the codes of a lane over a slice of the images, rescaling once per STEP images."""
    member, chunk, piece = tl.program_id(2).to(tl.int64), tl.program_id(1) % CHUNKS, tl.program_id(1) // CHUNKS
    row = member * (tl.num_programs(1) // CHUNKS) + piece
    codes += member * CHUNKS * LATENTS * SAMPLES
    loc = posteriors + member * 3 * CHUNKS * LATENTS * IMAGES
    inverse_scale = loc + CHUNKS * LATENTS * IMAGES
    log_peak = inverse_scale + CHUNKS * LATENTS * IMAGES
    log_weights += member * member_stride

    sample = tl.program_id(0) * OWN + tl.arange(0, OWN)
    inside = sample < num_samples
    zs, tops, totals = (), (), ()
    for latent in tl.static_range(LATENTS):
        zs += (tl.load(codes + (chunk * LATENTS + latent) * SAMPLES + sample, mask=inside, other=0.0),)
        tops += (tl.full([OWN], _LOWEST, tl.float32),)
        totals += (tl.zeros([OWN], tl.float32),)
    joint_top, joint_total = tl.full([OWN], _LOWEST, tl.float32), tl.zeros([OWN], tl.float32)

    for start in range(0, LENGTH, STEP):
        image = piece * LENGTH + start + tl.arange(0, STEP)
        pairs = inside[:, None] & (image < num_images)[None, :]
        weight = tl.load(log_weights + image[None, :] * num_samples + sample[:, None], mask=pairs, other=float("-inf"))
        everything = weight
        new_tops, new_totals = (), ()
        for latent in tl.static_range(LATENTS):
            at = (chunk * LATENTS + latent) * IMAGES + image
            u = (zs[latent][:, None] - tl.load(loc + at)[None, :]) * tl.load(inverse_scale + at)[None, :]
            log_density = tl.load(log_peak + at)[None, :] - u * u
            if CHUNKS == 1:
                everything += log_density
            top, total = _added(tops[latent], totals[latent], log_density + weight)
            new_tops += (top,)
            new_totals += (total,)
        tops, totals = new_tops, new_totals
        for there in range(CHUNKS * LATENTS if CHUNKS > 1 else 0):
            z, at = tl.load(codes + there * SAMPLES + sample, mask=inside, other=0.0), there * IMAGES + image
            u = (z[:, None] - tl.load(loc + at)[None, :]) * tl.load(inverse_scale + at)[None, :]
            everything += tl.load(log_peak + at)[None, :] - u * u
        joint_top, joint_total = _added(joint_top, joint_total, everything)

    tl.store(joint + row * num_samples + sample, joint_top + tl.log2(joint_total), mask=inside & (chunk == 0))
    for latent in tl.static_range(LATENTS):
        own = chunk * LATENTS + latent
        to = latents + (row * num_latents + own) * num_samples + sample
        tl.store(to, tops[latent] + tl.log2(totals[latent]), mask=inside & (own < num_latents))


@triton.jit
@no_type_check
def _added(top, total, terms):
    """Adds 2^terms of each row to total * 2^top, and returns the new top (largest exponent) and the new total."""
    new_top = tl.maximum(top, tl.max(terms, axis=1))
    return new_top, total * tl.exp2(top - new_top) + tl.sum(tl.exp2(terms - new_top[:, None]), axis=1)


@triton.jit(do_not_specialize=["num_samples", "num_images"])
@no_type_check
def _gradient_of_codes(
    codes, posteriors, joint, log_weights, of_codes, num_samples, num_images, num_latents, member_stride,
    LENGTH: tl.constexpr, LATENTS: tl.constexpr, CHUNKS: tl.constexpr, SAMPLES: tl.constexpr, IMAGES: tl.constexpr,
    OWN: tl.constexpr, STEP: tl.constexpr,
):  # fmt: skip
    """Sums the gradients of the codes of a lane over a slice of the images."""
    member, chunk, piece = tl.program_id(2).to(tl.int64), tl.program_id(1) % CHUNKS, tl.program_id(1) // CHUNKS
    row = member * (tl.num_programs(1) // CHUNKS) + piece
    codes += member * 3 * CHUNKS * LATENTS * SAMPLES
    joint += member * 2 * SAMPLES
    loc = posteriors + member * 3 * CHUNKS * LATENTS * IMAGES
    inverse_scale = loc + CHUNKS * LATENTS * IMAGES
    log_peak = inverse_scale + CHUNKS * LATENTS * IMAGES
    log_weights += member * member_stride

    sample = tl.program_id(0) * OWN + tl.arange(0, OWN)
    inside = sample < num_samples
    log_joint = tl.load(joint + sample, mask=inside, other=0.0)
    joint_gradient = tl.load(joint + SAMPLES + sample, mask=inside, other=0.0)
    zs, logs, slopes, sums = (), (), (), ()
    for latent in tl.static_range(LATENTS):
        own = codes + (chunk * LATENTS + latent) * SAMPLES + sample
        zs += (tl.load(own, mask=inside, other=0.0),)
        logs += (tl.load(own + CHUNKS * LATENTS * SAMPLES, mask=inside, other=0.0),)
        slopes += (tl.load(own + 2 * CHUNKS * LATENTS * SAMPLES, mask=inside, other=0.0),)
        sums += (tl.zeros([OWN], tl.float32),)

    for start in range(0, LENGTH, STEP):
        for step in tl.static_range(STEP):
            image = piece * LENGTH + start + step
            weight = tl.load(
                log_weights + image * num_samples + sample, mask=inside & (image < num_images), other=float("-inf")
            )
            everything = weight
            us, scales, log_densities = (), (), ()
            for latent in tl.static_range(LATENTS):
                at = (chunk * LATENTS + latent) * IMAGES + image
                scale = tl.load(inverse_scale + at)
                u = (zs[latent] - tl.load(loc + at)) * scale
                log_density = tl.load(log_peak + at) - u * u
                if CHUNKS == 1:
                    everything += log_density
                us += (u,)
                scales += (scale,)
                log_densities += (log_density,)
            for there in range(CHUNKS * LATENTS if CHUNKS > 1 else 0):
                z, there_at = tl.load(codes + there * SAMPLES + sample, mask=inside, other=0.0), there * IMAGES + image
                further_u = (z - tl.load(loc + there_at)) * tl.load(inverse_scale + there_at)
                everything += tl.load(log_peak + there_at) - further_u * further_u
            # Subtracted last, as in the sums, so that the share of a dominant term is exactly 1.
            shared = joint_gradient * tl.exp2(tl.minimum(everything - log_joint, 0.0))
            new_sums = ()
            for latent in tl.static_range(LATENTS):
                slope = tl.exp2(log_densities[latent] + weight - logs[latent]) * slopes[latent] + shared
                new_sums += (sums[latent] + slope * us[latent] * scales[latent],)
            sums = new_sums

    for latent in tl.static_range(LATENTS):
        index = chunk * LATENTS + latent
        to = of_codes + (row * num_latents + index) * num_samples + sample
        tl.store(to, -2 * sums[latent], mask=inside & (index < num_latents))


@triton.jit(do_not_specialize=["num_samples", "num_images"])
@no_type_check
def _gradients_of_posteriors(
    codes, posteriors, joint, log_weights, of_posteriors, num_samples, num_images, num_latents, member_stride,
    LENGTH: tl.constexpr, LATENTS: tl.constexpr, CHUNKS: tl.constexpr, SAMPLES: tl.constexpr, IMAGES: tl.constexpr,
    OWN: tl.constexpr, STEP: tl.constexpr,
):  # fmt: skip
    """Sums the gradients of the images of a lane over a slice of the codes."""
    member, chunk, piece = tl.program_id(2).to(tl.int64), tl.program_id(1) % CHUNKS, tl.program_id(1) // CHUNKS
    row = member * (tl.num_programs(1) // CHUNKS) + piece
    codes += member * 3 * CHUNKS * LATENTS * SAMPLES
    latents = codes + CHUNKS * LATENTS * SAMPLES
    latents_gradient = latents + CHUNKS * LATENTS * SAMPLES
    joint += member * 2 * SAMPLES
    posteriors += member * 3 * CHUNKS * LATENTS * IMAGES
    log_weights += member * member_stride

    image = tl.program_id(0) * OWN + tl.arange(0, OWN)
    inside = image < num_images
    locs, scales, peaks, loc_sums, log_var_sums = (), (), (), (), ()
    for latent in tl.static_range(LATENTS):
        own = posteriors + (chunk * LATENTS + latent) * IMAGES + image
        locs += (tl.load(own, mask=inside, other=0.0),)
        scales += (tl.load(own + CHUNKS * LATENTS * IMAGES, mask=inside, other=0.0),)
        peaks += (tl.load(own + 2 * CHUNKS * LATENTS * IMAGES, mask=inside, other=0.0),)
        loc_sums += (tl.zeros([OWN], tl.float32),)
        log_var_sums += (tl.zeros([OWN], tl.float32),)

    for start in range(0, LENGTH, STEP):
        for step in tl.static_range(STEP):
            sample = piece * LENGTH + start + step
            weight = tl.load(
                log_weights + sample * num_images + image, mask=inside & (sample < num_samples), other=float("-inf")
            )
            everything = weight
            us, log_densities = (), ()
            for latent in tl.static_range(LATENTS):
                u = (tl.load(codes + (chunk * LATENTS + latent) * SAMPLES + sample) - locs[latent]) * scales[latent]
                log_density = peaks[latent] - u * u
                if CHUNKS == 1:
                    everything += log_density
                us += (u,)
                log_densities += (log_density,)
            for there in range(CHUNKS * LATENTS if CHUNKS > 1 else 0):
                mean = posteriors + there * IMAGES + image
                scale = tl.load(mean + CHUNKS * LATENTS * IMAGES, mask=inside, other=0.0)
                further_u = (tl.load(codes + there * SAMPLES + sample) - tl.load(mean, mask=inside, other=0.0)) * scale
                everything += (
                    tl.load(mean + 2 * CHUNKS * LATENTS * IMAGES, mask=inside, other=0.0) - further_u * further_u
                )
            shared = tl.load(joint + SAMPLES + sample) * tl.exp2(tl.minimum(everything - tl.load(joint + sample), 0.0))
            new_loc_sums, new_log_var_sums = (), ()
            for latent in tl.static_range(LATENTS):
                at, u = (chunk * LATENTS + latent) * SAMPLES + sample, us[latent]
                slope = (
                    tl.exp2(log_densities[latent] + weight - tl.load(latents + at)) * tl.load(latents_gradient + at)
                    + shared
                )
                new_loc_sums += (loc_sums[latent] + slope * u,)
                new_log_var_sums += (log_var_sums[latent] + slope * (u * u - _HALF),)
            loc_sums, log_var_sums = new_loc_sums, new_log_var_sums

    for latent in tl.static_range(LATENTS):
        index = chunk * LATENTS + latent
        to, exists = (
            of_posteriors + (row * 2 * num_latents + index) * num_images + image,
            inside & (index < num_latents),
        )
        tl.store(to, 2 * scales[latent] * loc_sums[latent], mask=exists)
        tl.store(to + num_latents * num_images, log_var_sums[latent], mask=exists)
