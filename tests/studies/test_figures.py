"""The scores of a study as figures."""

import pytest

from tests.studies.made_scores import made_scores
from unbraid.errors import UnbraidError
from unbraid.studies.figures import KINDS, draw, run_table, strength

SCORES = made_scores(
    {
        "VAE": {"mig": [0.1, 0.2], "sap": [0.3, 0.1], "rate": [9, 8], "distortion": [1, 2]},
        "beta-VAE, beta 2": {"mig": [0.2, 0.3], "sap": [0.2, 0.1], "rate": [7, 6], "distortion": [2, 3]},
        "beta-VAE, beta 4": {"mig": [0.4, None], "sap": [0.1, None], "rate": [5, None], "distortion": [4, None]},
    },
    {"sap": False},
)


def test_a_row_is_a_finished_run():
    table = run_table(SCORES, ["mig", "sap"])
    assert table.columns == ("setting", "family", "strength", "seed", "run", "mig", "sap")
    assert table["mig"] == [0.1, 0.2, 0.2, 0.3, 0.4]
    assert table["strength"] == [None, None, 2.0, 2.0, 4.0]
    assert run_table(SCORES).columns[5:] == SCORES.metrics
    with pytest.raises(UnbraidError, match="no metric 'mgi'"):
        run_table(SCORES, ["mgi"])


@pytest.mark.parametrize(
    ("label", "number"),
    [("beta-VAE 4", 4), ("VAE", None), ("hfvae, beta 0.5, groups 2", 2), ("x, weight 1e-3", 1e-3), ("InfoVAE2", None)],
)
def test_strength_is_the_last_number_of_a_label(label, number):
    assert strength(label) == number


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
        ("pie", ["mig"], "no kind of figure 'pie'"),
        ("box", [], "given none; expected one metric"),
        ("scatter", ["mig"], "expected two metrics"),
        ("box", ["mgi"], "no metric 'mgi'"),
    ],
)
def test_what_is_missing_is_said_in_a_sentence(kind, metrics, message):
    with pytest.raises(UnbraidError, match=message):
        draw(SCORES, kind, metrics)


def test_scores_that_a_figure_needs_are_named():
    plain = made_scores({"VAE": {"mig": [0.1]}, "other": {"mig": [0.1]}})
    with pytest.raises(UnbraidError, match="needs the metric 'rate'"):
        draw(plain, "rate-distortion")
    with pytest.raises(UnbraidError, match="labels that end in a number"):
        draw(plain, "line", ["mig"])
    with pytest.raises(UnbraidError, match="No run of the study is scored yet"):
        draw(made_scores({"VAE": {"mig": [None]}}), "box", ["mig"])
