"""A run keeps its scores beside its codes."""

import errno
import json
import shutil

import pytest
import torch

from tests.told import warned
from tests.training.runs.finished_runs import SPEC, finish
from tests.training.squares import PACKAGES
from unbraid._internal import files
from unbraid.errors import RunError, SpecError
from unbraid.metrics import MIG
from unbraid.metrics.estimators import Quantized
from unbraid.training.runs import Run


def test_scores_are_kept_and_read_back(finished):
    [score] = finished.score([MIG()]).scores
    assert score.value == MIG()(finished.codes()).value
    [kept] = Run.open(finished.folder, packages=PACKAGES).scores()
    assert (kept.metric, kept.value, kept.per_factor, kept.settings) == (
        score.metric,
        score.value,
        score.per_factor,
        score.settings,
    )
    assert torch.equal(kept.tables["mutual_information"], score.tables["mutual_information"])


def test_a_metric_with_other_settings_is_kept_beside_the_first(finished):
    finished.score([MIG()])
    finished.score([MIG(Quantized(num_bins=10))])
    assert [score.settings["estimator"] for score in finished.scores()] == ["exact", "quantized"]


def test_the_same_metric_again_replaces_its_score(finished):
    finished.score([MIG(), MIG(Quantized())])
    path = finished.folder / "scores.json"
    record = json.loads(path.read_text())
    record["scores"][0]["value"] = 0.125
    path.write_text(json.dumps(record | {"sha256": files.seal(record)}))
    assert finished.scores()[0].value == 0.125
    finished.score([MIG()])
    assert [score.value for score in finished.scores()] == [
        MIG()(finished.codes()).value,
        MIG(Quantized())(finished.codes()).value,
    ]


def test_metrics_are_asked_for_as_in_evaluate(finished):
    card = finished.score("mig,mig:quantized", seed=3)
    assert card.names == ("mig", "mig:quantized")
    assert len(finished.scores()) == 2
    with pytest.raises(SpecError, match="'mig'"):
        finished.score(["migg"])


def test_scores_that_another_process_keeps_meanwhile_are_not_lost(finished):
    def meanwhile(event):
        if event.about == "scoring" and event.done == 0:
            finished.score([MIG(Quantized())])

    finished.score([MIG()], watch=meanwhile)
    assert sorted(score.settings["estimator"] for score in finished.scores()) == ["exact", "quantized"]


def test_scores_that_cannot_be_read_are_refused_and_left_alone(finished):
    path = finished.folder / "scores.json"
    for content in (
        "{",
        "[]",
        "{}",
        '{"scores": 3}',
        '{"scores": [1]}',
        '{"scores": [{}]}',
        '{"scores": [{"metric": "MIG", "value": 1}]}',
    ):
        path.write_text(content)
        for read in (Run.scores, lambda run: run.score([MIG()])):
            with pytest.raises(RunError, match="scores.json"):
                read(finished)
        assert path.read_text() == content


def test_scores_of_another_run_are_refused(finished, tmp_path):
    other = finish(Run.place(tmp_path, SPEC, 4), seed=8)
    other.score([MIG()])
    shutil.copy(other.folder / "scores.json", finished.folder)
    for read in (Run.scores, lambda run: run.score([MIG()])):
        with pytest.raises(RunError, match=r"scores\.json has"):
            read(finished)


def test_so_are_those_of_codes_from_before_the_run_was_trained_anew(finished):
    finished.score([MIG()])
    (finished.folder / "finished.json").unlink()
    assert finished.scores() == []
    finish(finished, seed=8)
    with pytest.raises(RunError, match="other codes"):
        finished.scores()
    finish(finished, seed=7)
    assert len(finished.scores()) == 1


@pytest.mark.parametrize("number", [errno.EROFS, errno.EACCES, errno.EPERM])
def test_scores_that_may_not_be_kept_are_returned_with_a_warning(finished, monkeypatch, number):
    def refuse(path, **options):
        raise OSError(number, "No", str(path))

    monkeypatch.setattr(files, "locked", refuse)
    with warned(r"scores\.lock"):
        card = finished.score([MIG()])
    assert card.scores[0].value == MIG()(finished.codes()).value
    assert finished.scores() == []


def test_a_disk_without_room_for_them_is_an_error(finished, monkeypatch):
    def refuse(path, content):
        raise OSError(errno.ENOSPC, "No room", str(path))

    monkeypatch.setattr(files, "write_json", refuse)
    with pytest.raises(OSError, match="No room"):
        finished.score([MIG()])


@pytest.mark.parametrize("device", ["cuda:99", "abacus"])
def test_a_device_that_is_not_there_is_told_before_anything_is_scored(finished, device):
    with pytest.raises(SpecError, match=f"device is '{device}'"):
        finished.score([MIG()], device=device)
