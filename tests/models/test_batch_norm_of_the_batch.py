"""BatchNorm while a fleet trains."""

import pytest
import torch
from torch import nn

from tests.models.nets import a_draw
from unbraid.models.batch_norm import make_batch_norm_stateless, normalized
from unbraid.models.layers.initial_weights import seeded


def a_net():
    inner = nn.Sequential(nn.Flatten(), nn.BatchNorm1d(12, affine=False))
    return nn.Sequential(nn.Conv2d(1, 3, 3), nn.BatchNorm2d(3), inner).double()


def test_a_net_keeps_its_weights_their_names_and_what_it_makes_of_a_batch():
    net = seeded(a_net, 0)
    x = a_draw(7, 1, 4, 4)
    before, expected = dict(net.named_parameters()), net(x)
    make_batch_norm_stateless(net)
    assert all(one is before[name] for name, one in net.named_parameters())
    assert [*dict(net.named_parameters())] == [*before]
    assert not list(net.buffers())
    assert torch.equal(net(x), expected)


@pytest.mark.parametrize("shape", [(7, 3), (7, 3, 4, 5)])
@pytest.mark.parametrize("affine", [True, False])
def test_written_out_as_on_a_gpu_it_is_torchs_own(shape, affine):
    x, weight, bias = a_draw(*shape), *(a_draw(3, seed=seed) if affine else None for seed in (1, 2))
    expected = nn.functional.batch_norm(x, None, None, weight, bias, training=True)
    torch.testing.assert_close(normalized(x, weight, bias, 1e-5), expected, rtol=1e-10, atol=1e-10)


def test_it_is_computed_wider_than_half_precision_and_given_back_as_it_came():
    x = 100 + a_draw(64, 2).bfloat16()
    out = normalized(x, None, None, 1e-5)
    assert out.dtype == torch.bfloat16
    # Two of bfloat16's roundings: its eight bits hold a standard deviation of 1 to 1 / 256.
    assert out.float().std(dim=0, correction=0).tolist() == pytest.approx([1, 1], abs=0.02)
