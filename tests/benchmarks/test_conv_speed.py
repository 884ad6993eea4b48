"""The benchmark of convolutions runs every way, and the ways compute the same. How long they take is not tested."""

import pytest
import torch
from torch import nn

from benchmarks.conv_speed import PRECISIONS, SMALL, WAYS, Nets, measure, step_of
from unbraid.models.layers.strided_convolutions import Conv2d, ConvTranspose2d

pytestmark = pytest.mark.slow


def test_only_our_nets_have_our_layers():
    with torch.device("meta"):
        ours, torchs = Nets(ours=True), Nets(ours=False)
    assert sum(isinstance(layer, Conv2d | ConvTranspose2d) for layer in ours.modules()) == 8
    assert sum(type(layer) in (nn.Conv2d, nn.ConvTranspose2d) for layer in torchs.modules()) == 8
    assert [(name, each.shape) for name, each in ours.named_parameters()] == [
        (name, each.shape) for name, each in torchs.named_parameters()
    ]


def test_all_ways_give_the_same_gradients():
    expected, *others = [step_of(way, "tf32", SMALL, "cpu")() for way in WAYS]
    assert all(each.abs().sum() > 0 for each in expected.values())
    for gradients in others:
        torch.testing.assert_close(gradients, expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("precision", PRECISIONS)
@pytest.mark.slow
def test_a_way_has_a_time(precision):
    milliseconds, seconds = measure(WAYS[0], precision, SMALL, "cpu")
    assert milliseconds > 0
    assert seconds > 0
