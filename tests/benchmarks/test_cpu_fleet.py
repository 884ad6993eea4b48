"""The benchmark measures what it says: both ways take a step with every net."""

import pytest
import torch

from benchmarks.cpu_fleet import NETS, step_of


@pytest.mark.parametrize("net", list(NETS))
@pytest.mark.slow
def test_both_ways_take_a_step(net):
    assert step_of(2, net)() == {}  # a step that is not logged
    with torch.random.fork_rng():  # plain PyTorch draws from the global generator
        step_of(0, net)()
