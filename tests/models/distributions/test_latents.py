"""How an encoder's output becomes a posterior."""

import pytest
import torch

from unbraid.errors import SpecError
from unbraid.models.distributions import BernoulliLatents, DiagonalGaussian, GaussianLatents


def test_means_come_first_and_log_variances_after():
    posterior = GaussianLatents(2).posterior(torch.tensor([[1.0, 2.0, 3.0, 4.0], [5.0, 6.0, 7.0, 8.0]]), torch.ones(()))
    assert isinstance(posterior, DiagonalGaussian)
    assert posterior.loc.tolist() == [[1.0, 2.0], [5.0, 6.0]]
    assert posterior.log_var.tolist() == [[3.0, 4.0], [7.0, 8.0]]


def test_ten_latents_take_twenty_numbers():
    assert (GaussianLatents().num_latents, GaussianLatents().num_parameters) == (10, 20)


def test_one_latent_is_enough():
    assert GaussianLatents(1).posterior(torch.zeros(3, 2), torch.ones(())).mean.shape == (3, 1)


@pytest.mark.parametrize("size", [0, -1])
def test_no_latents_are_refused(size):
    with pytest.raises(SpecError, match=f"size is {size}"):
        GaussianLatents(size)


@pytest.mark.parametrize(("size", "given"), [(11, "2,048"), (1_000_000, r"2\^64")])
def test_too_many_combinations_of_categories_are_refused_with_their_number(size, given):
    with pytest.raises(SpecError, match=given):
        BernoulliLatents(size, measure="summed", hard=True)
