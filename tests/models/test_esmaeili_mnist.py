"""The nets of Esmaeili et al. for digits, against their table 3."""

import pytest
import torch
from torch import nn

from tests.models.nets import linear, num_parameters
from unbraid.errors import SpecError
from unbraid.models import EsmaeiliMNIST
from unbraid.models.distributions import ConcreteLatents, GaussianLatents, GroupedLatents

pytestmark = pytest.mark.usefixtures("_shapes_without_numbers")


LATENTS = GroupedLatents((GaussianLatents(10), ConcreteLatents(10)))


def test_its_parameters_are_those_of_the_table():
    encoder, decoder = EsmaeiliMNIST().make_encoder((1, 28, 28), LATENTS), EsmaeiliMNIST().make_decoder(20, (1, 28, 28))
    assert (
        num_parameters(encoder)
        == linear(784, 400) + 2 * linear(400, 200) + 2 * linear(200, 10) + linear(400, 10)
        == 482_430
    )
    assert num_parameters(decoder) == linear(20, 200) + linear(200, 400) + linear(400, 784) == 398_984


def test_it_puts_out_means_then_log_variances_then_logits():
    assert EsmaeiliMNIST().make_encoder((1, 28, 28), LATENTS)(torch.zeros(2, 1, 28, 28)).shape == (2, 30)


def test_its_decoder_has_relu_between_layers_and_nothing_on_the_output():
    decoder = EsmaeiliMNIST().make_decoder(20, (1, 28, 28))
    assert [type(m).__name__ for m in decoder] == ["Linear", "ReLU", "Linear", "ReLU", "Linear", "Unflatten"]
    assert isinstance(decoder, nn.Sequential)


def test_it_takes_images_of_any_size():
    assert EsmaeiliMNIST().make_encoder((3, 5, 7), LATENTS)(torch.zeros(2, 3, 5, 7)).shape == (2, 30)


def test_what_it_cannot_be_is_refused():
    with pytest.raises(SpecError, match="EsmaeiliMNIST: hidden is"):
        EsmaeiliMNIST(hidden=())
    with pytest.raises(SpecError, match="EsmaeiliMNIST: branch_width"):
        EsmaeiliMNIST(branch_width=0)
