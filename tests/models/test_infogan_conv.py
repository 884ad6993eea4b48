"""The nets of InfoGAN, against the released code."""

import pytest

from tests.models.nets import conv, linear, num_parameters
from unbraid.errors import SpecError
from unbraid.models import InfoGANConv
from unbraid.models.distributions import GaussianLatents

pytestmark = pytest.mark.usefixtures("_shapes_without_numbers")

LEAKY, RELU = ["BatchNorm2d", "LeakyReLU"], ["BatchNorm1d", "ReLU"]


def names(layers):
    return [type(layer).__name__ for layer in layers]


def test_its_layers_are_those_of_the_released_code_for_mnist():
    trunk, head = InfoGANConv().make_encoder((1, 32, 32), GaussianLatents(2))
    assert names(trunk) == ["Conv2d", "LeakyReLU", "Conv2d", *LEAKY, "Flatten", "Linear", "BatchNorm1d", "LeakyReLU"]
    assert names(head) == ["Linear", "BatchNorm1d", "LeakyReLU", "Linear"]
    decoder = InfoGANConv().make_decoder(12, (1, 32, 32))
    up = ["ConvTranspose2d", "BatchNorm2d", "ReLU", "ConvTranspose2d"]
    assert names(decoder) == ["Linear", *RELU, "Linear", *RELU, "Unflatten", *up]


def test_its_parameters_counted_from_the_widths_of_the_released_code():
    encoder = InfoGANConv().make_encoder((1, 32, 32), GaussianLatents(2))
    convolutions = conv(1, 64) + conv(64, 128, bias=False) + 2 * 128
    layers = linear(128 * 8 * 8, 1024, bias=False) + 2 * 1024 + linear(1024, 128, bias=False) + 2 * 128
    assert num_parameters(encoder) == convolutions + layers + linear(128, 4)
    decoder = InfoGANConv().make_decoder(12, (1, 32, 32))
    layers = linear(12, 1024, bias=False) + 2 * 1024 + linear(1024, 128 * 8 * 8, bias=False) + 2 * 128 * 8 * 8
    assert num_parameters(decoder) == layers + conv(128, 64, bias=False) + 2 * 64 + conv(64, 1)


def test_the_critics_side_may_be_without_batch_norm():
    trunk, head = InfoGANConv(trunk_batch_norm=False).make_encoder((1, 32, 32), GaussianLatents(2))
    assert not any("BatchNorm" in name for name in names(trunk) + names(head))
    assert all(layer.bias is not None for layer in (trunk[2], trunk[5], head[0]))


def test_what_it_cannot_be_is_refused():
    for name in ("hidden", "head"):
        with pytest.raises(SpecError, match=f"InfoGANConv: {name} is 0"):
            InfoGANConv(**{name: 0})
    with pytest.raises(SpecError, match="InfoGANConv: channels is"):
        InfoGANConv(channels=())
