"""The convolutional nets of Chen et al., against their table."""

import pytest
from torch import nn

from tests.models.nets import conv, linear, num_parameters
from unbraid.errors import SpecError
from unbraid.models import ChenConv
from unbraid.models.distributions import GaussianLatents

pytestmark = pytest.mark.usefixtures("_shapes_without_numbers")


BATCH_NORM = 2  # a scale and a shift for each channel


def test_its_layers_are_those_of_the_released_code():
    encoder, decoder = (
        ChenConv().make_encoder((1, 64, 64), GaussianLatents(10)),
        ChenConv().make_decoder(10, (1, 64, 64)),
    )
    normalized = ["BatchNorm2d", "ReLU"]
    assert [type(m).__name__.removeprefix("Tiled") for m in encoder] == ["Conv2d", *normalized] * 5 + [
        "Flatten",
        "Linear",
    ]
    assert [(m.out_channels, m.kernel_size[0], m.stride[0]) for m in encoder if isinstance(m, nn.Conv2d)] == [
        (32, 4, 2),
        (32, 4, 2),
        (64, 4, 2),
        (64, 4, 2),
        (512, 4, 1),
    ]
    names = ["Linear", "Unflatten", *normalized, *["ConvTranspose2d", *normalized] * 4, "ConvTranspose2d"]
    assert [type(m).__name__.removeprefix("Tiled") for m in decoder] == names
    assert [(m.out_channels, m.kernel_size[0], m.stride[0]) for m in decoder if isinstance(m, nn.ConvTranspose2d)] == [
        (64, 4, 1),
        (64, 4, 2),
        (32, 4, 2),
        (32, 4, 2),
        (1, 4, 2),
    ]


def test_its_parameters_are_those_of_the_table():
    encoder, decoder = (
        ChenConv().make_encoder((1, 64, 64), GaussianLatents(10)),
        ChenConv().make_decoder(10, (1, 64, 64)),
    )
    down = sum(conv(a, b, bias=False) + BATCH_NORM * b for a, b in [(1, 32), (32, 32), (32, 64), (64, 64), (64, 512)])
    assert num_parameters(encoder) == down + linear(512, 20) == 651_156
    up = sum(conv(a, b, bias=False) + BATCH_NORM * b for a, b in [(512, 64), (64, 64), (64, 32), (32, 32)])
    assert num_parameters(decoder) == linear(10, 512, bias=False) + BATCH_NORM * 512 + up + conv(32, 1) == 646_017


def test_at_32_pixels_the_last_convolution_covers_the_smaller_map():
    encoder = ChenConv().make_encoder((1, 32, 32), GaussianLatents(10))
    assert [m.kernel_size[0] for m in encoder if isinstance(m, nn.Conv2d)] == [4, 4, 4, 4, 2]


def test_what_it_cannot_be_is_refused():
    with pytest.raises(SpecError, match="ChenConv: hidden"):
        ChenConv(hidden=0)
    with pytest.raises(SpecError, match="ChenConv: channels is"):
        ChenConv(channels=())
