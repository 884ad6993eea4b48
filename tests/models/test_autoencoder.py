"""Encoder, prior and decoder, put together."""

from dataclasses import dataclass, replace
from functools import partial
from typing import final

import numpy as np
import pytest
import torch
from torch import nn

from tests.training.squares import MLP_SPEC, PACKAGES
from unbraid.codes import Codes
from unbraid.errors import CodesError, DataError, SpecError
from unbraid.models import MLP, Architecture, Autoencoder, Conv
from unbraid.models.distributions import (
    BernoulliLikelihood,
    ConcreteLatents,
    GaussianLatents,
    GaussianLikelihood,
    GroupedLatents,
    LearnedCategories,
    LearnedGaussianLikelihood,
    LearnedGaussianPrior,
    StandardNormalPrior,
    UniformPrior,
)
from unbraid.objectives import VAE
from unbraid.training import train
from unbraid.training.fleet import Fleet
from unbraid.training.runs import Run
from unbraid.training.state import Member

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
    assert Autoencoder(SMALL).build(SHAPE, seed=0).prior == StandardNormalPrior()


def test_without_a_decoder_of_its_own_the_encoders_config_makes_it():
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


# What is saved


def test_what_was_learned_of_prior_and_likelihood_is_saved_with_the_weights(tmp_path):
    latents = GroupedLatents(
        (GaussianLatents(3, prior=LearnedGaussianPrior()), ConcreteLatents(4, prior=LearnedCategories()))
    )
    spec = replace(
        MLP_SPEC,
        model=Autoencoder(SMALL, latents=latents, likelihood=LearnedGaussianLikelihood()),
        objective=VAE(),
        num_steps=5,
    )
    (run,) = train([spec], seeds=[0], folder=tmp_path)
    fleet = Fleet([Member(spec, 0)], spec.dataset.load())
    for _ in range(5):
        fleet.advance()
    kept, trained = Run.open(run.folder, packages=PACKAGES).model().state_dict(), fleet.model(0).state_dict()
    initial = spec.model.build(spec.dataset.image_shape, seed=0).double().state_dict()
    learned = {name for name in kept if name.startswith(("prior_module.", "likelihood_module."))}
    assert {name.partition(".")[0] for name in learned} == {"prior_module", "likelihood_module"}
    for name, tensor in kept.items():
        assert torch.equal(tensor, trained[name])
    assert any(not torch.equal(kept[name], initial[name]) for name in learned if name.startswith("prior_module."))
    assert any(not torch.equal(kept[name], initial[name]) for name in learned if name.startswith("likelihood_module."))


# What cannot be


def test_images_that_its_nets_cannot_take_are_refused_without_weights():
    Autoencoder(Conv()).check((1, 64, 64))
    with pytest.raises(SpecError, match="1 x 8"):
        Autoencoder(Conv()).check((1, 8, 8))
    with pytest.raises(SpecError, match="1 x 8"):
        Autoencoder(encoder=SMALL, decoder=Conv()).check((1, 8, 8))


@final
@dataclass(frozen=True)
class Plain(Architecture):
    """An encoder and a decoder with one thing that may be wrong."""

    outputs: int = 20
    rows: int = 4
    pixels: int = 16
    extra: type[nn.Module] | None = None

    def make_encoder(self, image_shape, latents):
        extra = [] if self.extra is None else [self.extra()]
        return nn.Sequential(nn.Flatten(), nn.Linear(self.pixels, self.outputs), *extra)

    def make_decoder(self, num_inputs, image_shape):
        return nn.Sequential(nn.Linear(num_inputs, 4 * self.rows), nn.Unflatten(1, (1, self.rows, 4)))


def test_an_encoder_whose_output_does_not_fit_the_posterior_is_refused_with_the_fix():
    Autoencoder(Plain()).check(SHAPE)
    with pytest.raises(
        SpecError,
        match=("20 for GaussianLatents"),
    ):
        Autoencoder(Plain(outputs=7)).check(SHAPE)
    with pytest.raises(SpecError, match="8 for GaussianLatents"):
        Autoencoder(Plain(), latents=GaussianLatents(4)).check(SHAPE)


def test_an_encoder_of_images_of_another_size_is_refused_with_the_fix():
    with pytest.raises(SpecError, match=r"4, 4\).*16"):
        Autoencoder(Plain(pixels=9)).check(SHAPE)


def test_a_decoder_whose_output_is_not_the_image_is_refused_with_the_fix():
    with pytest.raises(SpecError, match="1 x 4 x 4"):
        Autoencoder(SMALL, decoder=Plain(rows=3)).check(SHAPE)


@pytest.mark.parametrize("layer", [nn.Dropout, nn.RReLU])
def test_a_layer_that_draws_random_numbers_is_refused(layer):
    with pytest.raises(SpecError, match=f"encoder Plain has a {layer.__name__};"):
        Autoencoder(Plain(extra=layer)).check(SHAPE)


def test_running_averages_are_for_batch_norm_and_it_must_have_them():
    Autoencoder(Plain(extra=partial(nn.BatchNorm1d, 20))).check(SHAPE)
    with pytest.raises(SpecError, match="track_running_stats=False.*=True"):
        Autoencoder(Plain(extra=partial(nn.BatchNorm1d, 20, track_running_stats=False))).check(SHAPE)

    class Images(nn.Module):
        def __init__(self):
            super().__init__()
            self.norm = nn.InstanceNorm1d(1, track_running_stats=True)

        def forward(self, x):
            return self.norm(x[:, None])[:, 0]

    with pytest.raises(SpecError, match="track_running_stats=True.*=False"):
        Autoencoder(Plain(extra=Images)).check(SHAPE)


MIXED = GroupedLatents((GaussianLatents(2), ConcreteLatents(3)))


def some_images(count=5):
    return torch.randint(0, 256, (count, *SHAPE), dtype=torch.uint8, generator=torch.Generator().manual_seed(0))


def test_images_may_be_bytes_arrays_or_floats():
    model, images = Autoencoder(SMALL).build(SHAPE, seed=0), some_images()
    expected = model.encode(images / 255).mean
    for given in (images, images[:, 0], images.numpy(), images.numpy()[:, 0] / 255, np.moveaxis(images.numpy(), 1, 3)):
        torch.testing.assert_close(model.encode(given).mean, expected)


def test_one_image_needs_no_axis_of_its_own():
    model = Autoencoder(SMALL).build((3, 4, 4), seed=0)
    image = torch.rand(3, 4, 4, generator=torch.Generator().manual_seed(0))
    assert torch.equal(model.reconstruct(image), model.reconstruct(image[None]))


def test_codes_may_be_arrays_lists_or_codes():
    model = Autoencoder(SMALL, latents=MIXED).build(SHAPE, seed=0)
    expected = model.decode(torch.tensor([[0.5, -1.0, 0.0, 1.0, 0.0]]))
    for given in ([[0.5, -1.0, 0, 1, 0]], np.array([[0.5, -1.0, 0.0, 1.0, 0.0]])):
        assert torch.equal(model.decode(given), expected)
    codes = Codes.from_arrays([[0.5, -1.0]] * 2, [[1.0, 1.0]] * 2, probabilities=[[[0.1, 0.8, 0.1]] * 2])
    torch.testing.assert_close(model.decode(codes), expected.expand(2, -1, -1, -1))


@pytest.mark.parametrize("given", [torch.zeros(2, 4), [0.0] * 5, np.zeros((1, 2, 5))])
def test_codes_of_another_shape_are_refused(given):
    with pytest.raises(CodesError, match=r", 5\)"):
        Autoencoder(SMALL, latents=MIXED).build(SHAPE, seed=0).decode(given)


def test_a_double_model_takes_them_too():
    model = Autoencoder(SMALL).build(SHAPE, seed=0).double()
    assert model.reconstruct(some_images()).dtype == model.sample(2).dtype == torch.float64


@pytest.mark.parametrize("given", [torch.zeros(2, 1, 5, 4), torch.zeros(2, 3, 4, 4), np.zeros((2, 9, 9))])
def test_images_of_another_shape_are_refused_with_what_the_model_takes(given):
    with pytest.raises(DataError, match="1 x 4"):
        Autoencoder(SMALL).build(SHAPE, seed=0).reconstruct(given)


def test_a_reconstruction_is_decoded_from_the_means_and_the_likeliest_categories():
    model = Autoencoder(SMALL, latents=MIXED).build(SHAPE, seed=0)
    posterior, code, images = model(some_images())
    likeliest = nn.functional.one_hot(posterior.probabilities[0].argmax(dim=1), 3)
    assert torch.equal(code, torch.cat([posterior.mean, likeliest], dim=1))
    assert torch.equal(images, model.decode(code))
    assert torch.equal(model.reconstruct(some_images()), images)


def test_samples_are_a_function_of_the_seed_and_the_first_of_many_are_those_of_few():
    model = Autoencoder(SMALL, latents=MIXED).build(SHAPE, seed=0)
    samples = model.sample(8, seed=3)
    assert samples.shape == (8, *SHAPE)
    torch.testing.assert_close(model.sample(2, seed=3), samples[:2])
    assert not torch.allclose(model.sample(8, seed=4), samples)


@final
class Copy(nn.Module):
    """A decoder that puts out its inputs."""

    def forward(self, z):
        return z[:, None, None, :]


def test_codes_are_drawn_from_the_prior_and_discrete_ones_are_categories():
    latents = GroupedLatents((GaussianLatents(2, UniformPrior(3.0, 5.0)), ConcreteLatents(3)))
    config = Autoencoder(SMALL, latents=latents, likelihood=GaussianLikelihood(), noise_inputs=2)
    model = config.build(SHAPE, seed=0)
    model.decoder = Copy()
    codes = model.sample(4000).flatten(1).double()
    uniform, category, noise = codes[:, :2], codes[:, 2:5], codes[:, 5:]
    assert 3 <= float(uniform.min()) <= float(uniform.max()) <= 5
    # Four standard errors of each mean: 0.58 / sqrt(4000), 0.47 / sqrt(4000) and 1 / sqrt(4000).
    torch.testing.assert_close(uniform.mean(dim=0), torch.full((2,), 4.0).double(), rtol=0, atol=0.037)
    assert set(category.flatten().tolist()) == {0.0, 1.0}
    assert bool((category.sum(dim=1) == 1).all())
    torch.testing.assert_close(category.mean(dim=0), torch.full((3,), 1 / 3).double(), rtol=0, atol=0.03)
    torch.testing.assert_close(noise.mean(dim=0), torch.zeros(2).double(), rtol=0, atol=0.064)


def test_no_samples_are_refused():
    with pytest.raises(SpecError, match="num_images is 0"):
        Autoencoder(SMALL).build(SHAPE, seed=0).sample(0)
