"""BatchNorm: the statistics of a batch in training, those of all images ever after."""

from dataclasses import replace

import pytest
import torch
from torch import nn

from tests.training.squares import MLP_SPEC, PACKAGES, Squares
from unbraid.datasets import DSprites
from unbraid.models import Autoencoder, ChenConv, EsmaeiliCelebA, InfoGANConv, encode
from unbraid.models.batch_norm import set_population_statistics
from unbraid.models.distributions import GaussianLatents, UniformPrior
from unbraid.objectives import InfoGAN
from unbraid.training import train
from unbraid.training.fleet import Fleet
from unbraid.training.optimizers import Adam
from unbraid.training.runs import Run
from unbraid.training.state import Member

NETS = {
    "ChenConv": ChenConv(channels=(3, 4), hidden=8),
    "EsmaeiliCelebA": EsmaeiliCelebA(channels=(3, 4), branch_width=6, decoder_hidden=8),
}
SPECS = {
    name: replace(MLP_SPEC, dataset=Squares(32), model=Autoencoder(net, latents=GaussianLatents(3)), num_steps=12)
    for name, net in NETS.items()
}
each_net = pytest.mark.parametrize("spec", SPECS.values(), ids=SPECS)
IMAGES = Squares(32).load()


def trained(spec, *seeds):
    fleet = Fleet([Member(spec, seed) for seed in seeds], IMAGES)
    for _ in range(spec.num_steps):
        fleet.advance()
    return fleet


def fresh(seed=0):
    return SPECS["ChenConv"].model.build((1, 32, 32), seed).double()


def batch_norms(model):
    return [layer for layer in model.modules() if isinstance(layer, nn.modules.batchnorm._BatchNorm)]


# Statistics


def test_the_first_layers_statistics_are_those_of_its_input_over_all_images():
    model = fresh()
    set_population_statistics(model, IMAGES, seed=0)
    seen = model.encoder[0](IMAGES.pixels.double() / 255)
    torch.testing.assert_close(model.encoder[1].running_mean, seen.mean(dim=(0, 2, 3)))
    torch.testing.assert_close(model.encoder[1].running_var, seen.var(dim=(0, 2, 3), correction=0))


def test_with_all_images_in_one_batch_every_layer_does_after_training_what_it_did_in_training():
    model = fresh()
    x = IMAGES.pixels.double() / 255
    in_training = model.train().encoder(x)
    set_population_statistics(model, IMAGES, seed=0)
    assert not model.training
    torch.testing.assert_close(model.encoder(x), in_training)


def test_the_decoder_of_a_generator_has_the_statistics_of_draws_of_its_prior_and_of_its_noise():
    # The first layer is linear, without a bias: its variance is that of the inputs, 1/3 of a code from U(-1, 1) and 1
    # of noise, times the squares of its weights. Of 1,536 draws, errors of a variance are about 4 %, of the mean 3 %
    # of a standard deviation.
    sprites = DSprites(resolution=16, shapes=("heart",), num_orientations=1, num_positions=16)
    latents = GaussianLatents(2, prior=UniformPrior())
    model = Autoencoder(InfoGANConv(channels=(2,), hidden=6, head=4), latents=latents, noise_inputs=3)
    model = model.build(sprites.image_shape, 0).double()
    set_population_statistics(model, sprites.load(), seed=0, generates=True)
    weights = model.decoder[0].weight.square()
    expected = weights[:, :2].sum(dim=1) / 3 + weights[:, 2:].sum(dim=1)
    torch.testing.assert_close(model.decoder[1].running_var, expected, rtol=0.2, atol=0)
    assert (model.decoder[1].running_mean.abs() < 0.15 * expected.sqrt()).all()


def test_a_fleet_knows_a_generator_by_its_objective():
    model = Autoencoder(
        InfoGANConv(channels=(3, 4), hidden=8, head=6),
        latents=GaussianLatents(3, prior=UniformPrior()),
        noise_inputs=2,
    )
    spec = replace(MLP_SPEC, dataset=Squares(32), model=model, objective=InfoGAN(), num_steps=3)
    fleet = trained(spec, 0)
    found, by_hand = fleet.model(0), fleet.model(0)
    set_population_statistics(by_hand, IMAGES, seed=0, generates=True)
    for one, other in zip(batch_norms(found), batch_norms(by_hand), strict=True):
        assert torch.equal(one.running_var, other.running_var)


def test_batches_are_of_any_images_not_of_neighbors():
    # Images lie sorted by factor. Batches of neighbors differ from each other, and the mean of their variances is far
    # below the variance of all.
    model, sorted_by_brightness = fresh(), replace(IMAGES, pixels=IMAGES.pixels.clone())
    sorted_by_brightness.pixels[18:] = 255
    set_population_statistics(model, sorted_by_brightness, seed=0, batch_size=9)
    seen = model.encoder[0](sorted_by_brightness.pixels.double() / 255)
    torch.testing.assert_close(model.encoder[1].running_var, seen.var(dim=(0, 2, 3), correction=0))
    deep_in_batches = model.encoder[4].running_var.clone()
    set_population_statistics(model, sorted_by_brightness, seed=0, batch_size=36)
    # Four batches of nine, each normalized by itself, against one of all: near, not equal.
    torch.testing.assert_close(deep_in_batches, model.encoder[4].running_var, rtol=0.3, atol=0)


@pytest.mark.parametrize("batch_size", [2, 5, 35, 1000])
def test_no_batch_is_of_one_image(batch_size):
    model = fresh()
    set_population_statistics(model, IMAGES, seed=0, batch_size=batch_size)
    assert all(bool(layer.running_var.isfinite().all()) for layer in batch_norms(model))


def test_images_are_weighted_as_in_training():
    model = fresh()
    weights = torch.zeros(36)
    weights[7] = weights[20] = 0.5
    set_population_statistics(model, replace(IMAGES, weights=weights), seed=0)
    brightness = model.encoder[0](IMAGES.pixels[[7, 20]].double() / 255).mean(
        dim=(2, 3)
    )  # of the two images that can be drawn
    low, high = brightness.min(dim=0).values - 1e-9, brightness.max(dim=0).values + 1e-9
    assert bool(((low <= model.encoder[1].running_mean) & (model.encoder[1].running_mean <= high)).all())


def test_no_hook_is_left_behind():
    model = fresh()
    set_population_statistics(model, IMAGES, seed=0)
    assert not any(layer._forward_pre_hooks for layer in batch_norms(model))


def test_nor_is_one_if_the_model_fails():
    model = fresh()
    model.encoder.append(nn.Unflatten(1, (5, 5)))  # 6 numbers do not fit
    with pytest.raises(RuntimeError):
        set_population_statistics(model, IMAGES, seed=0)
    assert not model.training
    assert not any(layer._forward_pre_hooks for layer in batch_norms(model))


def test_it_is_a_function_of_the_seed():
    one, two, other = fresh(), fresh(), fresh()
    for model, seed in ((one, 3), (two, 3), (other, 4)):
        set_population_statistics(model, IMAGES, seed=seed)
    last = [batch_norms(model)[-1].running_var for model in (one, two, other)]
    assert torch.equal(last[0], last[1])
    assert not torch.equal(last[0], last[2])


# In a fleet


@each_net
def test_a_member_is_the_same_alone_and_in_company(spec):
    alone, company = trained(spec, 3), trained(spec, 0, 3, 1)
    torch.testing.assert_close(company.weights[1], alone.weights[0], rtol=0, atol=1e-8)
    torch.testing.assert_close(
        encode(company.model(1), IMAGES).mean, encode(alone.model(0), IMAGES).mean, rtol=0, atol=1e-7
    )


@each_net
def test_codes_do_not_depend_on_the_batch_they_are_encoded_in(spec):
    model = trained(spec, 0).model(0)
    assert not model.training
    together, one_by_one = encode(model, IMAGES), encode(model, IMAGES, batch_size=1)
    torch.testing.assert_close(together.mean, one_by_one.mean)
    torch.testing.assert_close(together.std, one_by_one.std)


@each_net
def test_a_run_read_back_gives_the_same_codes(spec, tmp_path):
    (run,) = train([spec], seeds=[0], folder=tmp_path)
    model = Run.open(run.folder, packages=PACKAGES).model()
    assert not model.training
    assert all(bool((layer.running_mean != 0).any()) for layer in batch_norms(model))
    codes = encode(model, IMAGES)
    assert torch.equal(codes.mean, run.codes().mean)
    assert torch.equal(codes.std, run.codes().std)


@each_net
def test_it_learns(spec):
    fleet = Fleet([Member(replace(spec, optimizer=Adam(1e-2), num_steps=30), 0)], IMAGES)
    losses = [fleet.advance()["loss"].item() for _ in range(30)]
    assert losses[-1] < 0.6 * losses[0]
