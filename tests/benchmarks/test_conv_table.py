"""The table has Do & Tran's sweep, as many steps as fit, and their numbers beside ours."""

import json

import pytest

from benchmarks import conv_table
from benchmarks.conv_table import (
    FAMILIES,
    METRICS,
    PRINTED,
    base_spec,
    main,
    steps_that_fit,
)
from unbraid.training.state import fleet_key


def test_a_family_is_one_fleet():
    spec = base_spec("bf16", 1e-4, "truncated_normal")
    assert [len(family.objectives) for family in FAMILIES] == [4, 5]
    for family in FAMILIES:
        assert (
            len({fleet_key(conv_table.replace(spec, objective=objective)) for objective in family.objectives.values()})
            == 1
        )


def test_steps_of_all_families_fit_into_the_time():
    assert steps_that_fit(480.0, [0.006, 0.002]) == 60_000
    assert steps_that_fit(0.001, [1.0, 1.0]) == 2


def test_printed_scores_are_of_the_metrics_that_are_computed():
    assert [type(metric).__name__ for metric in METRICS] == list(PRINTED)


@pytest.mark.slow
def test_small_models_are_timed_trained_and_scored(tmp_path, monkeypatch):
    monkeypatch.setattr(
        conv_table, "FAMILIES", [conv_table.Family(f.name, dict(list(f.objectives.items())[:1])) for f in FAMILIES]
    )
    main(["--small", "--seconds", "0.01", "--seeds", "2", "--precision", "float32", "--out", str(tmp_path / "conv")])
    content = json.loads((tmp_path / "conv.json").read_text())
    assert content["num_steps"] == 2
    assert {metric: list(of) for metric, of in content["scores"].items()} == {
        name: ["FactorVAE, γ = 10", "β-VAE, β = 1"] for name in PRINTED
    }
    assert all(taken > 0 for taken in content["seconds_a_step"].values())
