"""The spatial broadcast decoder."""

import pytest
import torch
from torch import nn

from tests.models.nets import a_draw, conv, linear, num_parameters
from unbraid.errors import SpecError
from unbraid.models import Autoencoder, SpatialBroadcast
from unbraid.models.distributions import GaussianLatents


def test_its_parameters_are_those_of_the_table():
    with torch.device("meta"):
        encoder, decoder = (
            SpatialBroadcast().make_encoder((3, 64, 64), GaussianLatents(10)),
            SpatialBroadcast().make_decoder(10, (3, 64, 64)),
        )
    down = conv(3, 64) + 3 * conv(64, 64)
    assert num_parameters(encoder) == down + linear(4 * 4 * 64, 256) + linear(256, 20) == 467_476
    assert num_parameters(decoder) == conv(10 + 2, 64, 3) + conv(64, 64, 3) + conv(64, 3, 3) == 45_635


def test_the_code_is_at_every_pixel_beside_where_the_pixel_is():
    with torch.device("meta"):
        broadcast = SpatialBroadcast().make_decoder(2, (1, 32, 32))[0]
    painted = broadcast(a_draw(3, 2))
    assert painted.shape == (3, 4, 32, 32)
    assert torch.equal(painted[:, :2], a_draw(3, 2)[:, :, None, None].expand(3, 2, 32, 32))
    line = torch.linspace(-1, 1, 32, dtype=torch.float64)
    assert torch.equal(painted[1, 2], line[:, None].expand(32, 32))
    assert torch.equal(painted[1, 3], line[None, :].expand(32, 32))


def test_it_keeps_the_size_and_has_no_squashing():
    with torch.device("meta"):
        decoder = SpatialBroadcast().make_decoder(4, (1, 28, 28))
    assert [(m.kernel_size, m.stride, m.padding) for m in decoder if isinstance(m, nn.Conv2d)] == [
        ((3, 3), (1, 1), (1, 1))
    ] * 3
    assert isinstance(decoder[-1], nn.Conv2d)


def test_it_may_decode_for_any_encoder_of_another_kind():
    Autoencoder(decoder=SpatialBroadcast()).check((1, 64, 64))


def test_what_it_cannot_be_is_refused():
    with pytest.raises(SpecError, match="SpatialBroadcast: decoder_channels is"):
        SpatialBroadcast(decoder_channels=())
    with pytest.raises(SpecError, match="SpatialBroadcast: channels is"):
        SpatialBroadcast(channels=())
    with pytest.raises(SpecError, match="16 to 256"):
        SpatialBroadcast().make_decoder(10, (1, 8, 8))
