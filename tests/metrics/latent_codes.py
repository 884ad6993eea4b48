"""Codes for the tests of metrics that look at latents alone."""

import dataclasses
import itertools

import torch

from unbraid.codes import Codes


def random_codes(seed, num_images=30, num_latents=3):
    generator = torch.Generator().manual_seed(seed)
    mean = torch.randn(num_images, num_latents, dtype=torch.float64, generator=generator)
    mean[:, -1] += mean[:, 0]
    std = torch.exp(torch.randn(num_images, num_latents, dtype=torch.float64, generator=generator) / 2 - 1)
    return Codes(mean, std)


def correlated_codes(seed, num_images=30, num_latents=2, rho=0.6):
    """The same with posteriors whose latents correlate."""
    codes = random_codes(seed, num_images, num_latents)
    correlation = (1 - rho) * torch.eye(num_latents, dtype=torch.float64) + rho
    return dataclasses.replace(codes, std=None, covariance=codes.std[:, :, None] * correlation * codes.std[:, None])


def grid(sizes=(4, 5), std=0.3):
    """Every combination of values, each on a latent of its own: latents are independent."""
    mean = torch.tensor(list(itertools.product(*(range(size) for size in sizes))), dtype=torch.float64)
    return Codes(mean, std * torch.ones_like(mean) * torch.arange(1, len(sizes) + 1))


def prior_like(num_images, num_latents):
    return Codes(
        torch.zeros(num_images, num_latents, dtype=torch.float64),
        torch.ones(num_images, num_latents, dtype=torch.float64),
    )


def with_noise(codes, num_noise):
    """With latents that are the prior for every image."""
    noise = torch.zeros(len(codes), num_noise, dtype=torch.float64)
    return dataclasses.replace(
        codes, mean=torch.cat([codes.mean, noise], dim=1), std=torch.cat([codes.std, noise + 1], dim=1)
    )


def latents(codes, index):
    return dataclasses.replace(codes, mean=codes.mean[:, index], std=codes.std[:, index])


def rows(codes, index):
    return dataclasses.replace(codes, mean=codes.mean[index], std=codes.std[index])
