"""The nets of disentanglement_lib, against its source."""

import math

import pytest
import torch
from torch import nn

from tests.models.nets import conv, linear, num_parameters
from unbraid.errors import SpecError
from unbraid.models import Autoencoder, DisentanglementLibConv
from unbraid.models.distributions import ConcreteLatents, GaussianLatents, GroupedLatents


def made(size=64):
    with torch.device("meta"):
        net = DisentanglementLibConv()
        return net.make_encoder((1, size, size), GaussianLatents(10)), net.make_decoder(10, (1, size, size))


@pytest.mark.parametrize(
    ("size", "kernels"), [(64, [4, 4, 2, 2]), (32, [4, 4, 2, 2]), (128, [4, 4, 2, 2, 2]), (48, [4, 4, 2, 2])]
)
def test_from_the_third_on_kernels_of_the_encoder_are_2_x_2_and_every_one_halves(size, kernels):
    encoder, decoder = made(size)
    convolutions = [m for m in encoder if isinstance(m, nn.Conv2d)]
    assert [m.kernel_size[0] for m in convolutions] == kernels
    assert all(m.stride == (2, 2) for m in convolutions)
    assert all(m.kernel_size == (4, 4) for m in decoder if isinstance(m, nn.ConvTranspose2d))
    images = torch.zeros(2, 1, size, size, device="meta")
    assert decoder(encoder(images)[:, :10]).shape == images.shape


def test_its_parameters_are_those_of_the_source():
    encoder, decoder = made()
    down = conv(1, 32) + conv(32, 32) + conv(32, 64, 2) + conv(64, 64, 2)
    assert num_parameters(encoder) == down + linear(1024, 256) + 2 * linear(256, 10) == 309_204
    up = conv(64, 64) + conv(64, 32) + conv(32, 32) + conv(32, 1)
    assert num_parameters(decoder) == linear(10, 256) + linear(256, 1024) + up == 381_313


def test_weights_start_where_glorot_has_them_and_biases_at_0():
    model = Autoencoder(DisentanglementLibConv(), latents=GaussianLatents(10)).build((1, 64, 64), seed=0)
    layers = [each for each in model.modules() if isinstance(each, nn.Linear | nn.Conv2d | nn.ConvTranspose2d)]
    assert len(layers) == 12
    assert all(not layer.bias.any() for layer in layers)
    fans = [16 + 16 * 32, 16 * 64, 4 * 96, 4 * 128, 1024 + 256]
    for layer, inputs_and_outputs in zip(layers, fans, strict=False):
        bound = math.sqrt(6 / inputs_and_outputs)
        assert 0.95 * bound < layer.weight.abs().max() <= bound
        assert layer.weight.std().item() == pytest.approx(bound / math.sqrt(3), rel=0.1)
    # Means and log-variances are two layers in the source, of 10 outputs each.
    bound = math.sqrt(6 / (256 + 10))
    assert math.sqrt(6 / (256 + 20)) < layers[5].weight.abs().max() <= bound


def test_what_it_cannot_be_is_refused():
    with pytest.raises(SpecError, match="DisentanglementLibConv: hidden"):
        DisentanglementLibConv(hidden=0)
    with pytest.raises(SpecError, match="DisentanglementLibConv: channels is"):
        DisentanglementLibConv(channels=())


def test_logits_of_a_discrete_latent_are_a_layer_of_their_own():
    latents = GroupedLatents((GaussianLatents(10), ConcreteLatents(30)))
    encoder = Autoencoder(DisentanglementLibConv(), latents=latents).build((1, 64, 64), seed=0).encoder
    weight = [each for each in encoder if isinstance(each, nn.Linear)][-1].weight
    for layer, size in zip(weight.split([10, 10, 30]), (10, 10, 30), strict=True):
        bound = math.sqrt(6 / (256 + size))
        assert 0.99 * bound < layer.abs().max() <= bound
        assert layer.std().item() == pytest.approx(bound / math.sqrt(3), rel=0.03)
