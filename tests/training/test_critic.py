"""Nets that tell codes, or images, apart."""

import pytest
import torch

from tests.models.nets import conv, linear, num_parameters
from unbraid.errors import SpecError
from unbraid.models.layers.initial_weights import seeded
from unbraid.training import Critic


@pytest.fixture(autouse=True)
def _shapes_without_numbers():
    """The nets draw their first weights from torch's global generator, which is not to be touched."""
    with torch.device("meta"):
        yield


@pytest.mark.parametrize(("num_outputs", "expected"), [(1, 4_016_001), (2, 4_017_002)])
def test_for_codes_its_parameters_are_those_of_do_and_tran(num_outputs, expected):
    critic = Critic().for_codes(10, num_outputs)
    assert num_parameters(critic) == linear(10, 1000) + 4 * linear(1000, 1000) + linear(1000, num_outputs) == expected
    assert [type(m).__name__ for m in critic] == ["Linear", "LeakyReLU"] * 5 + ["Linear"]
    assert {m.negative_slope for m in critic if isinstance(m, torch.nn.LeakyReLU)} == {0.2}
    assert critic(torch.zeros(7, 10)).shape == (7, num_outputs)


@pytest.mark.parametrize("shape", [(1, 28, 28), (3, 32, 32), (1, 64, 64), (3, 128, 128), (1, 17, 24)])
def test_for_images_convolutions_come_first(shape):
    critic = Critic(hidden=(16,)).for_images(shape, 1)
    assert critic(torch.zeros(2, *shape)).shape == (2, 1)
    features = (shape[1] // 16) * (shape[2] // 16) * 64
    convolutions = conv(shape[0], 32) + conv(32, 32) + conv(32, 64) + conv(64, 64)
    assert num_parameters(critic) == convolutions + linear(features, 16) + linear(16, 1)


def test_without_channels_pixels_are_read_as_they_are():
    assert num_parameters(Critic(hidden=(16,), channels=()).for_images((3, 8, 8), 2)) == linear(192, 16) + linear(16, 2)


def test_more_convolutions_than_an_image_can_be_halved_are_refused():
    with pytest.raises(SpecError, match=".1, 8, 8."):
        Critic(channels=(8, 8, 8, 8)).for_images((1, 8, 8), 1)


@pytest.mark.parametrize(
    ("init", "bounds"),
    [("truncated_normal", [0.04] * 3), ("glorot_uniform", [(6 / (16 * 5)) ** 0.5, (6 / 72) ** 0.5, (6 / 9) ** 0.5])],
)
def test_its_weights_start_where_they_are_asked_to(init, bounds):
    config = Critic(hidden=(8,), channels=(4,), init=init)
    with torch.device("cpu"):
        critic = seeded(lambda: config.for_images((1, 8, 8), 1), 0)
    layers = [m for m in critic.modules() if isinstance(m, torch.nn.Conv2d | torch.nn.Linear)]
    assert all(not layer.bias.any() for layer in layers)
    for layer, bound in zip(layers, bounds, strict=True):
        assert bound / 2 < layer.weight.abs().max() <= bound


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("hidden", ()),
        ("hidden", (0,)),
        ("channels", (8, 0)),
    ],
)
def test_what_it_cannot_be_is_refused_by_name(field, value):
    with pytest.raises(SpecError, match=f"Critic: {field} is"):
        Critic(**{field: value})
