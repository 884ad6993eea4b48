"""What scores.json keeps beside the scores: the names of metrics, refusals, used latents; and runs without arrays."""

import pytest

from tests.training.runs.finished_runs import SPEC, finish
from unbraid._internal import files
from unbraid.codes import Codes
from unbraid.errors import CodesError, RunError
from unbraid.training.runs import Run
from unbraid.training.runs.run_writer import RunWriter


@pytest.fixture
def finished(tmp_path):
    return finish(Run.place(tmp_path, SPEC, 3), seed=3)


def kept(run):
    return files.read_sealed(run.folder / "scores.json")


def test_scores_are_kept_by_the_name_that_was_asked_for(finished):
    card = finished.score("mig, mig:quantized:num_bins=5")
    assert [score["name"] for score in kept(finished)["scores"]] == list(card.names)
    assert kept(finished)["num_used"] == card.num_used


def test_a_refusal_is_kept_with_its_question(finished, monkeypatch):
    monkeypatch.setattr(Codes, "to", lambda codes, device: Codes(codes.mean, factors=codes.factors))
    card = finished.score("mig:sampled, sap")
    assert set(card.refused) == {"mig:sampled"}
    assert kept(finished)["refused"] == card.refused
    assert [score["name"] for score in kept(finished)["scores"]] == ["sap"]


def test_a_replaced_estimator_leaves_a_reason_under_the_name_that_was_asked_for(finished, monkeypatch):
    """So that a study, which compares scores of one estimator, does not ask again."""
    monkeypatch.setattr(Codes, "to", lambda codes, device: Codes(codes.mean, factors=codes.factors))
    assert finished.score("mig").names == ("mig:means-histogram",)
    assert list(kept(finished)["refused"]) == ["mig"]
    assert list(finished.named_scores()) == ["mig:means-histogram"]


def test_so_is_a_refusal_of_all(finished, monkeypatch):
    monkeypatch.setattr(Codes, "to", lambda codes, device: Codes(codes.mean, factors=codes.factors))
    with pytest.raises(CodesError):
        finished.score("mig:sampled")
    assert list(kept(finished)["refused"]) == ["mig:sampled"]
    assert finished.scores() == []


def test_arrays_that_are_let_go_leave_a_finished_run_with_its_scores(finished):
    scores = finished.score("mig").scores
    RunWriter(finished).remove_arrays()
    run = Run.open(finished.folder, packages=["tests"])
    assert run.status == "finished"
    assert run.removed_files == ("weights.safetensors", "codes.safetensors", "pictures.safetensors")
    assert not list(run.folder.glob("*.safetensors"))
    assert tuple(run.scores()) == scores
    assert run.history == finished.history


@pytest.mark.parametrize("read", [Run.codes, Run.model, Run.score])
def test_what_needs_them_says_that_they_were_let_go(finished, read):
    RunWriter(finished).remove_arrays()
    with pytest.raises(RunError, match="study.*--force"):
        read(finished)


def test_a_process_that_dies_in_between_leaves_a_run_that_says_so(finished, monkeypatch):
    def die(path, missing_ok):
        raise KeyboardInterrupt

    monkeypatch.setattr("pathlib.Path.unlink", die)
    with pytest.raises(KeyboardInterrupt):
        RunWriter(finished).remove_arrays()
    monkeypatch.undo()
    assert (finished.folder / "codes.safetensors").exists()
    with pytest.raises(RunError, match="removed"):
        finished.codes()
    RunWriter(finished).remove_arrays()
    assert not (finished.folder / "codes.safetensors").exists()
