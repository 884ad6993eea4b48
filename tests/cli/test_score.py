"""`unbraid score`."""

import numpy as np
import pytest

from unbraid.codes import Codes
from unbraid.metrics import MIG
from unbraid.runs import Run


@pytest.fixture
def arrays() -> dict[str, np.ndarray]:
    rng = np.random.default_rng(0)
    factors = np.stack([np.arange(60) % 3, np.arange(60) // 30], axis=1)
    return {"mean": factors + 0.1 * rng.standard_normal((60, 2)), "std": np.full((60, 2), 0.3), "factors": factors}


def test_the_scores_of_runs_are_shown_and_kept(unbraid, trained):
    outcome = unbraid("score", trained)
    assert outcome.code == 0, outcome.err
    rows = outcome.out.splitlines()
    assert rows[0] == "Scoring 4 runs ..."
    assert rows[1].startswith("MIG (estimator exact")
    assert rows[2].split() == ["objective", "seed", "MIG", "shape", "scale", "position_x", "position_y", "distortion", "rate"]
    assert [row.split()[0] for row in rows[3:] if row.strip()] == ["beta-tcvae,"] * 2 + ["vae"] * 2 + ["beta-tcvae,", "vae"]
    assert sum("median" in row for row in rows) == 2
    for folder in trained.iterdir():
        assert [score.metric for score in Run.open(folder).scores()] == ["MIG"]


def test_a_factor_that_never_varies_is_noted_once(unbraid, trained):
    outcome = unbraid("score", trained)
    assert outcome.err == "Note: MIG: orientation never vary in these codes; they have no gap and do not count in the mean.\n"


def test_the_settings_of_a_metric_are_flags(unbraid, trained):
    one = min(trained.iterdir())
    outcome = unbraid("score", one, "--metric", "mig", "--metric.estimator", "quantised", "--metric.num-bins", "50")
    assert outcome.code == 0, outcome.err
    assert "num_bins 50" in outcome.out
    [score] = Run.open(one).scores()
    assert score.settings["num_bins"] == 50


def test_codes_from_elsewhere_are_scored(unbraid, arrays, tmp_path):
    path = tmp_path / "codes.npz"
    np.savez(path, **arrays, factor_names=["hue", "size"])
    outcome = unbraid("score", path)
    assert outcome.code == 0, outcome.err
    codes = Codes.from_arrays(arrays["mean"], arrays["std"], factors=arrays["factors"])
    header, row = outcome.out.splitlines()[-2:]
    assert header.split() == ["codes", "MIG", "hue", "size"]
    assert row.split()[0] == str(path)
    assert float(row.split()[1]) == pytest.approx(MIG()(codes).value, abs=5e-4)


def test_log_var_does_for_std(unbraid, arrays, tmp_path):
    np.savez(tmp_path / "std.npz", **arrays)
    arrays["log_var"] = 2 * np.log(arrays.pop("std"))
    np.savez(tmp_path / "log_var.npz", **arrays)
    outcome = unbraid("score", tmp_path / "std.npz", tmp_path / "log_var.npz")
    first, second = outcome.out.splitlines()[-2:]
    assert first.split()[1:] == second.split()[1:]


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"mean": None}, "has no array 'mean'"),
        ({"factors": None}, "no factors"),
        ({"std": None}, "only means"),
        ({"mean": np.array([{}], dtype=object)}, "Python objects"),
        ({"log_var": np.zeros((60, 2))}, "Both std and log_var"),
        ({"factor_names": np.array(["one"])}, "1 factor names were given for 2 columns"),
    ],
)
def test_codes_that_cannot_be_scored_are_refused(unbraid, arrays, tmp_path, change, complaint):
    content = {name: array for name, array in (arrays | change).items() if array is not None}
    np.savez(tmp_path / "codes.npz", **content)
    outcome = unbraid("score", tmp_path / "codes.npz")
    assert outcome.code == 2
    assert complaint in outcome.err
    assert "Traceback" not in outcome.err


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["nowhere"], "There is no folder nowhere"),
        (["nowhere.npz"], "There is no file nowhere.npz"),
        (["text.npz"], "not a readable .npz"),
        (["."], "there are no runs"),
        ([".", "--metric", "migg"], "Did you mean 'mig'?"),
        ([".", "--metric.estimator", "quantized"], "Did you mean 'quantised'?"),
        ([".", "--metric.num-bins", "x"], "expected a whole number or none"),
    ],
)
def test_a_mistake_is_told_in_a_line(unbraid, tmp_path, monkeypatch, arguments, complaint):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "text.npz").write_text("not a zip")
    outcome = unbraid("score", *arguments)
    assert outcome.code == 2
    assert outcome.err.startswith("Error: ")
    assert complaint in outcome.err
    assert outcome.err.count("\n") == 1


def test_an_unfinished_run_is_refused_if_named_and_left_out_if_found(unbraid, trained):
    unfinished = min(trained.iterdir())
    (unfinished / "finished.json").unlink()
    assert unbraid("score", unfinished).code == 2
    outcome = unbraid("score", trained)
    assert outcome.code == 0
    assert f"{unfinished.name} is unfinished" in outcome.err
