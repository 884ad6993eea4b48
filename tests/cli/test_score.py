"""`unbraid score`."""

import csv
import json
import re
from dataclasses import replace

import numpy as np
import pytest

from tests.cli.scored_arrays import FACTORS, rows
from tests.words import words
from unbraid import Scorecard, train
from unbraid.codes import Codes
from unbraid.metrics import MIG
from unbraid.metrics.estimators import Quantized
from unbraid.models.distributions import DeterministicLatents
from unbraid.objectives import AAE
from unbraid.training.runs import Run

pytestmark = pytest.mark.usefixtures("_few_metrics")

CONSTANT = " (constant in these codes): undefined, and left out of every average.\n"


# ---- runs


def test_the_scores_of_runs_are_kept_and_some_shown(unbraid, trained, monkeypatch):
    monkeypatch.setattr("unbraid.cli.score_cards.MAIN_METRICS", ("mig", "mig:quantized", "sap"))
    outcome = unbraid("score", trained)
    assert outcome.code == 0, outcome.err
    lines = outcome.out.splitlines()
    assert lines[0] == "Scoring 4 runs ..."
    assert lines[1].startswith("MIG over shape, scale, position_x, position_y (")
    assert "estimator exact" in lines[1]
    factors = ["shape", "scale", "position_x", "position_y"]
    columns = [*words("objective seed MIG 95 % interval MIG, quantized unused latents")]
    columns += [*factors, "distortion", "rate"]
    assert lines[2].split() == columns
    names = ["beta-tcvae,"] * 2 + ["vae"] * 2 + ["beta-tcvae,", "vae"]
    assert [line.split()[0] for line in lines[3:] if line.strip()][:6] == names
    assert sum("median" in line for line in lines) == 2
    # Two steps of training leave them as they began.
    assert sum("2 of 2 runs" in line for line in lines) == 2
    assert outcome.out.count("2 of 2 latents unused: these scores describe noise.") == 4
    for folder in trained.iterdir():
        assert [score.settings["estimator"] for score in Run.open(folder).scores()] == ["exact", "quantized"]


def test_a_factor_that_never_varies_is_noted_once(unbraid, trained):
    assert unbraid("score", trained).err == f"Note: orientation{CONSTANT}"
    outcome = unbraid("score", min(trained.iterdir()))
    assert outcome.err == f"Note: orientation{CONSTANT}"
    assert "constant in these codes" not in outcome.out


def test_one_run_gets_its_card_and_keeps_all_of_it(unbraid, trained):
    one = min(trained.iterdir())
    outcome = unbraid("score", one)
    assert outcome.code == 0, outcome.err
    shown = rows(outcome)
    assert shown[0] == ["Scoring", one.name, "..."]
    assert shown[2] == ["metric", "value", "95", "%", "interval", "better", "settled"]
    assert [row[0] for row in shown[3:5]] == ["MIG", "MIG,"]
    assert "left out: mig:sampled" in outcome.out
    assert [score.settings["estimator"] for score in Run.open(one).scores()] == ["exact", "quantized"]


def test_a_run_that_a_metric_does_not_accept_does_not_end_the_command(unbraid, trained):
    spec = Run.open(min(trained.iterdir())).spec
    deterministic = replace(spec, model=replace(spec.model, latents=DeterministicLatents(2)), objective=AAE())
    [run] = train(deterministic, folder=trained, progress=False)
    outcome = unbraid("score", trained, "--metrics", "mig:sampled")
    assert outcome.code == 0, outcome.err
    assert sum(line.startswith(("vae", "beta-tcvae")) for line in outcome.out.splitlines()) == 6
    assert f"{run.name}: no score." in outcome.err
    assert list(run.named_scores()) == []
    assert unbraid("score", run.folder, "--metrics", "mig:sampled").code == 2
    outcome = unbraid("score", trained, "--metrics", "mig")
    assert outcome.code == 0, outcome.err
    assert list(run.named_scores()) == ["mig:means-histogram"]
    assert "mig:means-histogram" in outcome.out


def test_several_runs_are_compared_by_every_metric_if_asked(unbraid, trained):
    outcome = unbraid("score", trained, "--metrics", "all")
    assert outcome.code == 0, outcome.err
    table = [line for line in outcome.out.splitlines() if line.startswith(("metric", "MIG"))]
    assert "2, 2 collapsed)" in table[0]
    assert [line.partition("↑")[0].strip() for line in table[1:]] == ["MIG", "MIG, quantized (mig:quantized)"]
    number = r"-?[0-9.e-]+"
    spread = rf"{number} \({number} to {number}\)"
    assert all(re.fullmatch(rf".*↑ +{spread} +{spread}", line) for line in table[1:])


def test_what_is_to_know_of_some_runs_names_them(unbraid, arrays, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    np.savez("both.npz", **arrays)
    np.savez("means.npz", mean=arrays["mean"], factors=FACTORS)
    outcome = unbraid("score", "both.npz", "means.npz", "--metrics", "mig:sampled,mig:means_histogram")
    assert outcome.code == 0, outcome.err
    assert "\nmeans.npz: not defined: mig:sampled: does not support means without std." in outcome.out
    assert "both.npz: " not in outcome.out
    outcome = unbraid("score", "both.npz")
    assert "\nleft out: mig:sampled: is slow" in outcome.out


def test_the_settings_of_a_metric_are_flags(unbraid, trained):
    one = min(trained.iterdir())
    outcome = unbraid(
        "score", one, "--metric", "mig", "--metric.estimator", "quantized", "--metric.estimator.num-bins", "50"
    )
    assert outcome.code == 0, outcome.err
    assert "num_bins 50" in outcome.out
    [score] = Run.open(one).scores()
    assert score.settings["num_bins"] == 50


def test_an_unfinished_run_is_refused_if_named_and_left_out_if_found(unbraid, trained):
    unfinished = min(trained.iterdir())
    (unfinished / "finished.json").unlink()
    assert unbraid("score", unfinished).code == 2
    outcome = unbraid("score", trained)
    assert outcome.code == 0
    assert f"{unfinished.name} is unfinished" in outcome.err


# ---- codes


def test_codes_from_elsewhere_are_scored(unbraid, arrays, tmp_path):
    path = tmp_path / "codes.npz"
    np.savez(path, **arrays, factor_names=["hue", "size"])
    outcome = unbraid("score", path)
    assert outcome.code == 0, outcome.err
    codes = Codes.from_arrays(arrays["mean"], arrays["std"], factors=arrays["factors"])
    assert "60 images, 2" in outcome.out
    [mig] = [row for row in rows(outcome) if row[:1] == ["MIG"] and row[1] != "quantized" and len(row) > 5]
    assert float(mig[1]) == pytest.approx(MIG()(codes).value, abs=5e-4)


def test_one_metric_is_shown_factor_by_factor(unbraid, arrays, tmp_path):
    np.savez(tmp_path / "codes.npz", **arrays, factor_names=["hue", "size"])
    outcome = unbraid("score", tmp_path / "codes.npz", "--metrics", "mig")
    assert rows(outcome)[-2] == ["codes", "MIG", "95", "%", "interval", "hue", "size"]


def test_disdiff_is_told_that_there_are_no_groups(unbraid, arrays, trained, tmp_path):
    np.savez(tmp_path / "codes.npz", **arrays)
    told = "groups is 'pca'"
    assert told in unbraid("score", tmp_path / "codes.npz", "--metrics", "mig", "--groups", "pca").err
    assert told in unbraid("score", min(trained.iterdir()), "--metrics", "mig", "--groups", "pca").err


def test_log_var_does_for_std(unbraid, arrays, tmp_path):
    np.savez(tmp_path / "std.npz", **arrays)
    arrays["log_var"] = 2 * np.log(arrays.pop("std"))
    np.savez(tmp_path / "log_var.npz", **arrays)
    first, second = rows(unbraid("score", tmp_path / "std.npz", tmp_path / "log_var.npz", "--metrics", "mig"))[-2:]
    assert first[1:] == second[1:]


def test_a_csv_of_codes_is_scored_too(unbraid, tmp_path):
    lines = ["mean_0,std_0,factor:hue", *(f"{number % 3},0.3,{number % 3}" for number in range(30))]
    (tmp_path / "codes.csv").write_text("\n".join(lines) + "\n")
    outcome = unbraid("score", tmp_path / "codes.csv", "--metrics", "mig")
    assert outcome.code == 0, outcome.err
    assert "hue" in outcome.out


def test_the_seed_and_the_settings_of_published_code_can_be_chosen(unbraid, arrays, tmp_path):
    np.savez(tmp_path / "codes.npz", **arrays)
    save = tmp_path / "scores.json"
    assert (
        unbraid(
            "score", tmp_path / "codes.npz", "--metrics", "mig:sampled:num_samples=100", "--seed", "3", "--save", save
        ).code
        == 0
    )
    assert Scorecard.load(save).scores[0].settings["seed"] == 3
    outcome = unbraid("score", tmp_path / "codes.npz", "--like", "chen", "--save", save, "--force")
    assert outcome.code == 0, outcome.err
    assert Scorecard.load(save).scores[0].settings["value_weights"] == "uniform"


# ---- saved


def test_the_card_is_saved_as_the_suffix_says(unbraid, arrays, tmp_path):
    np.savez(tmp_path / "codes.npz", **arrays)
    for suffix in ("json", "csv", "md"):
        outcome = unbraid("score", tmp_path / "codes.npz", "--save", tmp_path / f"scores.{suffix}")
        assert outcome.code == 0, outcome.err
        assert outcome.out.endswith(f"The scores are in {tmp_path / 'scores'}.{suffix}.\n")
    card = Scorecard.load(tmp_path / "scores.json")
    assert card.names == ("mig", "mig:quantized")
    assert (tmp_path / "scores.csv").read_text() == card.to_csv()
    assert (tmp_path / "scores.md").read_text() == card.to_markdown()


def test_several_cards_are_saved_by_name(unbraid, arrays, tmp_path):
    names = [str(tmp_path / name) for name in ("a.npz", "b.npz")]
    for name in names:
        np.savez(name, **arrays)
    for suffix in ("json", "csv", "md"):
        assert unbraid("score", *names, "--save", tmp_path / f"scores.{suffix}").code == 0
    assert list(json.loads((tmp_path / "scores.json").read_text())) == names
    with (tmp_path / "scores.csv").open() as stream:
        assert list(dict.fromkeys(row["codes"] for row in csv.DictReader(stream))) == names
    assert [line for line in (tmp_path / "scores.md").read_text().splitlines() if line.startswith("## ")] == [
        f"## {n}" for n in names
    ]


def test_the_name_of_a_file_is_no_formula_and_no_tag_where_cards_are_saved(unbraid, arrays, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = ["=1+1.npz", "<b>.npz"]
    for name in names:
        np.savez(name, **arrays)
    for suffix in ("csv", "md"):
        assert unbraid("score", *names, "--metrics", "mig", "--save", f"scores.{suffix}").code == 0
    with (tmp_path / "scores.csv").open() as stream:
        assert {row["codes"] for row in csv.DictReader(stream)} == {"'=1+1.npz", "<b>.npz"}
    assert "## &lt;b>.npz" in (tmp_path / "scores.md").read_text()


@pytest.mark.parametrize(
    ("save", "complaint"),
    [
        ("mine.json", "which exists"),
        ("nowhere/scores.json", "no folder"),
        ("scores.txt", ".json, .csv, .md"),
        ("codes.csv", "codes.csv"),
        ("folder.json", "is a folder"),
        ("x" * 305 + ".json", "too long"),
        ("mine.json/scores.json", "cannot be written"),
    ],
)
def test_a_bad_target_is_told_before_anything_is_computed(unbraid, tmp_path, monkeypatch, save, complaint):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.json").write_text("mine")
    (tmp_path / "folder.json").mkdir()
    (tmp_path / "codes.csv").write_text("not even codes")
    outcome = unbraid("score", "codes.csv", "--save", save)
    assert outcome.code == 2
    assert complaint in outcome.err
    assert outcome.out == ""
    assert (tmp_path / "mine.json").read_text() == "mine"
    assert {path.name for path in tmp_path.iterdir()} == {"mine.json", "folder.json", "codes.csv"}


# ---- bad input


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"mean": None}, "expected an array 'mean'"),
        ({"factors": None}, "mig, mig:quantized: needs factors"),
        ({"factors": np.zeros((60, 2), dtype=int)}, "2 factors (factor_0, factor_1)"),
        ({"factors": FACTORS + 0.5}, "MIG does not support continuous factors"),
        ({"factors": FACTORS[:50]}, "50"),
        ({"std": np.full((60, 2), -1.0)}, "negative"),
        ({"mean": np.full((60, 2), np.nan)}, "NaN or infinite in 60 rows"),
        ({"mean": np.array([{}], dtype=object)}, "Python objects"),
        ({"log_var": np.zeros((60, 2))}, "Both std and log_var"),
        ({"factor_names": np.array(["one"])}, "factor_names is ['one']"),
    ],
)
def test_codes_that_cannot_be_scored_are_refused(unbraid, arrays, tmp_path, change, complaint):
    content = {name: array for name, array in (arrays | change).items() if array is not None}
    np.savez(tmp_path / "codes.npz", **content)
    outcome = unbraid("score", tmp_path / "codes.npz", "--save", tmp_path / "scores.json")
    assert outcome.code == 2
    assert complaint in outcome.err
    assert outcome.err.count("\n") == 1
    assert not (tmp_path / "scores.json").exists()


def test_a_metric_that_is_not_defined_is_told_beside_those_that_are(unbraid, arrays, tmp_path, monkeypatch):
    """Undefined in part is well, undefined altogether is not."""
    monkeypatch.chdir(tmp_path)
    np.savez("means.npz", mean=arrays["mean"], factors=FACTORS)
    outcome = unbraid("score", "means.npz", "--metrics", "mig:sampled,mig:means_histogram")
    assert outcome.code == 0, outcome.err
    assert "not defined: mig:sampled: " in outcome.out
    outcome = unbraid("score", "means.npz", "--metrics", "mig:sampled,mig:quantized", "--save", "scores.json")
    assert (outcome.code, (tmp_path / "scores.json").exists()) == (2, False)
    assert outcome.err.startswith("Error: means.npz: MIG does not support means without std.")
    assert outcome.err.count("Pass std or log_var") == 1


def test_a_bug_in_one_metric_is_shown_and_the_other_scores_are_kept(unbraid, arrays, tmp_path, monkeypatch):
    measure = MIG.measure

    def broken(self, statistics):
        if self.estimator == Quantized():
            raise ZeroDivisionError("by nothing")
        return measure(self, statistics)

    monkeypatch.setattr(MIG, "measure", broken)
    monkeypatch.chdir(tmp_path)
    np.savez("codes.npz", **arrays)
    outcome = unbraid("score", "codes.npz", "--metrics", "mig,mig:quantized", "--save", "scores.json")
    assert outcome.code == 1
    assert "mig:quantized: ZeroDivisionError" in outcome.out
    assert "Traceback (most recent" in outcome.err
    assert "codes.npz" in outcome.err
    card = Scorecard.load("scores.json")
    assert card.names == ("mig",)
    assert "in broken" in card.failed["mig:quantized"]


@pytest.mark.parametrize("damage", [{"std": np.full((60, 2), -1.0)}, {"factors": np.zeros((60, 2), dtype=int)}])
def test_of_several_files_the_one_at_fault_is_named(unbraid, arrays, tmp_path, damage):
    np.savez(tmp_path / "good.npz", **arrays)
    np.savez(tmp_path / "bad.npz", **(arrays | damage))
    outcome = unbraid("score", tmp_path / "good.npz", tmp_path / "bad.npz", "--metrics", "mig")
    assert outcome.code == 2
    assert outcome.err.startswith(f"Error: {tmp_path / 'bad.npz'}: ")


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["nowhere"], "folder nowhere"),
        (["notes.txt"], "(.npz, .safetensors, .csv), got notes.txt"),
        (["nowhere.npz"], "nowhere.npz"),
        (["text.npz"], "text.npz"),
        (["empty.npz"], "empty"),
        (["empty.csv"], "empty"),
        (["."], "nothing to score"),
        ([".", "--metric", "migg"], "Did you mean 'mig'?"),
        ([".", "--metrics", "mig,saap"], "'saap'"),
        ([".", "--metrics", "migg"], "Did you mean 'mig'?"),
        ([".", "--metric", "mig", "--metrics", "all"], "got --metric and --metrics"),
        ([".", "--like", "chenn"], "Did you mean 'chen'?"),
        ([".", "--device", "tpu"], "'auto', 'cpu', 'cuda'"),
        ([".", "--metric.estimator", "quantised"], "Did you mean 'quantized'?"),
        ([".", "--metric.estimator", "quantized", "--metric.estimator.num-bins", "x"], "num-bins is 'x'"),
    ],
)
def test_a_mistake_is_told_in_a_line(unbraid, tmp_path, monkeypatch, arguments, complaint):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "text.npz").write_text("not a zip")
    (tmp_path / "notes.txt").write_text("not codes")
    for name in ("empty.npz", "empty.csv"):
        (tmp_path / name).touch()
    outcome = unbraid("score", *arguments)
    assert outcome.code == 2
    assert outcome.err.startswith("Error: ")
    assert complaint in outcome.err
    assert outcome.err.count("\n") == 1


# ---- collapsed models


def test_a_collapsed_model_is_called_so(unbraid, arrays, tmp_path):
    fine, collapsed = tmp_path / "fine.npz", tmp_path / "collapsed.npz"
    np.savez(fine, **arrays)
    np.savez(collapsed, **arrays | {"mean": 2e-4 * arrays["mean"], "std": np.ones((60, 2))})
    badge = "2 of 2 latents unused: these scores describe noise."
    for options in ((), ("--metrics", "mig")):
        outcome = unbraid("score", collapsed, *options)
        assert (outcome.code, badge in " ".join(outcome.out.split())) == (0, True), outcome.err
        assert "unused" not in unbraid("score", fine, *options).out
    both = unbraid("score", fine, collapsed, "--save", tmp_path / "scores.csv")
    assert "(collapsed)" in both.out
    saved = list(csv.DictReader((tmp_path / "scores.csv").read_text().splitlines()))
    assert {row["codes"] for row in saved if row["badge"]} == {str(collapsed)}
