"""The benchmark measures what it says: every way takes a step, and none is far from the formula."""

import pytest

from benchmarks.pairwise_speed import SMALL, main, measure, ways


@pytest.mark.parametrize("name", ["fused", "table"])
def test_a_way_is_timed_and_held_against_the_formula(name):
    milliseconds, first, of_sums, of_gradients = measure(ways()[name], SMALL[0], "cpu")
    assert milliseconds > 0 < first
    assert max(of_sums, of_gradients) < 1e-5


@pytest.mark.slow
def test_a_line_is_printed_for_every_way_that_is_asked_for(capsys):
    main(["--small", "--device", "cpu", "--ways", "fused", "table"])
    lines = [line for line in capsys.readouterr().out.splitlines() if line.startswith("| 2 x 16 x 3 |")]
    assert [line.split(" | ")[1] for line in lines] == ["fused", "table"]
