"""The covariance of codes, against numpy and against draws."""

import numpy as np
import torch

from unbraid.models.distributions import DiagonalGaussian
from unbraid.objectives.terms.covariance import covariance_of_batch, covariance_of_means, expected_covariance


def a_posterior(batch=7, latents=3):
    generator = torch.Generator().manual_seed(0)
    loc, log_var = (torch.randn(batch, latents, dtype=torch.float64, generator=generator) for _ in range(2))
    return DiagonalGaussian(loc + 3, log_var)


def test_that_of_the_means_divides_by_the_number_of_images():
    posterior = a_posterior()
    expected = torch.from_numpy(np.cov(posterior.mean.numpy(), rowvar=False, ddof=0))
    torch.testing.assert_close(covariance_of_means(posterior), expected)


def test_what_is_expected_given_an_image_is_a_diagonal_matrix_of_mean_variances():
    # Two peers take torch.diag of the table of variances: one number, added to every entry.
    posterior = a_posterior()
    expected = torch.from_numpy(np.diag((posterior.std.numpy() ** 2).mean(axis=0)))
    torch.testing.assert_close(expected_covariance(posterior), expected)


def test_that_of_codes_is_that_of_their_draws():
    posterior = a_posterior()
    noise = torch.randn(50_000, *posterior.mean.shape, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    draws = (posterior.mean + posterior.std * noise).flatten(0, 1)
    # 350,000 draws of variance about 3: the error of an entry is about 0.01.
    torch.testing.assert_close(covariance_of_batch(posterior, "ii"), draws.T.cov(correction=0), atol=0.05, rtol=0)
    torch.testing.assert_close(
        covariance_of_batch(posterior, "ii"), covariance_of_means(posterior) + expected_covariance(posterior)
    )
