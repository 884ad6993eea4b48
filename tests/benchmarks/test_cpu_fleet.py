"""The benchmark measures what it says: both ways take a step with every net."""

import pytest

from benchmarks.cpu_fleet import NETS, fleet_step, textbook_step


@pytest.mark.parametrize("net", [name for name in NETS if "D-dSprites" not in name])
@pytest.mark.slow
def test_both_ways_take_a_step(net):
    assert fleet_step(net)() == {}  # a step that is not logged
    textbook_step(net)()
