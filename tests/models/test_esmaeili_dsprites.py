"""The nets of Esmaeili et al. for sprites, against their table 4."""

import pytest
import torch

from tests.models.nets import linear, num_parameters
from unbraid.errors import SpecError
from unbraid.models import EsmaeiliDSprites
from unbraid.models.distributions import ConcreteLatents, GaussianLatents, GroupedLatents

pytestmark = pytest.mark.usefixtures("_shapes_without_numbers")


LATENTS = GroupedLatents((GaussianLatents(10), ConcreteLatents(3)))


def test_its_parameters_are_those_of_the_table():
    encoder, decoder = (
        EsmaeiliDSprites().make_encoder((1, 64, 64), LATENTS),
        EsmaeiliDSprites().make_decoder(13, (1, 64, 64)),
    )
    trunk = linear(4096, 1200) + linear(1200, 1200)
    assert num_parameters(encoder) == trunk + 2 * linear(1200, 400) + 2 * linear(400, 10) + linear(1200, 3) == 7_330_023
    assert (
        num_parameters(decoder)
        == linear(13, 400) + linear(400, 1200) + linear(1200, 1200) + linear(1200, 4096)
        == 6_847_296
    )


def test_it_puts_out_means_then_log_variances_then_logits():
    assert EsmaeiliDSprites().make_encoder((1, 64, 64), LATENTS)(torch.zeros(2, 1, 64, 64)).shape == (2, 23)


def test_its_decoder_has_tanh_between_layers_and_nothing_on_the_output():
    decoder = EsmaeiliDSprites().make_decoder(13, (1, 64, 64))
    assert [type(m).__name__ for m in decoder] == [
        "Linear",
        "Tanh",
        "Linear",
        "Tanh",
        "Linear",
        "Tanh",
        "Linear",
        "Unflatten",
    ]


def test_what_it_cannot_be_is_refused():
    with pytest.raises(SpecError, match="EsmaeiliDSprites: decoder_hidden is"):
        EsmaeiliDSprites(decoder_hidden=())
    with pytest.raises(SpecError, match="EsmaeiliDSprites: branch_width"):
        EsmaeiliDSprites(branch_width=0)
