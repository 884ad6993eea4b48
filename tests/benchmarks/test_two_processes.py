"""The benchmark trains the same fleet in several processes and compares their weights."""

import json

import pytest

from benchmarks.two_processes import main


@pytest.mark.slow
def test_on_a_cpu_all_processes_end_with_the_same_bits(tmp_path):
    main(["--small", "--device", "cpu", "--out", str(tmp_path / "two")])
    [row] = json.loads((tmp_path / "two.json").read_text())["rows"]
    assert (row["same bits, cache found"], row["same bits, cache empty"]) == ("yes", "yes")
