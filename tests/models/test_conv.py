"""The convolutional nets, layer by layer."""

import pytest
import torch
from torch import nn

from tests.models.nets import num_parameters
from unbraid.errors import SpecError
from unbraid.models import Autoencoder, Conv
from unbraid.models.distributions import GaussianLatents
from unbraid.models.layers import strided_convolutions
from unbraid.models.layers.initial_weights import seeded

pytestmark = pytest.mark.usefixtures("_shapes_without_numbers")


def layers(module):
    """What a net is made of: the widths of layers with weights and the names of the others."""
    found = []
    for m in module:
        match m:
            case nn.Linear():
                found.append((m.in_features, m.out_features))
            case nn.Conv2d() | nn.ConvTranspose2d():
                assert (m.kernel_size, m.stride, m.padding) == ((4, 4), (2, 2), (1, 1))
                found.append((type(m).__name__, m.in_channels, m.out_channels))
            case _:
                found.append(type(m).__name__)
    return found


def test_the_default_is_the_net_of_do_and_tran():
    encoder, decoder = Conv().make_encoder((1, 64, 64), GaussianLatents(10)), Conv().make_decoder(10, (1, 64, 64))
    down = [
        ("Conv2d", 1, 32),
        "ReLU",
        ("Conv2d", 32, 32),
        "ReLU",
        ("Conv2d", 32, 64),
        "ReLU",
        ("Conv2d", 64, 64),
        "ReLU",
    ]
    assert layers(encoder) == [*down, "Flatten", (1024, 128), "ReLU", (128, 20)]
    up = ["ReLU", ("ConvTranspose2d", 64, 64), "ReLU", ("ConvTranspose2d", 64, 32)]
    up += ["ReLU", ("ConvTranspose2d", 32, 32), "ReLU", ("ConvTranspose2d", 32, 1)]
    assert layers(decoder) == [(10, 128), "ReLU", (128, 4 * 4 * 64), "Unflatten", *up]


def test_its_parameters_are_those_of_the_table():
    convolutions = (16 * 1 + 1) * 32 + (16 * 32 + 1) * 32 + (16 * 32 + 1) * 64 + (16 * 64 + 1) * 64
    deconvolutions = (16 * 64 + 1) * 64 + (16 * 64 + 1) * 32 + (16 * 32 + 1) * 32 + (16 * 32 + 1) * 1
    encoder, decoder = Conv().make_encoder((1, 64, 64), GaussianLatents(10)), Conv().make_decoder(10, (1, 64, 64))
    assert num_parameters(encoder) == convolutions + (1024 + 1) * 128 + (128 + 1) * 20 == 249_172
    assert num_parameters(decoder) == (10 + 1) * 128 + (128 + 1) * 1024 + deconvolutions == 248_833


def test_its_weights_at_64_pixels_are_those_of_plain_layers_made_in_the_same_order():
    def plain():
        down = [nn.Conv2d(*pair, 4, 2, 1) for pair in ((1, 32), (32, 32), (32, 64), (64, 64))]
        encoder = [*down, nn.Linear(1024, 128), nn.Linear(128, 20)]
        up = [nn.ConvTranspose2d(*pair, 4, 2, 1) for pair in ((64, 64), (64, 32), (32, 32), (32, 1))]
        return [*encoder, nn.Linear(10, 128), nn.Linear(128, 1024), *up]

    expected = [weight for layer in seeded(plain, 5) for weight in layer.parameters()]
    found = list(Autoencoder(Conv()).build((1, 64, 64), seed=5).parameters())
    assert [torch.equal(ours, theirs) for ours, theirs in zip(found, expected, strict=True)] == [True] * 24


def test_with_256_hidden_units_it_is_the_net_of_higgins_et_al_for_chairs_and_faces():
    convolutions = (16 * 3 + 1) * 32 + (16 * 32 + 1) * 32 + (16 * 32 + 1) * 64 + (16 * 64 + 1) * 64
    encoder = Conv(hidden=256).make_encoder((3, 64, 64), GaussianLatents(32))
    assert num_parameters(encoder) == convolutions + (1024 + 1) * 256 + (256 + 1) * 64 == 395_264
    deconvolutions = (16 * 64 + 1) * 64 + (16 * 64 + 1) * 32 + (16 * 32 + 1) * 32 + (16 * 32 + 1) * 3
    decoder = Conv(hidden=256).make_decoder(32, (3, 64, 64))
    assert num_parameters(decoder) == (32 + 1) * 256 + (256 + 1) * 1024 + deconvolutions == 387_971


@pytest.mark.parametrize("channels", [1, 3])
@pytest.mark.parametrize("size", [(16, 16), (28, 28), (33, 33), (64, 64), (48, 100), (128, 128), (255, 256)])
def test_it_takes_images_of_16_to_256_pixels_gray_or_colored(channels, size):
    shape = (channels, *size)
    assert Conv().make_encoder(shape, GaussianLatents(3))(torch.zeros(2, *shape)).shape == (2, 6)
    assert Conv().make_decoder(3, shape)(torch.zeros(2, 3)).shape == (2, *shape)


@pytest.mark.parametrize("size", [16, 48, 64, 96, 200])
def test_every_convolution_is_one_that_is_fast_on_a_gpu(size):
    nets = Conv().make_encoder((1, size, size), GaussianLatents(3)), Conv().make_decoder(3, (1, size, size))
    found = [layer for net in nets for layer in net if isinstance(layer, nn.Conv2d | nn.ConvTranspose2d)]
    assert all(isinstance(layer, strided_convolutions.Conv2d | strided_convolutions.ConvTranspose2d) for layer in found)
    assert len(found) == 2 * (4 + (size > 64) + (size > 128))


@pytest.mark.parametrize("channels", [(4,), (4, 5), (2, 3, 4, 5, 6)])
def test_each_convolution_halves_the_image(channels):
    config = Conv(channels=channels, hidden=8)
    assert config.make_encoder((1, 32, 32), GaussianLatents(3))(torch.zeros(2, 1, 32, 32)).shape == (2, 6)
    assert config.make_decoder(3, (1, 32, 32))(torch.zeros(2, 3)).shape == (2, 1, 32, 32)


def test_nothing_squashes_the_output():
    assert layers(Conv(channels=(4,), hidden=8).make_decoder(2, (1, 32, 32)))[-1] == ("ConvTranspose2d", 4, 1)


def test_it_has_no_buffers_that_training_would_change():
    nets = Conv().make_encoder((1, 32, 32), GaussianLatents(2)), Conv().make_decoder(2, (1, 32, 32))
    assert not [name for net in nets for name, _ in net.named_buffers()]


def test_images_of_28_pixels_go_through_the_net_for_32_in_a_frame():
    encoder, decoder = Conv().make_encoder((1, 28, 28), GaussianLatents(10)), Conv().make_decoder(10, (1, 28, 28))
    assert layers(encoder)[0] == layers(decoder)[-1] == "ZeroPad2d"
    assert layers(encoder[1:]) == layers(Conv().make_encoder((1, 32, 32), GaussianLatents(10)))
    assert layers(decoder[:-1]) == layers(Conv().make_decoder(10, (1, 32, 32)))


def test_images_of_128_pixels_take_one_layer_more_on_both_sides():
    encoder, decoder = Conv().make_encoder((1, 128, 128), GaussianLatents(10)), Conv().make_decoder(10, (1, 128, 128))
    plain, mirrored = Conv().make_encoder((1, 64, 64), GaussianLatents(10)), Conv().make_decoder(10, (1, 64, 64))
    one_more = (16 * 64 + 1) * 64
    assert num_parameters(encoder) == num_parameters(plain) + one_more
    assert num_parameters(decoder) == num_parameters(mirrored) + one_more


@pytest.mark.parametrize("shape", [(1, 8, 8), (1, 64, 12), (2, 64, 64), (1, 257, 257)])
def test_other_images_are_refused_with_their_shape(shape):
    said = "{} x {} x {}".format(*shape)
    with pytest.raises(SpecError, match=f"{said}.*16 to 256 .*MLP"):
        Conv().make_encoder(shape, GaussianLatents(10))
    with pytest.raises(SpecError, match=said):
        Conv().make_decoder(10, shape)


@pytest.mark.parametrize("channels", [(), (32, 0), (1, 1, 1, 1, 1, 1)])
def test_channels_that_are_none_or_too_many_are_refused(channels):
    with pytest.raises(SpecError, match="Conv: channels is"):
        Conv(channels=channels)


def test_no_hidden_units_are_refused():
    with pytest.raises(SpecError, match="Conv: hidden is 0"):
        Conv(hidden=0)
