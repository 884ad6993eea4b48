"""The sums of `gaussian_mixture` in plain torch, for a CPU; the kernels of a GPU are tested against them."""

import math
from collections.abc import Iterator

from jaxtyping import Float
from torch import Tensor

_MOST_TERMS = 2**20
# d/d log_var of log2 N(z; loc, exp log_var) is u^2 - 1 / (2 log 2), where u^2 is how many bits the density is below its
# peak.
_HALF = 0.5 / math.log(2)


def log_sums(
    codes: Float[Tensor, "member 1 latent sample"],
    posteriors: Float[Tensor, "member 3 latent batch"],
    log_weights_by_image: Float[Tensor, "#member batch sample"],
    length: int,
) -> tuple[Float[Tensor, "member slice sample"], Float[Tensor, "member slice latent sample"]]:
    """Computes `gaussian_mixture.log_sums` in plain torch."""
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


def gradients(
    codes: Float[Tensor, "member 3 latent sample"],
    joint: Float[Tensor, "member 2 sample"],
    posteriors: Float[Tensor, "member 3 latent batch"],
    log_weights: Float[Tensor, "#member sample batch"],
    log_weights_by_image: Float[Tensor, "#member batch sample"],
    length: int,
    length_of_samples: int,
) -> tuple[Float[Tensor, "member slice latent sample"], Float[Tensor, "member slice_of_samples 2 latent batch"]]:
    """Computes `gaussian_mixture.gradients` in plain torch."""
    del log_weights
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


def empty_log_sums(codes: Tensor, posteriors: Tensor, length: int) -> tuple[Tensor, Tensor]:
    """Returns empty tensors for the results of `log_sums`."""
    members, _, latents, samples = codes.shape
    slices = math.ceil(posteriors.shape[3] / length)
    return codes.new_empty(members, slices, samples), codes.new_empty(members, slices, latents, samples)


def empty_gradients(codes: Tensor, posteriors: Tensor, length: int, length_of_samples: int) -> tuple[Tensor, Tensor]:
    """Returns empty tensors for the results of `gradients`."""
    members, _, latents, samples = codes.shape
    images = posteriors.shape[3]
    of_codes = codes.new_empty(members, math.ceil(images / length), latents, samples)
    return of_codes, codes.new_empty(members, math.ceil(samples / length_of_samples), 2, latents, images)


def log2_sum(logarithms: Float[Tensor, " term *any"]) -> Float[Tensor, "*any"]:
    """Returns log2 of the sum of 2 to these powers. If one dominates, it is the result to the last bit."""
    if len(logarithms) == 1:
        return logarithms[0]
    top = finite(logarithms.amax(dim=0))
    return top + (logarithms - top).exp2().sum(dim=0).log2()


def finite(logarithm: Float[Tensor, "*any"]) -> Float[Tensor, "*any"]:
    """Replaces -inf, where nothing was summed, by a number that can be subtracted from -inf."""
    return logarithm.clamp(min=-3e38)


def _tiles(num_samples: int, posteriors: Float[Tensor, "member 3 latent batch"], length: int) -> Iterator[slice]:
    """Returns slices of the codes with small tables of terms, none across slices of `length`, a power of 2."""
    size = min(length, 2 ** int(math.log2(max(1, _MOST_TERMS // posteriors[:, 0].numel()))))
    return (slice(start, min(start + size, num_samples)) for start in range(0, num_samples, size))


def _log_densities(
    z: Float[Tensor, "member latent sample"], posteriors: Float[Tensor, "member 3 latent batch"]
) -> tuple[Float[Tensor, "member latent batch sample"], Float[Tensor, "member latent batch sample"]]:
    """Returns the scaled distance u of each code from each mean, and log2 of the density, log_peak - u^2."""
    loc, inverse_scale, log_peak = posteriors[..., None].unbind(dim=1)
    u = (z[:, :, None] - loc) * inverse_scale
    return u, log_peak - u.square()
