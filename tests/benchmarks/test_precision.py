"""Precisions are compared seed by seed, against the spread between seeds."""

import json

import pytest

from benchmarks.precision import Outcome, differences, main
from tests.words import words


def outcome(precision, elbo, mig=(0.1, 0.2)):
    return Outcome("C-mlp", precision, elbo, mig, 1.0)


@pytest.mark.parametrize(
    ("elbo", "mean", "end"),
    [((-10.5, -20.5), "-0.50 ± 0.00", "within the spread |"), ((-20.0, -32.0), "-11.00 ± 1.00", "beyond the spread |")],
)
def test_differences_are_taken_seed_by_seed(elbo, mean, end):
    lines = differences([outcome("float32", (-10.0, -20.0)), outcome("bf16", elbo)]).splitlines()
    assert len(lines) == 2 + 2
    assert lines[2].startswith(f"| C-mlp | bf16 | ELBO | {mean} | 7.07 |")
    assert lines[2].endswith(end)


def test_seeds_that_do_not_match_are_not_compared():
    assert len(differences([outcome("float32", (-10.0,)), outcome("bf16", (-10.0, -20.0))]).splitlines()) == 2


@pytest.mark.slow
def test_small_models_are_trained_at_each_precision(tmp_path):
    out = tmp_path / "precision"
    main([*words("--small --nets C-mlp --epochs 1 --seeds 2 --precisions float32 tf32 --out"), str(out)])
    found = json.loads(out.with_name("precision.json").read_text())["outcomes"]
    assert [each["precision"] for each in found] == ["float32", "tf32"]
    # On a CPU they are one and the same.
    assert found[0]["elbo"] == found[1]["elbo"]
    assert "tf32 | ELBO" in out.with_name("precision.md").read_text()
