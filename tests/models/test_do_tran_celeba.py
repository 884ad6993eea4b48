"""The nets of Do & Tran for faces, against their table 3."""

import pytest
from torch import nn

from tests.models.nets import conv, linear, num_parameters
from unbraid.errors import SpecError
from unbraid.models import DoTranCelebA
from unbraid.models.distributions import GaussianLatents

pytestmark = pytest.mark.usefixtures("_shapes_without_numbers")


def test_its_layers_are_those_of_the_table():
    encoder, decoder = (
        DoTranCelebA().make_encoder((3, 64, 64), GaussianLatents(65)),
        DoTranCelebA().make_decoder(65, (3, 64, 64)),
    )
    assert [
        (m.out_channels, m.kernel_size[0], m.stride[0], m.padding[0]) for m in encoder if isinstance(m, nn.Conv2d)
    ] == [
        (32, 4, 2, 1),
        (32, 4, 2, 1),
        (64, 4, 2, 1),
        (64, 4, 2, 1),
        (256, 4, 1, 0),
    ]
    assert [
        (m.out_channels, m.kernel_size[0], m.stride[0], m.padding[0])
        for m in decoder
        if isinstance(m, nn.ConvTranspose2d)
    ] == [
        (64, 4, 1, 0),
        (64, 4, 2, 1),
        (32, 4, 2, 1),
        (32, 4, 2, 1),
        (3, 4, 2, 1),
    ]
    assert sum(isinstance(m, nn.ReLU) for m in encoder) == 5
    assert sum(isinstance(m, nn.ReLU) for m in decoder) == 5  # none on the output, where the table has one
    assert isinstance(decoder[-1], nn.ConvTranspose2d)


def test_its_parameters_are_those_of_the_table():
    encoder, decoder = (
        DoTranCelebA().make_encoder((3, 64, 64), GaussianLatents(65)),
        DoTranCelebA().make_decoder(65, (3, 64, 64)),
    )
    down = conv(3, 32) + conv(32, 32) + conv(32, 64) + conv(64, 64) + conv(64, 256)
    assert num_parameters(encoder) == down + 2 * linear(256, 65) == 412_226
    up = conv(256, 64) + conv(64, 64) + conv(64, 32) + conv(32, 32) + conv(32, 3)
    assert num_parameters(decoder) == linear(65, 256) + up == 395_459


def test_what_it_cannot_be_is_refused():
    with pytest.raises(SpecError, match="DoTranCelebA: hidden"):
        DoTranCelebA(hidden=0)
    with pytest.raises(SpecError, match="DoTranCelebA: channels is"):
        DoTranCelebA(channels=())
