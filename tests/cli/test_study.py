"""`unbraid study`: plan, run, status, table, figure, select and retry, on one small study."""

import csv
import json
from dataclasses import replace
from pathlib import Path
from typing import get_args

import pytest

from tests.training.squares import MLP_SPEC
from unbraid import VAE, BetaVAE
from unbraid.cli.options import parse_seconds
from unbraid.cli.study_results import Kind
from unbraid.errors import SpecError
from unbraid.studies import Claim, Setting, Study, difference
from unbraid.studies.figures import KINDS
from unbraid.training.runs import grid

SPEC = replace(MLP_SPEC, objective=BetaVAE(), num_steps=4, precision="float32")
STUDY = Study(
    "small",
    Setting.each(grid(SPEC, {"objective.beta": [1, 4, 9]}), range(2)),
    metrics=("mig", "jemmig", "sepin"),
)


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    folder = tmp_path_factory.mktemp("study")
    return STUDY.save(folder / "study.json"), folder / "runs"


@pytest.fixture
def study(unbraid, place):
    """Calls a command of the study, whose classes are those of the tests."""
    file, out = place

    def call(command, *arguments):
        return unbraid("study", command, file, "--out", out, "--packages", "tests", *arguments)

    return call


@pytest.fixture
def done(study, place):
    """The study, run once for all tests that want it done."""
    if not place[1].exists():
        outcome = study("run", "--device", "cpu", "--scorers", 1)
        assert (outcome.code, outcome.out.count("6 runs were trained and 6 scored")) == (0, 1)
    return study


def test_a_plan_says_what_would_be_done_and_does_nothing(study, tmp_path, unbraid, place):
    outcome = unbraid("study", "plan", place[0], "--out", tmp_path / "none", "--packages", "tests", "--device", "cpu")
    assert outcome.code == 0
    assert "6 runs: 6" in outcome.out
    assert "on disk" in outcome.out
    assert "Training takes about" in outcome.out
    assert not (tmp_path / "none").exists()


def test_once_done_nothing_is_left(done):
    assert "0 fleets" in done("plan").out
    assert "6 of 6" in done("status").out
    assert "0 runs" in done("run").out


def test_a_table_has_medians_with_their_spread(done):
    header, first, *_ = done("table").out.splitlines()
    assert "jemmig ↓" in header
    assert "mig ↑" in header
    assert first.startswith("beta-vae, beta 1")


def test_tables_are_written_as_the_suffix_says(done, tmp_path):
    for name in ("t.csv", "t.md", "t.tex"):
        assert done("table", "--to", tmp_path / name).code == 0
    assert done("table", "--form", "long", "--to", tmp_path / "long.csv").code == 0
    rows = list(csv.DictReader((tmp_path / "long.csv").read_text().splitlines()))
    assert {row["setting"] for row in rows} == {"beta-vae, beta 1", "beta-vae, beta 4", "beta-vae, beta 9"}
    assert all(row["run"].startswith("beta-vae-") for row in rows)
    assert r"\toprule" in (tmp_path / "t.tex").read_text()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--to", "t.txt"), ".csv, .md, .tex, .parquet, .json"),
        (("--form", "long", "--to", "t.md"), ".csv, .parquet, .json"),
        (("--metrics", "mgi"), "no metric 'mgi'"),
    ],
)
def test_a_table_that_cannot_be_had_is_refused_in_a_line(done, arguments, message):
    outcome = done("table", *arguments)
    assert outcome.code != 0
    assert message in outcome.err


def test_a_table_is_not_overwritten_unless_asked(done, tmp_path):
    (tmp_path / "t.csv").write_text("mine")
    assert "which exists" in done("table", "--to", tmp_path / "t.csv").err
    assert (tmp_path / "t.csv").read_text() == "mine"
    assert done("table", "--to", tmp_path / "t.csv", "--force").code == 0


def test_a_figure_is_written_with_its_numbers(done, tmp_path):
    pytest.importorskip("matplotlib")
    outcome = done("figure", "--kind", "box", "--metric", "mig", "--to", tmp_path / "mig.svg")
    assert (outcome.code, str(tmp_path / "mig.csv") in outcome.out) == (0, True)
    rows = list(csv.DictReader((tmp_path / "mig.csv").read_text().splitlines()))
    assert [row["setting"] for row in rows] == [f"beta-vae, beta {beta}" for beta in (1, 4, 9) for _ in range(2)]
    assert "mig.svg exists" in done("figure", "--metric", "mig", "--to", tmp_path / "mig.svg").err
    assert done("figure", "--metric", "sepin", "--to", tmp_path / "mig.svg", "--force").code == 0


def test_every_kind_that_is_drawn_can_be_asked_for():
    assert get_args(Kind) == KINDS


def test_a_figure_of_a_study_that_was_not_run_says_so(unbraid, place, tmp_path):
    options = (place[0], "--out", tmp_path / "none", "--packages", "tests", "--metric", "mig")
    outcome = unbraid("study", "figure", *options, "--to", tmp_path / "mig.svg")
    assert outcome.code != 0
    assert "got none" in outcome.err
    assert not (tmp_path / "mig.svg").exists()


def test_a_figure_is_drawn_from_evidence_of_this_study_alone(unbraid, study, tmp_path):
    root = Path(__file__).parents[2]
    evidence = ("--scores", root / "evidence" / "studies" / "sprites.json", "--metric", "mig")
    assert "'sprites'" in study("figure", *evidence, "--to", tmp_path / "mig.svg").err
    pytest.importorskip("matplotlib")
    file = root / "examples" / "sprites_study.json"
    assert unbraid("study", "figure", file, *evidence, "--to", tmp_path / "mig.svg").code == 0
    assert len((tmp_path / "mig.csv").read_text().splitlines()) == 153


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--to", "f.jpg"), ".svg, .pdf, .png, got f.jpg"),
        (("--to", "f.svg"), "--metric mig"),
        (("--to", "f.svg", "--metric", "mgi"), "no metric 'mgi'"),
        (("--to", "f.svg", "--kind", "rate-distortion"), "'rate'"),
    ],
)
def test_a_figure_that_cannot_be_had_is_refused_in_a_line(done, arguments, message):
    outcome = done("figure", *arguments)
    assert outcome.code != 0
    assert message in outcome.err


@pytest.mark.parametrize("by", ["udr", "wsepin"])
def test_runs_are_chosen_without_labels_and_the_choice_is_judged(done, by):
    outcome = done("select", "--by", by, "--top", 2)
    assert outcome.code == 0
    assert outcome.out.splitlines()[1].split() == ["run", "setting", "seed", by, "mig", "jemmig"]
    assert f"Rank correlation of {by} with mig over 6 runs" in outcome.out


def test_a_criterion_that_no_run_meets_is_told(done):
    """After two steps no latent is informative, so no two runs agree in any."""
    outcome = done("select", "--by", "agreement", "--top", 2)
    assert outcome.code == 0
    assert outcome.out.splitlines()[1].split() == ["run", "setting", "seed", "agreement", "mig", "jemmig"]
    assert "agreement with mig" in outcome.err


def test_what_a_criterion_needs_is_told(done):
    assert "metric 'elbo'" in done("select", "--by", "elbo").err


def test_a_report_is_written_from_runs_or_from_evidence(done, tmp_path):
    evidence = tmp_path / "evidence.json"
    assert done("table", "--to", evidence).code == 0
    for name, arguments in (("runs.html", ()), ("evidence.html", ("--scores", evidence))):
        assert "report" in done("report", "--to", tmp_path / name, *arguments).out
    pages = [(tmp_path / name).read_text() for name in ("runs.html", "evidence.html")]
    assert all("beta-vae, beta 9" in page and "Which metrics agree" in page for page in pages)
    assert "file that ends" in done("report", "--to", tmp_path / "page.txt").err


def test_evidence_of_another_study_is_refused(unbraid, done, place, tmp_path):
    evidence = tmp_path / "evidence.json"
    done("table", "--to", evidence)
    other = replace(STUDY, name="other").save(tmp_path / "other.json")
    outcome = unbraid(
        "study", "report", other, "--packages", "tests", "--scores", evidence, "--to", tmp_path / "x.html"
    )
    assert "'small'" in outcome.err


def test_a_failed_run_is_told_with_exit_code_1_and_can_be_retried(unbraid, tmp_path):
    failing = Setting("diverging", replace(SPEC, objective=VAE(), max_loss=-1e6), (0,))
    file = Study("failing", (failing,), metrics=("mig",)).save(tmp_path / "study.json")
    options = (file, "--out", tmp_path / "runs", "--packages", "tests")
    outcome = unbraid("study", "run", *options, "--device", "cpu")
    assert outcome.code == 1
    assert "max_loss" in outcome.err
    assert "study retry" in outcome.err
    assert "above max_loss" in unbraid("study", "status", *options).err
    assert "1 failed" in unbraid("study", "retry", *options).out
    assert "study has failed" in unbraid("study", "retry", *options).out


def test_a_file_of_classes_that_are_not_trusted_is_refused(unbraid, place, tmp_path):
    (tmp_path / "study.json").write_text(place[0].read_text().replace('"tests.', '"elsewhere.'))
    outcome = unbraid("study", "plan", tmp_path / "study.json")
    assert outcome.code != 0
    assert "--packages elsewhere" in outcome.err


def test_a_plan_warns_of_claims_that_no_scores_can_support_and_a_table_shows_verdicts(unbraid, place, done, tmp_path):
    labels = [setting.label for setting in STUDY.settings]
    claim = Claim("A larger beta helps.", difference("mig", labels[1], labels[0]), above=0)
    file = replace(STUDY, claims=(claim,)).save(tmp_path / "claims.json")
    options = ("--out", place[1], "--packages", "tests")
    outcome = unbraid("study", "plan", file, *options)
    assert outcome.code == 0
    assert "'A larger" in outcome.err
    assert "4 seeds" in outcome.err  # 1 / 70 is below 0.05
    table = unbraid("study", "table", file, *options)
    assert "0 contradicted, 1" in table.out
    assert unbraid("study", "table", file, *options, "--to", tmp_path / "table.md").code == 0
    assert "| undecided |" in (tmp_path / "table.md").read_text()


def test_a_folder_or_a_damaged_file_is_refused(unbraid, tmp_path):
    assert f"folder {tmp_path}" in unbraid("study", "plan", tmp_path).err
    (tmp_path / "study.json").write_text(json.dumps({"type": "unbraid.studies.Study", "name": "x"}))
    assert "lacks settings" in unbraid("study", "plan", tmp_path / "study.json").err


@pytest.mark.parametrize(
    ("text", "seconds"), [("90s", 90), ("20m", 1200), ("1h30m", 5400), ("20", 1200), ("1.5h", 5400)]
)
def test_a_budget_is_a_time(text, seconds):
    assert parse_seconds(text) == seconds


@pytest.mark.parametrize("text", ["", "20x", "m", "-5m", "1h 30"])
def test_what_is_no_time_is_refused(text):
    with pytest.raises(SpecError, match="90s"):
        parse_seconds(text)
