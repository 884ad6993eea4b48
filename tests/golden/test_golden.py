"""The golden script prints every key that the library knows, and each matches the value of an independent
computation.
"""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks import golden

FOLDER = Path(__file__).parent
EXPECTED = json.loads((FOLDER / "expected.json").read_text())


@pytest.mark.parametrize("case", EXPECTED["cases"])
def test_metrics_match_the_golden_values(case, capsys):
    expected = EXPECTED["cases"][case]
    printed = run(FOLDER / expected["inputs"], capsys)
    assert set(printed) == set(expected["golden"])
    check(printed, expected["golden"])


def test_losses_match_the_golden_values(capsys):
    printed = run(FOLDER / EXPECTED["losses"]["inputs"], capsys)
    assert set(printed) == set(EXPECTED["losses"]["golden"])
    check(printed, EXPECTED["losses"]["golden"])


def run(file: Path, capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    golden.main([str(file)])
    return json.loads(capsys.readouterr().out)


def check(printed: dict[str, Any], expected: dict[str, Any]) -> None:
    for key, value in printed.items():
        assert key in expected, f"{key} is printed and is not a golden key"
        compare(key, value, expected[key], tolerance(key))


def tolerance(key: str) -> dict[str, float]:
    tolerances = EXPECTED["meta"]["tolerances"]
    named = next((t for name, t in tolerances.items() if key.startswith(name)), tolerances["default"])
    return {"rtol": named["rtol"], "atol": named["atol"]}


def compare(key: str, value: Any, expected: Any, tolerances: dict[str, float]) -> None:
    match expected:
        case dict():
            assert set(value) == set(expected), f"{key}: the parts differ by {set(value) ^ set(expected)}"
            for part, inner in value.items():
                compare(f"{key} > {part}", inner, expected[part], tolerances)
        case [dict(), *_]:
            assert len(value) == len(expected)
            for place, (one, other) in enumerate(zip(value, expected, strict=True)):
                compare(f"{key} > {place}", one, other, tolerances)
        case _:
            given, wanted = np.array(value, dtype=float), np.array(expected, dtype=float)
            if key.endswith(("top_latent", "argmin")):  # null marks a tie, which is not compared
                given = np.where(np.isnan(wanted), np.nan, given)
            np.testing.assert_allclose(given, wanted, **tolerances, err_msg=key)
