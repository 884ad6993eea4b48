"""The twenty models share one fleet, and the verdict says what they showed, however far they came."""

import json

import pytest

from benchmarks.twenty_models import GROUPS, main, score_table, specs, verdict
from tests.words import words
from unbraid.training.state import fleet_key

pytestmark = pytest.mark.slow

SCORES = {"VAE": {0: 0.1, 1: 0.05}, "β-VAE, β = 4": {0: 0.15, 1: 0.2}, "β-TCVAE, β = 6": {0: 0.1, 1: 0.5}}


def test_they_are_twenty_of_one_family():
    assert sum(count for _, count in GROUPS.values()) == 20
    assert len({fleet_key(spec) for spec in specs("bf16").values()}) == 1
    assert {spec.num_steps for spec in specs("bf16").values()} == {18_000}


def test_the_verdict_holds_where_all_is_as_expected():
    assert all(claim.holds for claim in verdict(SCORES, 300.0, 6))


@pytest.mark.parametrize(
    ("scores", "seconds", "count", "wrong"),
    [
        (SCORES, 300.0, 7, 0),
        (SCORES, 361.0, 6, 1),
        (SCORES, None, 6, 1),
        (SCORES | {"β-TCVAE, β = 6": {0: 0.3, 1: 0.44}}, 300.0, 6, 2),
        (SCORES | {"VAE": {0: 0.2, 1: 0.2}}, 300.0, 6, 3),
    ],
)
def test_the_verdict_names_what_is_not(scores, seconds, count, wrong):
    assert [claim.holds for claim in verdict(scores, seconds, count)] == [place != wrong for place in range(4)]


def test_what_is_not_known_has_no_row_and_no_order():
    scores = SCORES | {"β-TCVAE, β = 6": {}}
    assert "TCVAE" not in score_table(scores)
    assert not verdict(scores, 300.0, 6)[3].holds


@pytest.mark.slow
def test_small_ones_are_trained_scored_and_drawn(tmp_path, capsys):
    arguments = [
        *words("--small --precision float32 --epochs 1 --folder"),
        str(tmp_path / "runs"),
        "--out",
        str(tmp_path / "twenty"),
    ]
    main(arguments)
    content = json.loads((tmp_path / "twenty.json").read_text())
    assert {name: len(of) for name, of in content["mig"].items()} == dict.fromkeys(GROUPS, 2)
    assert {"training", "encoding and writing the runs", "MIG"} <= set(content["seconds"])
    assert (tmp_path / "twenty.svg").exists()
    assert len((tmp_path / "twenty.csv").read_text().splitlines()) > 6
    assert "6 of 6" in capsys.readouterr().out
    main(arguments)
    assert "- FAIL" in capsys.readouterr().out
    assert json.loads((tmp_path / "twenty.json").read_text())["mig"] == content["mig"]
