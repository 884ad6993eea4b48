"""The table of measures: twelve settings, scores that are what they are called, and it runs."""

import json
import math

import pytest
import torch

from benchmarks.discrete_measures import category_information, main, settings
from unbraid.training.state import fleet_key


def test_there_are_twelve_settings_in_six_fleets():
    specs = [setting.spec(3, small=True) for setting in settings()]
    assert len({spec.digest for spec in specs}) == 12
    assert len({fleet_key(spec) for spec in specs}) == 6


def test_a_category_that_follows_the_image_tells_of_it_and_a_constant_one_does_not():
    assert category_information(torch.eye(4).repeat(3, 1)) == pytest.approx(math.log(4))
    assert category_information(torch.full((5, 4), 0.25)) == pytest.approx(0)


@pytest.mark.slow
def test_a_table_of_all_settings_is_printed_and_written(capsys, tmp_path):
    main(["--smoke", "--device", "cpu", "--seeds", "1", "--out", str(tmp_path / "found")])
    printed = capsys.readouterr().out
    rows = [line for line in printed.splitlines() if line.startswith(("| pmf", "| summed", "| density"))]
    assert len(rows) == 12
    assert rows[0] in (tmp_path / "found.md").read_text()
    found = json.loads((tmp_path / "found.json").read_text())["outcomes"]
    assert all(math.isfinite(each["elbo"][0]) for each in found)
