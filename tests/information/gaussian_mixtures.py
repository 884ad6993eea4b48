"""Mixtures to try `gaussian_log_aggregate` on, and the formula that it stands for."""

import math
from dataclasses import dataclass

import torch
from torch.func import grad, vmap

from unbraid.information.gaussian_mixture import gaussian_log_aggregate
from unbraid.models.distributions import DiagonalGaussian


@dataclass(frozen=True)
class Case:
    """Sizes, how far codes are from their means, the range of log_var, and the share of weights that are 0."""

    members: int
    samples: int
    images: int
    latents: int
    offset: float = 0.0
    log_vars: tuple[float, float] = (-4.0, 1.0)
    zero_weights: float = 0.0
    weights_differ: bool = False


CASES = [
    Case(2, 20, 37, 3),
    Case(1, 70, 18, 1),
    Case(3, 5, 20, 2, weights_differ=True),
    Case(1, 9, 7, 17),
    Case(2, 20, 20, 4, zero_weights=0.9),
    Case(1, 9, 20, 10, offset=30.0),
    Case(1, 20, 20, 3, log_vars=(-20.0, 5.0)),
    Case(1, 20, 20, 3, offset=30.0, log_vars=(-20.0, 5.0), zero_weights=0.2),
    Case(1, 9, 7, 17, offset=1000.0, log_vars=(-20.0, 5.0)),
]


def a_mixture(case, seed=0, dtype=torch.float32):
    """z, loc, log_var and log_weights of a case. The codes are draws of the images' posteriors, moved by the offset."""
    generator = torch.Generator().manual_seed(seed)
    loc = torch.randn(case.members, case.images, case.latents, generator=generator, dtype=torch.float64)
    low, high = case.log_vars
    log_var = low + (high - low) * torch.rand(loc.shape, generator=generator, dtype=torch.float64)
    own = torch.arange(case.samples) % case.images
    noise = torch.randn(case.members, case.samples, case.latents, generator=generator, dtype=torch.float64)
    z = loc[:, own] + (0.5 * log_var[:, own]).exp() * noise + case.offset
    tables = case.members if case.weights_differ else 1
    log_weights = torch.randn(tables, case.samples, case.images, generator=generator, dtype=torch.float64) - math.log(
        case.images
    )
    elsewhere = torch.arange(case.images) != own[:, None]
    log_weights[elsewhere & (torch.rand(log_weights.shape, generator=generator) < case.zero_weights)] = -math.inf
    return tuple(each.to(dtype) for each in (z, loc, log_var, log_weights if case.weights_differ else log_weights[0]))


def by_formula(z, loc, log_var, log_weights):
    """What `gaussian_log_aggregate` computes, with all densities in one table."""
    log_prob = DiagonalGaussian(loc, log_var).pairwise_log_prob(z)
    return torch.logsumexp(log_prob.sum(dim=2) + log_weights, dim=1), torch.logsumexp(
        log_prob + log_weights[:, :, None], dim=1
    )


def sums_and_gradients(function, mixture, seed=1):
    """joint, latents, and the gradients of a random combination of them, member by member under `vmap`."""
    return combined_sums_and_gradients(function, mixture, *directions(mixture, seed))


def directions(mixture, seed=1):
    """Random weights of the sums of all latents together, and of each alone."""
    z, generator = mixture[0], torch.Generator().manual_seed(seed)
    return [torch.randn(shape, generator=generator, dtype=torch.float64).to(z) for shape in (z.shape[1:2], z.shape[1:])]


def combined_sums_and_gradients(function, mixture, of_joint, of_latents):
    """joint, latents, and the gradients of their combination with these weights, member by member under `vmap`."""

    def combined(z, loc, log_var, log_weights):
        joint, latents = function(z, loc, log_var, log_weights)
        return (joint * of_joint).sum() + (latents * of_latents).sum(), (joint, latents)

    in_dims = (0, 0, 0, 0 if mixture[3].dim() == 3 else None)
    gradients, sums = vmap(grad(combined, argnums=(0, 1, 2), has_aux=True), in_dims)(*mixture)
    return sums, gradients


def check_kernels(case, device):
    """`gaussian_log_aggregate` in float32 against the formula in float64, on the same numbers."""
    mixture = a_mixture(case)
    sums, gradients = sums_and_gradients(gaussian_log_aggregate, [each.to(device) for each in mixture])
    expected_sums, expected_gradients = sums_and_gradients(by_formula, [each.double() for each in mixture])
    for mine, right in zip(sums, expected_sums, strict=True):
        # A log density of size s is rounded by some 1e-7 s, and a joint one once a latent.
        torch.testing.assert_close(mine.cpu().double(), right, rtol=3e-6, atol=3e-5)
    for mine, right in zip(gradients, expected_gradients, strict=True):
        torch.testing.assert_close(mine.cpu().double(), right, rtol=1e-4, atol=1e-5 * float(right.abs().max()))


def check_that_nothing_moves_nothing(device):
    """Where all weights are 0 the sums are -inf, and their gradients 0, not NaN."""
    z, loc, log_var, log_weights = (each.to(device) for each in a_mixture(Case(1, 5, 20, 2)))
    sums, gradients = sums_and_gradients(
        gaussian_log_aggregate, (z, loc, log_var, torch.full_like(log_weights, -math.inf))
    )
    assert all(bool((each == -math.inf).all()) for each in sums)
    assert all(bool((each == 0).all()) for each in gradients)
