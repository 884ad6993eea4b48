"""The best run of each setting, and their traversals side by side."""

import pytest

from tests.training.runs.finished_runs import SPEC, finish
from unbraid.errors import UnbraidError
from unbraid.studies import Setting, Study, best_runs, best_traversals
from unbraid.studies.study_scores import Number, ScoredRun, StudyScores
from unbraid.training.runs.run_writer import RunWriter

STUDY = Study("made", (Setting("one", SPEC, (0, 1)), Setting("two", SPEC, (2, 3))), metrics=("mig", "jemmig"))
VALUES = {"mig": (0.1, 0.3, 0.5, 0.2), "jemmig": (0.1, 0.3, 0.5, 0.2)}


@pytest.fixture
def made(tmp_path, monkeypatch):
    """The folder of four finished runs, and scores that are said to be theirs."""
    runs, numbers = [], []
    for each in STUDY.runs(tmp_path):
        finish(each.run, each.run.seed)
        label, seed, name = each.setting.label, each.run.seed, each.run.name
        runs.append(ScoredRun(label, seed, name, "finished"))
        numbers.extend(
            Number(label, seed, metric, "", "value", "", values[seed], 0.0, 1.0, name)
            for metric, values in VALUES.items()
        )
    scores = StudyScores(
        ("one", "two"), {"one": "vae", "two": "vae"}, ("mig", "jemmig"), {"mig": True, "jemmig": False}, tuple(runs),
        tuple(numbers),
    )  # fmt: skip
    monkeypatch.setattr("unbraid.studies.select.collect", lambda *_: scores)
    return tmp_path


def test_the_best_is_the_highest_or_the_lowest(made):
    assert {label: run.seed for label, run in best_runs(STUDY, made).items()} == {"one": 1, "two": 2}
    assert {label: run.seed for label, run in best_runs(STUDY, made, by="jemmig").items()} == {"one": 0, "two": 3}
    with pytest.raises(UnbraidError, match="no metric 'sap'"):
        best_runs(STUDY, made, by="sap")


def test_a_run_whose_weights_are_gone_cannot_be_the_best(made):
    RunWriter(best_runs(STUDY, made)["one"]).remove_arrays()
    assert best_runs(STUDY, made)["one"].seed == 0
    RunWriter(best_runs(STUDY, made)["one"]).remove_arrays()
    assert list(best_runs(STUDY, made)) == ["two"]
    with pytest.raises(UnbraidError, match="'one'"):
        best_traversals(STUDY, made, settings=["one", "two"])


def test_traversals_name_settings_and_scores(made):
    shown = best_traversals(STUDY, made, settings=["two", "one"], latents=[0], num_frames=2, min_std=0)
    assert list(shown.traversals) == ["two  (mig 0.5)", "one  (mig 0.3)"]
