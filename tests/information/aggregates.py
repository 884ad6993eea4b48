"""Batches of Gaussian posteriors, for the tests of aggregates."""

import math
from typing import get_args

import torch

from unbraid.information.aggregate import Estimator, log_weights

ESTIMATORS = get_args(Estimator)


def weights_of(estimator, batch_size, dataset_size, weights=None):
    return log_weights(estimator, batch_size, dataset_size, weights, dtype=torch.float64).exp()


def gaussian_batch(num_images, num_latents, seed=0, spread=1.0, std=0.5):
    """Means and samples, and log q(z_i | n_j) of every pair, per latent."""
    generator = torch.Generator().manual_seed(seed)
    mean = spread * torch.randn(num_images, num_latents, dtype=torch.float64, generator=generator)
    z = mean + std * torch.randn(num_images, num_latents, dtype=torch.float64, generator=generator)
    return z, log_density(z[:, None], mean, std), log_density(z, mean, std), log_density(z, 0.0, 1.0)


def log_density(z, mean, std):
    return -0.5 * ((z - mean) / std) ** 2 - math.log(std) - 0.5 * math.log(2 * math.pi)
