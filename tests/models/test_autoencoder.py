"""Encoder, prior and decoder, put together."""

import pytest
import torch
from torch import nn

from unbraid.distributions import BernoulliLikelihood, GaussianLatents, GaussianLikelihood, StandardNormal
from unbraid.errors import SpecError
from unbraid.models import MLP, Autoencoder, Conv

SMALL = MLP(hidden=(8,), decoder_hidden=(6, 6))
SHAPE = (1, 4, 4)


def weights(model):
    return {name: parameter.detach() for name, parameter in model.named_parameters()}


def test_the_encoder_puts_out_what_the_latents_take():
    model = Autoencoder(SMALL, latents=GaussianLatents(3)).build(SHAPE, seed=0)
    posterior = model.encode(torch.rand(5, *SHAPE, generator=torch.Generator().manual_seed(0)))
    assert posterior.mean.shape == posterior.std.shape == (5, 3)


def test_a_code_is_decoded_to_the_mean_image():
    z = torch.randn(5, 10, generator=torch.Generator().manual_seed(0))
    bernoulli = Autoencoder(SMALL, likelihood=BernoulliLikelihood()).build(SHAPE, seed=0)
    gaussian = Autoencoder(SMALL, likelihood=GaussianLikelihood()).build(SHAPE, seed=0)
    torch.testing.assert_close(bernoulli.decode(z), torch.sigmoid(gaussian.decode(z)))
    assert bernoulli.decode(z).shape == (5, *SHAPE)


def test_the_prior_is_the_standard_normal():
    assert Autoencoder(SMALL).build(SHAPE, seed=0).prior == StandardNormal()


def test_without_a_decoder_of_its_own_the_encoders_recipe_makes_it():
    model = Autoencoder(SMALL).build(SHAPE, seed=0)
    assert [m.out_features for m in model.decoder if isinstance(m, nn.Linear)] == [6, 6, 16]


def test_encoder_and_decoder_may_be_of_different_kinds():
    model = Autoencoder(encoder=Conv(channels=(2,), hidden=4), decoder=SMALL).build((1, 32, 32), seed=0)
    assert isinstance(model.encoder[0], nn.Conv2d)
    assert isinstance(model.decoder[0], nn.Linear)


# The seed decides


def test_the_same_seed_builds_the_same_model():
    one, two = (weights(Autoencoder(SMALL).build(SHAPE, seed=5)) for _ in range(2))
    for name in one:
        assert torch.equal(one[name], two[name])


def test_another_seed_builds_another_model():
    one, two = (weights(Autoencoder(SMALL).build(SHAPE, seed=seed)) for seed in (0, 1))
    assert not any(torch.equal(one[name], two[name]) for name in one)


@pytest.mark.parametrize("seed", [-1, 2**63 - 1, -(2**63)])
def test_any_64_bit_seed_will_do(seed):
    assert all(bool(w.isfinite().all()) for w in weights(Autoencoder(SMALL).build(SHAPE, seed)).values())


def test_no_generator_is_left_changed(monkeypatch):
    # torch.manual_seed would reach those of the graphics cards too, which fork_rng does not put back unless told.
    monkeypatch.setattr(torch.cuda, "manual_seed_all", lambda seed: pytest.fail("seeded the graphics cards"))
    before = torch.get_rng_state()
    Autoencoder(SMALL).build(SHAPE, seed=7)
    assert torch.equal(torch.get_rng_state(), before)


def test_what_was_drawn_before_does_not_matter():
    first = weights(Autoencoder(SMALL).build(SHAPE, seed=7))
    with torch.random.fork_rng(devices=[]):
        torch.rand(3)
        again = weights(Autoencoder(SMALL).build(SHAPE, seed=7))
    for name in first:
        assert torch.equal(first[name], again[name])


def test_a_model_is_made_on_the_cpu_whatever_the_default_device():
    with torch.device("meta"):
        model = Autoencoder(SMALL).build(SHAPE, seed=7)
    assert {parameter.device.type for parameter in model.parameters()} == {"cpu"}


def test_images_that_its_nets_cannot_take_are_refused_without_weights():
    Autoencoder(Conv()).check((1, 64, 64))
    with pytest.raises(SpecError, match="1 x 28 x 28"):
        Autoencoder(Conv()).check((1, 28, 28))
    with pytest.raises(SpecError, match="1 x 28 x 28"):
        Autoencoder(encoder=SMALL, decoder=Conv()).check((1, 28, 28))
