"""The fully connected nets, layer by layer."""

import pytest
import torch
from torch import nn

from tests.models.nets import num_parameters
from unbraid.errors import SpecError
from unbraid.models import MLP
from unbraid.models.distributions import GaussianLatents

pytestmark = pytest.mark.usefixtures("_shapes_without_numbers")


def layers(module):
    """What a net is made of: the widths of linear layers and the names of the others."""
    return [(m.in_features, m.out_features) if isinstance(m, nn.Linear) else type(m).__name__ for m in module]


def test_the_default_is_the_net_of_chen_et_al():
    encoder, decoder = MLP().make_encoder((1, 64, 64), GaussianLatents(10)), MLP().make_decoder(10, (1, 64, 64))
    assert layers(encoder) == ["Flatten", (4096, 1200), "ReLU", (1200, 1200), "ReLU", (1200, 20)]
    assert layers(decoder) == [
        (10, 1200),
        "Tanh",
        (1200, 1200),
        "Tanh",
        (1200, 1200),
        "Tanh",
        (1200, 4096),
        "Unflatten",
    ]
    assert num_parameters(encoder) == (4096 + 1) * 1200 + (1200 + 1) * 1200 + (1200 + 1) * 20 == 6_381_620
    assert num_parameters(decoder) == (10 + 1) * 1200 + 2 * (1200 + 1) * 1200 + (1200 + 1) * 4096 == 7_814_896


@pytest.mark.parametrize("shape", [(1, 8, 8), (3, 8, 8), (1, 28, 28), (3, 5, 7)])
def test_it_takes_images_of_any_shape(shape):
    config = MLP(hidden=(16,), decoder_hidden=(16,))
    assert config.make_encoder(shape, GaussianLatents(3))(torch.zeros(2, *shape)).shape == (2, 6)
    assert config.make_decoder(3, shape)(torch.zeros(2, 3)).shape == (2, *shape)


def test_nothing_squashes_the_output():
    assert layers(MLP().make_decoder(10, (1, 64, 64)))[-2:] == [(1200, 4096), "Unflatten"]


def test_it_has_no_buffers_that_training_would_change():
    nets = MLP().make_encoder((1, 8, 8), GaussianLatents(2)), MLP().make_decoder(2, (1, 8, 8))
    assert not [name for net in nets for name, _ in net.named_buffers()]


@pytest.mark.parametrize("field", ["hidden", "decoder_hidden"])
@pytest.mark.parametrize("widths", [(), (0,), (4, -1)])
def test_widths_that_are_none_are_refused_by_name(field, widths):
    with pytest.raises(SpecError, match=f"MLP: {field} is"):
        MLP(**{field: widths})
