"""The convolutional nets, layer by layer."""

import pytest
import torch
from torch import nn

from unbraid.errors import SpecError
from unbraid.models import Conv


@pytest.fixture(autouse=True)
def _shapes_without_numbers():
    """The nets draw their first weights from torch's global generator, which is not to be touched; here they have shapes only."""
    with torch.device("meta"):
        yield


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


def num_parameters(module):
    return sum(p.numel() for p in module.parameters())


def test_the_default_is_the_net_of_do_and_tran():
    encoder, decoder = Conv().make_encoder((1, 64, 64), 20), Conv().make_decoder(10, (1, 64, 64))
    down = [("Conv2d", 1, 32), "ReLU", ("Conv2d", 32, 32), "ReLU", ("Conv2d", 32, 64), "ReLU", ("Conv2d", 64, 64), "ReLU"]
    assert layers(encoder) == [*down, "Flatten", (1024, 128), "ReLU", (128, 20)]
    up = ["ReLU", ("ConvTranspose2d", 64, 64), "ReLU", ("ConvTranspose2d", 64, 32)]
    up += ["ReLU", ("ConvTranspose2d", 32, 32), "ReLU", ("ConvTranspose2d", 32, 1)]
    assert layers(decoder) == [(10, 128), "ReLU", (128, 4 * 4 * 64), "Unflatten", *up]


def test_its_parameters_are_those_of_the_table():
    convolutions = (16 * 1 + 1) * 32 + (16 * 32 + 1) * 32 + (16 * 32 + 1) * 64 + (16 * 64 + 1) * 64
    deconvolutions = (16 * 64 + 1) * 64 + (16 * 64 + 1) * 32 + (16 * 32 + 1) * 32 + (16 * 32 + 1) * 1
    encoder, decoder = Conv().make_encoder((1, 64, 64), 20), Conv().make_decoder(10, (1, 64, 64))
    assert num_parameters(encoder) == convolutions + (1024 + 1) * 128 + (128 + 1) * 20 == 249_172
    assert num_parameters(decoder) == (10 + 1) * 128 + (128 + 1) * 1024 + deconvolutions == 248_833


@pytest.mark.parametrize("channels", [1, 3])
@pytest.mark.parametrize("size", [32, 64])
def test_it_takes_images_of_32_and_64_pixels_grey_or_coloured(channels, size):
    shape = (channels, size, size)
    assert Conv().make_encoder(shape, 6)(torch.zeros(2, *shape)).shape == (2, 6)
    assert Conv().make_decoder(3, shape)(torch.zeros(2, 3)).shape == (2, *shape)


@pytest.mark.parametrize("channels", [(4,), (4, 5), (2, 3, 4, 5, 6)])
def test_each_convolution_halves_the_image(channels):
    recipe = Conv(channels=channels, hidden=8)
    assert recipe.make_encoder((1, 32, 32), 6)(torch.zeros(2, 1, 32, 32)).shape == (2, 6)
    assert recipe.make_decoder(3, (1, 32, 32))(torch.zeros(2, 3)).shape == (2, 1, 32, 32)


def test_nothing_squashes_the_output():
    assert layers(Conv(channels=(4,), hidden=8).make_decoder(2, (1, 32, 32)))[-1] == ("ConvTranspose2d", 4, 1)


def test_it_has_no_buffers_that_training_would_change():
    nets = Conv().make_encoder((1, 32, 32), 4), Conv().make_decoder(2, (1, 32, 32))
    assert not [name for net in nets for name, _ in net.named_buffers()]


@pytest.mark.parametrize("shape", [(1, 28, 28), (1, 64, 32), (2, 64, 64), (1, 128, 128)])
def test_other_images_are_refused_with_their_shape(shape):
    said = "{} x {} x {}".format(*shape)
    with pytest.raises(SpecError, match=f"32 or 64 pixels.*{said}.*Use MLP"):
        Conv().make_encoder(shape, 20)
    with pytest.raises(SpecError, match=said):
        Conv().make_decoder(10, shape)


@pytest.mark.parametrize("channels", [(), (32, 0), (1, 1, 1, 1, 1, 1)])
def test_channels_that_are_none_or_too_many_are_refused(channels):
    with pytest.raises(SpecError, match="Conv: channels is"):
        Conv(channels=channels)


def test_no_hidden_units_are_refused():
    with pytest.raises(SpecError, match="Conv: hidden is 0"):
        Conv(hidden=0)
