"""A study from its first fleet to its scores: what is done is not repeated, what goes wrong costs one run."""

import logging
import shutil
from dataclasses import replace

import pytest

from tests.training.squares import MLP_SPEC
from unbraid import VAE, BetaVAE
from unbraid.errors import SpecError, TrainingError, TrainingInterrupted
from unbraid.metrics.scoring import Scoring
from unbraid.studies import Setting, Study, collect, execute
from unbraid.studies.execute import retry_study, run_study
from unbraid.studies.plan import plan_study
from unbraid.studies.requirements import registered
from unbraid.studies.study import StudyOptions
from unbraid.studies.tables import wide_markdown
from unbraid.training import train
from unbraid.training.runs import grid
from unbraid.training.runs.runs_in import runs_in

SPEC = replace(MLP_SPEC, objective=BetaVAE(), num_steps=6, precision="float32")
SETTINGS = Setting.each(grid(SPEC, {"objective.beta": [1, 4]}), range(2))
STUDY = Study("sweep", SETTINGS, metrics=("mig", "sap"), members_per_fleet=3)
HERE = StudyOptions("cpu", num_scorers=0, packages=("tests",))


def files_of(folder):
    return {path.relative_to(folder): path.stat().st_mtime_ns for path in folder.rglob("*.json")}


@pytest.fixture(scope="module")
def done(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs")
    outcome = run_study(STUDY, folder, HERE)
    return folder, outcome


def test_every_run_is_trained_and_scored(done):
    folder, outcome = done
    assert (outcome.num_trained, outcome.num_scored, outcome.failures) == (4, 4, {})
    scores = collect(STUDY, folder)
    assert {run.state for run in scores.runs} == {"finished"}
    for setting in SETTINGS:
        assert set(scores.values(setting.label, "mig")) == {0, 1}
        assert set(scores.values(setting.label, "mig", of="row")) == {0, 1}


def test_values_alone_make_the_same_wide_table(done):
    folder, _ = done
    everything, values = collect(STUDY, folder), collect(STUDY, folder, parts=False)
    assert {number.quantity for number in values.numbers} == {"value"}
    assert wide_markdown(values) == wide_markdown(everything) == wide_markdown(replace(everything, over=None))


def test_scores_are_those_that_the_runs_give_alone(done, tmp_path):
    folder, _ = done
    (run,) = train([SETTINGS[1].spec], [1], folder=tmp_path, device="cpu")
    expected = run.score("mig", device="cpu")["mig"].value
    assert collect(STUDY, folder).values(SETTINGS[1].label, "mig")[1] == pytest.approx(expected, rel=1e-4)


def test_the_first_fleet_has_the_first_seeds_of_all_settings(done):
    plan = plan_study(STUDY, done[0])
    assert [[each.run.seed for each in fleet.runs] for fleet in plan.fleets] == [[0, 0, 1], [1]]


def test_the_same_call_finds_everything_done(done):
    folder, _ = done
    before = files_of(folder)
    again = run_study(STUDY, folder, HERE)
    assert (again.num_trained, again.num_scored) == (0, 0)
    changed = {path for path, time in files_of(folder).items() if before.get(path) != time}
    assert {path.parts[0] for path in changed} <= {".studies"}


def test_a_second_study_shares_the_runs_and_computes_what_it_lacks(done):
    folder, _ = done
    other = replace(STUDY, name="other", metrics=("mig", "misjed"), settings=SETTINGS[:1])
    outcome = run_study(other, folder, HERE)
    assert (outcome.num_trained, outcome.num_scored) == (0, 2)
    assert [study.name for study in registered(folder, ["tests"])] == ["other", "sweep"]


def test_another_scoring_is_another_question(done):
    folder, _ = done
    narrow = replace(
        STUDY, name="narrow", settings=SETTINGS[:1], metrics=("mig",), scorings=(Scoring(factors=("row",)),)
    )
    outcome = run_study(narrow, folder, HERE)
    assert outcome.num_scored == 2
    label = SETTINGS[0].label
    assert collect(narrow, folder).values(label, "mig") == pytest.approx(
        collect(STUDY, folder).values(label, "mig", of="row")
    )


def test_scores_can_be_all_that_is_kept(tmp_path):
    study = replace(STUDY, keep="scores")
    outcome = run_study(study, tmp_path, replace(HERE, snapshots=[2]))
    assert (outcome.failures, outcome.not_begun) == ({}, ())
    assert {path.parent.name for path in tmp_path.rglob("*.safetensors")} == {"snapshots"}  # of step 2, as asked for
    assert {run.snapshots for run in runs_in(tmp_path, packages=["tests"])} == {(2,)}
    assert len(collect(study, tmp_path).values(SETTINGS[0].label, "mig")) == 2
    assert plan_study(study, tmp_path).runs_that_need("training") == []


def test_a_snapshot_that_no_run_comes_to_is_refused_before_anything_is_trained(tmp_path):
    with pytest.raises(SpecError, match="step 60"):
        run_study(STUDY, tmp_path, replace(HERE, snapshots=[60]))
    assert not list(tmp_path.iterdir())


def test_before_arrays_go_every_score_that_a_study_of_the_folder_asks_is_computed(tmp_path):
    other = replace(STUDY, name="other", metrics=("misjed",), settings=SETTINGS[:1])
    run_study(replace(other, settings=(replace(SETTINGS[0], seeds=(0,)),)), tmp_path, HERE)
    # Now it asks for the second seed too, which the next study trains and cuts down.
    from unbraid.studies.requirements import register

    register(other, tmp_path)
    run_study(replace(STUDY, keep="scores", settings=SETTINGS[:1]), tmp_path, HERE)
    assert set(collect(other, tmp_path).values(SETTINGS[0].label, "misjed")) == {0, 1}


def test_scores_of_studies_beside_are_computed_before_arrays_are_removed(tmp_path):
    other = replace(STUDY, name="other", metrics=("misjed",), keep="scores")
    run_study(replace(STUDY, keep="scores"), tmp_path, replace(HERE, beside=(other,)))
    assert plan_study(other, tmp_path).runs_that_need("training", "scoring") == []


def test_a_later_study_that_needs_what_was_let_go_trains_again_and_loses_nothing(tmp_path):
    first = replace(STUDY, keep="scores", settings=(replace(SETTINGS[0], seeds=(0,)),), metrics=("mig",))
    run_study(first, tmp_path, HERE)
    later = replace(first, name="later", metrics=("sap",))
    assert len(plan_study(later, tmp_path).runs_that_need("training")) == 1
    before = collect(first, tmp_path).values(SETTINGS[0].label, "mig")
    run_study(later, tmp_path, HERE)
    assert list((tmp_path / ".archived").iterdir())
    assert len(collect(later, tmp_path).values(SETTINGS[0].label, "sap")) == 1
    assert collect(first, tmp_path).values(SETTINGS[0].label, "mig") == before


def test_the_best_seed_of_each_setting_can_be_kept(tmp_path):
    study = replace(STUDY, keep="best", best_by="mig", metrics=("mig",))
    run_study(study, tmp_path, HERE)
    scores = collect(study, tmp_path)
    kept = {path.parent.name for path in tmp_path.rglob("codes.safetensors")}
    best = set()
    for setting in SETTINGS:
        values = scores.values(setting.label, "mig")
        winner = max(values, key=values.__getitem__)
        best |= {run.run for run in scores.runs_of(setting.label) if run.seed == winner}
    assert kept == best


def test_a_budget_that_is_too_short_begins_nothing_and_says_what_is_needed(tmp_path):
    outcome = run_study(STUDY, tmp_path, replace(HERE, budget=0.0))
    assert outcome.num_trained == 0
    assert len(outcome.not_begun) == 2
    assert outcome.needed > 0
    assert not list(tmp_path.glob("beta-vae-*"))


def test_a_budget_that_suffices_for_a_fleet_trains_that_fleet_whole(tmp_path, monkeypatch):
    monkeypatch.setattr("unbraid.studies.plan.Speed.seconds", lambda self, fleet, count: 100.0 * (count == 3))
    outcome = run_study(STUDY, tmp_path, replace(HERE, budget=50.0))
    assert outcome.num_trained == 1
    assert {run.state for run in collect(STUDY, tmp_path).runs} == {"finished", "new"}
    assert run_study(STUDY, tmp_path, HERE).num_trained == 3


DIVERGING = Setting("diverging", replace(SPEC, objective=VAE(), max_loss=-1e6), (0,))


def test_a_run_that_fails_is_told_at_once_and_the_others_go_on(tmp_path, caplog):
    study = Study("failing", (DIVERGING, SETTINGS[0]), metrics=("mig",))
    with caplog.at_level(logging.WARNING):
        outcome = run_study(study, tmp_path, HERE)
    assert list(outcome.failures.values()) == ["the loss was above max_loss (-1e+06) at step 1"]
    assert outcome.failures
    assert outcome.num_scored == 2
    assert "max_loss" in caplog.text
    assert collect(study, tmp_path).runs_of("diverging")[0].state == "failed"
    assert [each.setting.label for each in retry_study(study, tmp_path)] == ["diverging"]
    assert list((tmp_path / ".archived").iterdir())


def test_it_can_end_at_the_first_failure(tmp_path):
    study = Study("failing", (DIVERGING, replace(SETTINGS[0], spec=replace(SPEC, num_steps=5))), metrics=("mig",))
    with pytest.raises(TrainingError, match="first failure"):
        run_study(study, tmp_path, replace(HERE, fail_fast=True))
    assert {run.state for run in collect(study, tmp_path).runs} == {"failed", "new"}


@pytest.mark.slow  # tests/cli/test_study.py computes them so too
def test_scores_are_computed_by_processes(tmp_path):
    one = replace(STUDY, settings=(replace(SETTINGS[0], seeds=(0,)),), metrics=("mig",))
    outcome = run_study(one, tmp_path, replace(HERE, num_scorers=1))
    assert (outcome.num_scored, outcome.failures) == (1, {})
    assert len(collect(one, tmp_path).values(SETTINGS[0].label, "mig")) == 1


def test_what_a_process_cannot_score_is_told(tmp_path):
    one = replace(STUDY, settings=(replace(SETTINGS[0], seeds=(0,)),), metrics=("mig",))
    outcome = run_study(one, tmp_path, replace(HERE, packages=("tests", "none_such"), num_scorers=0))
    assert (outcome.failures, outcome.not_begun) == ({}, ())
    (folder,) = tmp_path.glob("beta-vae-*")
    (folder / "codes.safetensors").write_bytes(b"other")
    outcome = run_study(replace(one, metrics=("sap",)), tmp_path, HERE)
    assert "codes.safetensors" in next(iter(outcome.failures.values()))


def test_a_run_that_is_removed_meanwhile_is_a_failure(tmp_path, monkeypatch):
    real, names = execute.train_runs, []

    def remove_the_first(runs, *given, **named):
        if names:
            shutil.rmtree(tmp_path / names[0])
        names.extend(run.name for run in runs)
        return real(runs, *given, **named)

    monkeypatch.setattr(execute, "train_runs", remove_the_first)
    outcome = run_study(STUDY, tmp_path, HERE)
    assert list(outcome.failures) == [names[0]]
    assert "removed" in outcome.failures[names[0]]
    monkeypatch.undo()
    assert run_study(STUDY, tmp_path, HERE).failures == {}


def test_two_runs_whose_folders_are_swapped_keep_no_scores(tmp_path, caplog):
    run_study(STUDY, tmp_path, HERE)
    first, second, *_ = sorted(tmp_path.glob("beta-vae-*"))
    for source, target in ((first, "beside"), (second, first.name), (tmp_path / "beside", second.name)):
        source.rename(tmp_path / target)
    scores = collect(STUDY, tmp_path)
    assert {number.run for number in scores.numbers}.isdisjoint({first.name, second.name})
    assert {run.state for run in scores.runs if run.run in (first.name, second.name)} == {"unfinished"}
    assert first.name in caplog.text
    assert set(run_study(STUDY, tmp_path, HERE).failures) == {first.name, second.name}


def test_a_study_that_is_stopped_advises_nothing_that_study_run_does_not_have(tmp_path, monkeypatch):
    def stop(runs, *_, **__):
        raise TrainingInterrupted("Stopped at step 3. Go on with the same command and --resume.", runs)

    monkeypatch.setattr(execute, "train_runs", stop)
    with pytest.raises(TrainingInterrupted) as stopped:
        run_study(STUDY, tmp_path, HERE)
    assert "resume=" not in str(stopped.value)
    assert "--resume" not in str(stopped.value)
    assert len(stopped.value.runs) == 3
