"""Draws from the prior for each category of a discrete latent."""

import pytest
import torch

from unbraid.errors import CodesError
from unbraid.models import MLP, Autoencoder, category_samples
from unbraid.models.distributions import BernoulliLatents, ConcreteLatents, GaussianLatents, GroupedLatents

PARTS = (GaussianLatents(2), ConcreteLatents(3), BernoulliLatents(1))
MODEL = Autoencoder(MLP(hidden=(8,)), MLP(hidden=(8,)), latents=GroupedLatents(PARTS)).build((1, 4, 4), seed=0)


def test_each_row_is_the_prior_with_one_category_put_in():
    made = category_samples(MODEL, num_draws=5, seed=7)
    assert made.labels == ("category 0", "category 1", "category 2")
    codes, _ = MODEL.prior_draws(torch.arange(5), 7)
    for category, strip in enumerate(made.strips):
        put = codes.clone()
        put[:, 2:5] = torch.eye(3)[category]
        assert torch.equal(strip.frames, MODEL.decode(put).detach())


def test_the_draw_whose_own_category_it_is_is_that_of_the_model():
    made, samples = category_samples(MODEL, num_draws=6, seed=3), MODEL.sample(6, seed=3)
    codes, _ = MODEL.prior_draws(torch.arange(6), 3)
    for draw, category in enumerate(codes[:, 2:5].argmax(dim=1).tolist()):
        assert torch.equal(made.strips[category].frames[draw], samples[draw].detach())


def test_a_binary_latent_has_two_categories():
    made = category_samples(MODEL, 3, num_draws=4)
    assert [strip.latent for strip in made.strips] == [3, 3]
    assert len(made.strips[0].frames) == 4


def test_what_has_no_categories_is_told():
    with pytest.raises(CodesError, match="2, 3"):
        category_samples(MODEL, 0)
    with pytest.raises(CodesError, match="num_draws is 0"):
        category_samples(MODEL, num_draws=0)
    plain = Autoencoder(MLP(hidden=(8,)), MLP(hidden=(8,)), latents=GaussianLatents(2)).build((1, 4, 4), seed=0)
    with pytest.raises(CodesError, match="0 discrete latents"):
        category_samples(plain)
