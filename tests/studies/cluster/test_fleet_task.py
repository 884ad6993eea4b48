"""One fleet as a piece of work: at home and away it makes the same runs, and what comes home is checked."""

import hashlib
import json
import time
from dataclasses import replace

import pytest
import torch

from tests.training.squares import MLP_SPEC
from unbraid import BetaVAE
from unbraid._internal import files
from unbraid.errors import RunError
from unbraid.studies import Setting, Study, StudyOptions, collect, run_study
from unbraid.studies.cluster.fleet_task import finish_transfers, fleet_request, pack, receive, run_request, unpack
from unbraid.studies.index import STUDIES
from unbraid.studies.requirements import Questions
from unbraid.training.runs import grid
from unbraid.training.runs.run_writer import RunWriter

SPEC = replace(MLP_SPEC, objective=BetaVAE(), num_steps=6, precision="float32")
SETTINGS = Setting.each(grid(SPEC, {"objective.beta": [1, 4]}), range(2))
STUDY = Study("sweep", SETTINGS, metrics=("mig", "sap"), threads=1)
AWAY = ("/nowhere/token", "text")


def make_request(folder, token=(), **changes):
    runs = [(each, list(Questions(STUDY).of(each.setting.spec).values())) for each in STUDY.runs(folder)]
    made = fleet_request(
        runs,
        folder=str(folder),
        device="cpu",
        scoring_device="cpu",
        threads=1,
        packages=["tests"],
        token=token,
        remove_arrays=changes.pop("remove_arrays", False),
        training=changes.pop("training", {}),
    )
    return made | changes


def weights_of(folder):
    return {path.parent.name: files.sha256(path) for path in folder.glob("*/weights.safetensors")}


def values(folder):
    scores = collect(STUDY, folder)
    return {(s.label, m): scores.values(s.label, m) for s in SETTINGS for m in ("mig", "sap")}


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """The study, run by the one process of `run_study`."""
    folder = tmp_path_factory.mktemp("whole")
    run_study(STUDY, folder, StudyOptions("cpu", num_scorers=0, packages=("tests",)))
    return folder


@pytest.fixture(scope="module")
def away(tmp_path_factory):
    """The answer and the bundles of a process that does not see the folder."""
    return carried_out(make_request(tmp_path_factory.mktemp("home"), AWAY))


def carried_out(asked):
    """The answer and the bundles."""
    (answer, _), *bundles = run_request(asked)
    return answer, [bundle for _, bundle in bundles]


def test_at_home_a_fleet_is_trained_and_scored_as_by_run_study(tmp_path, whole):
    threads = torch.get_num_threads()
    (tmp_path / "token").write_text("text")
    told, bundles = carried_out(make_request(tmp_path, (str(tmp_path / "token"), "text")))
    assert {each["status"] for each in told["runs"].values()} == {"finished"}
    assert {each["side_by_side"] for each in told["runs"].values()} == {4}
    assert (told["shares_folder"], bundles) == (True, [])
    assert len(json.dumps(told)) < 100_000
    assert weights_of(tmp_path) == weights_of(whole)
    assert values(tmp_path) == values(whole)
    assert torch.get_num_threads() == threads


def test_away_it_is_the_same_and_comes_home(tmp_path, whole, away):
    answer, bundles = away
    assert not answer["shares_folder"]
    receive(iter(bundles), tmp_path, "fleet")
    assert weights_of(tmp_path) == weights_of(whole)
    assert values(tmp_path) == values(whole)
    assert not any((tmp_path / STUDIES / "arriving").iterdir())


def test_halves_are_recorded_in_the_runs(tmp_path):
    answer, _ = carried_out(make_request(tmp_path, side_by_side=2))
    assert {each["side_by_side"] for each in answer["runs"].values()} == {2}
    first = STUDY.runs(tmp_path)[0].run
    assert "because 4" in (first.folder / "log.txt").read_text()
    assert len(json.loads((first.folder / "finished.json").read_text())["fleet"]) == 2


def test_what_is_finished_is_not_trained_again(whole):
    before = {path: path.stat().st_mtime_ns for path in whole.glob("*/finished.json")}
    answer, _ = carried_out(make_request(whole))
    assert {each["status"] for each in answer["runs"].values()} == {"finished"}
    assert {path: path.stat().st_mtime_ns for path in whole.glob("*/finished.json")} == before


def test_another_version_is_refused(tmp_path):
    answer, _ = carried_out(make_request(tmp_path, unbraid="0.0.1"))
    assert "0.0.1" in answer["refused"]


def test_runs_that_another_process_holds_are_waited_for(tmp_path, monkeypatch):
    monkeypatch.setattr("unbraid.studies.cluster.fleet_task._SECONDS_TO_WAIT_FOR_LOCKS", 0.3)
    monkeypatch.setattr("unbraid.studies.cluster.fleet_task._SECONDS_BETWEEN_TRIES", 0.1)
    beats = []
    with RunWriter(STUDY.runs(tmp_path)[2].run).locked(), pytest.raises(RunError, match="is locked"):
        next(run_request(make_request(tmp_path), lambda: beats.append(1)))
    assert len(beats) >= 3


def test_signs_of_life_are_given(tmp_path, monkeypatch):
    monkeypatch.setattr("unbraid.studies.cluster.fleet_task._SECONDS_BETWEEN_BEATS", 0)
    beats = []
    list(run_request(make_request(tmp_path), lambda: beats.append(time.monotonic())))
    assert len(beats) > 2


def test_scores_alone_come_home_where_no_study_wants_more(tmp_path):
    _, bundles = carried_out(make_request(tmp_path, AWAY, remove_arrays=True))
    receive(bundles, tmp_path, "fleet")
    assert not list(tmp_path.rglob("*.safetensors"))
    assert all(len(found) == 2 for found in values(tmp_path).values())


def test_a_byte_that_changed_on_the_way_is_noticed_and_nothing_is_put_in_place(tmp_path, away):
    _, bundles = away
    damaged = [*bundles[:-1], bundles[-1][:-1] + b"?"]
    with pytest.raises(RunError, match="SHA-256"):
        receive(damaged, tmp_path, "fleet")
    assert not list(tmp_path.glob("*/finished.json"))
    for other in (b"", bundles[0] + b"more", bundles[0][:-1]):
        with pytest.raises(RunError, match="SHA-256"):
            unpack(other, tmp_path)


def test_a_bundle_cannot_leave_its_folder(tmp_path):
    body = json.dumps({"run": "..", "files": [["x", 0]]}).encode() + b"\n"
    with pytest.raises(RunError, match=r"\.\./x"):
        unpack(hashlib.sha256(body).digest() + body, tmp_path / "a")
    assert not (tmp_path / "x").exists()


def test_what_had_come_home_when_the_driver_died_is_put_in_place_and_what_came_in_part_is_not(tmp_path, away):
    _, bundles = away
    arriving = tmp_path / STUDIES / "arriving"
    names = [unpack(bundle, arriving / "whole") for bundle in bundles[:2]]
    files.write_text(arriving / "whole" / "complete", "")
    unpack(bundles[2], arriving / "part")
    finish_transfers(tmp_path)
    assert sorted(path.parent.name for path in tmp_path.glob("*/finished.json")) == sorted(names)
    assert not any(arriving.iterdir())


def test_what_lies_unfinished_in_its_place_is_put_aside_and_what_is_finished_stays(tmp_path, away):
    _, bundles = away
    names = [unpack(bundle, tmp_path) for bundle in bundles[:2]]
    (tmp_path / names[0] / "finished.json").unlink()
    before = (tmp_path / names[1] / "finished.json").stat().st_ino
    receive(bundles, tmp_path, "fleet")
    assert [path.name for path in (tmp_path / ".archived").iterdir()] == [f"{names[0]}-1"]
    assert (tmp_path / names[1] / "finished.json").stat().st_ino == before
    assert pack(tmp_path / names[0]) == bundles[0]
