"""A simulated cluster drives the driver: whatever dies, each fleet is taken once."""

from benchmarks.study_driver import simulated


def test_ten_thousand_fleets_over_64_nodes_that_die_are_each_taken_once():
    taken, nodes, driver, seconds = simulated(10_000, 64)
    assert set(taken.values()) == {1}
    assert driver.failures == {}
    assert nodes.num_deaths > 20
    assert nodes.num_short > 0
    assert nodes.num_begun > 10_000 + nodes.num_deaths
    assert seconds / 10_000 < 0.01
