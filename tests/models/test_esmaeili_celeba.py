"""The nets of Esmaeili et al. for faces, against their table 5."""

import pytest
import torch
from torch import nn

from tests.models.nets import conv, linear, num_parameters
from unbraid.errors import SpecError
from unbraid.models import EsmaeiliCelebA
from unbraid.models.distributions import BernoulliLatents, GaussianLatents, GroupedLatents

pytestmark = pytest.mark.usefixtures("_shapes_without_numbers")


LATENTS = GroupedLatents((GaussianLatents(20), BernoulliLatents(2)))
BATCH_NORM = 2  # a scale and a shift for each channel


def test_its_parameters_are_those_of_the_table():
    encoder, decoder = (
        EsmaeiliCelebA().make_encoder((3, 64, 64), LATENTS),
        EsmaeiliCelebA().make_decoder(22, (3, 64, 64)),
    )
    down = sum(conv(a, b, bias=False) + BATCH_NORM * b for a, b in [(3, 32), (32, 32), (32, 64), (64, 64)])
    assert num_parameters(encoder) == down + 2 * linear(1024, 256) + 2 * linear(256, 20) + linear(1024, 2) == 653_738
    up = sum(conv(a, b, bias=False) + BATCH_NORM * b for a, b in [(64, 64), (64, 32), (32, 32)])
    assert num_parameters(decoder) == linear(22, 256) + linear(256, 1024) + up + conv(32, 3) == 385_539


def test_its_layers_are_those_of_the_table():
    encoder, decoder = (
        EsmaeiliCelebA().make_encoder((3, 64, 64), LATENTS),
        EsmaeiliCelebA().make_decoder(22, (3, 64, 64)),
    )
    assert [type(m).__name__ for m in encoder] == ["Conv2d", "BatchNorm2d", "ReLU"] * 4 + ["Flatten", "Branched"]
    up = ["ConvTranspose2d", "BatchNorm2d", "ReLU"] * 3 + ["ConvTranspose2d"]
    assert [type(m).__name__ for m in decoder] == ["Linear", "ReLU", "Linear", "Tanh", "Unflatten", *up]
    assert [m.out_channels for m in decoder if isinstance(m, nn.ConvTranspose2d)] == [64, 32, 32, 3]
    assert encoder(torch.zeros(2, 3, 64, 64)).shape == (2, 42)


def test_what_it_cannot_be_is_refused():
    with pytest.raises(SpecError, match="EsmaeiliCelebA: channels is"):
        EsmaeiliCelebA(channels=())
    with pytest.raises(SpecError, match="EsmaeiliCelebA: branch_width"):
        EsmaeiliCelebA(branch_width=0)
    with pytest.raises(SpecError, match="EsmaeiliCelebA: decoder_hidden"):
        EsmaeiliCelebA(decoder_hidden=0)
