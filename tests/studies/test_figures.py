"""The scores of a study as figures."""

import importlib
from dataclasses import replace

import pytest

from tests.studies.made_scores import made_scores
from unbraid import MLP, VAE, Autoencoder, BetaVAE, DSprites, RunSpec
from unbraid.config.schedule import Linear
from unbraid.errors import UnbraidError
from unbraid.studies import Setting, Study, collect
from unbraid.studies.evidence import Evidence
from unbraid.studies.figures import KINDS, draw, run_table
from unbraid.studies.index import RunRecords
from unbraid.studies.run_records import RunRecord

PLAIN = made_scores(
    {
        "VAE": {"mig": [0.1, 0.2], "sap": [0.3, 0.1], "rate": [9, 8], "distortion": [1, 2]},
        "beta-VAE, beta 2": {"mig": [0.2, 0.3], "sap": [0.2, 0.1], "rate": [7, 6], "distortion": [2, 3]},
        "beta-VAE, beta 4": {"mig": [0.4, None], "sap": [0.1, None], "rate": [5, None], "distortion": [4, None]},
    },
    {"sap": False},
)
SCORES = replace(PLAIN, swept={"beta-VAE, beta 2": 2.0, "beta-VAE, beta 4": 4.0})


def test_a_row_is_a_finished_run():
    table = run_table(SCORES, ["mig", "sap"])
    assert table.columns == ("setting", "family", "strength", "seed", "run", "mig", "sap")
    assert table["mig"] == [0.1, 0.2, 0.2, 0.3, 0.4]
    assert table["strength"] == [None, None, 2.0, 2.0, 4.0]
    assert run_table(SCORES).columns[5:] == SCORES.metrics
    with pytest.raises(UnbraidError, match="no metric 'mgi'"):
        run_table(SCORES, ["mgi"])


def test_strength_is_the_value_of_the_field_and_not_a_number_of_the_label(tmp_path, monkeypatch):
    spec = RunSpec(DSprites(resolution=32), Autoencoder(MLP(hidden=(8,))), VAE())
    objectives = {
        "plain, 32 x 32": VAE(),
        "four, 3 seeds": BetaVAE(beta=4.0),
        "weak 100": BetaVAE(beta=0.5),
        "ramp to 8": BetaVAE(beta=Linear(0.0, 8.0)),
    }
    settings = tuple(Setting(label, replace(spec, objective=each), (0,)) for label, each in objectives.items())
    study = Study("labels", settings, metrics=("mig",))
    records = {each.name: RunRecord("finished") for each in study.runs(tmp_path)}
    monkeypatch.setattr(
        importlib.import_module("unbraid.studies.collect"), "read_records", lambda *_: RunRecords(records, {})
    )
    scores = collect(study, tmp_path)
    table = run_table(scores)
    assert dict(zip(table["setting"], table["strength"], strict=True)) == {
        "plain, 32 x 32": None,
        "four, 3 seeds": 4.0,
        "weak 100": 0.5,
        "ramp to 8": None,
    }
    kept = Evidence.load(Evidence("labels", scores, {}).save(tmp_path / "evidence.json")).scores
    assert run_table(kept)["strength"] == table["strength"]


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_is_drawn_from_scores(kind):
    pytest.importorskip("matplotlib")
    metrics = {"scatter": ["mig", "sap"], "rate-distortion": [], "parallel": [], "correlation": []}.get(kind, ["mig"])
    axes = draw(SCORES, kind, metrics)
    if len(metrics) == 1:
        assert "mig ↑" in axes.get_xlabel() + axes.get_ylabel()


@pytest.mark.parametrize(
    ("kind", "metrics", "message"),
    [
        ("pie", ["mig"], "'pie'"),
        ("box", [], "got none"),
        ("scatter", ["mig"], "mig,sap.* got mig"),
        ("box", ["mgi"], "no metric 'mgi'"),
    ],
)
def test_what_is_missing_is_said_in_a_sentence(kind, metrics, message):
    with pytest.raises(UnbraidError, match=message):
        draw(SCORES, kind, metrics)


def test_scores_that_a_figure_needs_are_named():
    plain = made_scores({"VAE": {"mig": [0.1]}, "other": {"mig": [0.1]}})
    with pytest.raises(UnbraidError, match="metric 'rate'"):
        draw(plain, "rate-distortion")
    with pytest.raises(UnbraidError, match="differ"):
        draw(plain, "line", ["mig"])
    with pytest.raises(UnbraidError, match="got none"):
        draw(made_scores({"VAE": {"mig": [None]}}), "box", ["mig"])
