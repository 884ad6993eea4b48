"""The index of runs: it says what the folders say, whatever happened to it."""

import json
import math

import pytest

from unbraid import files
from unbraid.studies.index import STUDIES, Index


def finish(folder, name, value, **more):
    """Writes what a finished run leaves that was scored with one metric."""
    place = folder / name
    place.mkdir(exist_ok=True)
    end = {"sha256": {"codes.safetensors": "c"}, "seconds": 2.5, "fleet": ["a", "b"], **more}
    (place / "finished.json").write_text(json.dumps(end))
    (place / "weights.safetensors").touch()
    score = {"name": "mig", "value": value, "interval": [0.1, None], "parts": {}, "per_factor": {"x": value}}
    record = {"codes": "c", "num_used": 3, "refused": {"sap": "no labels"}, "scores": [{**score, "scoring": {}}]}
    files.write_sealed(place / "scores.json", record)


def records(folder, *names, **options):
    with Index(folder) as index:
        found = index.records(names, **options)
    return found, index.damaged


@pytest.mark.parametrize("how_often", [1, 2])
def test_a_finished_run_is_known_with_its_scores_read_or_remembered(tmp_path, how_often):
    finish(tmp_path, "a", 0.4)
    for _ in range(how_often):
        found, _ = records(tmp_path, "a", "b")
    record = found["a"]
    assert (record.state, record.seconds, record.fleet_size, record.has_arrays) == ("finished", 2.5, 2, True)
    assert (record.num_used, record.refused) == (3, {"sap": "no labels"})
    assert (record.numbers["mig"].value, record.numbers["mig"].low) == (0.4, 0.1)
    assert math.isnan(record.numbers["mig"].high)
    assert record.numbers["mig"].factors == {"x": 0.4}
    assert found["b"].state == "new"


def test_without_numbers_it_is_known_which_there_are(tmp_path):
    finish(tmp_path, "a", 0.4)
    records(tmp_path, "a")
    found, _ = records(tmp_path, "a", detail="questions")
    assert list(found["a"].numbers) == ["mig"]
    assert math.isnan(found["a"].numbers["mig"].value)


def test_values_alone_come_with_the_factors_that_they_are_over(tmp_path):
    finish(tmp_path, "a", 0.4)
    finish(tmp_path, "b", None)
    for _ in range(2):
        found, _ = records(tmp_path, "a", "b", detail="values")
    kept = found["a"].numbers["mig"]
    assert (kept.value, kept.low, kept.over, kept.factors) == (0.4, 0.1, ("x",), {})
    assert math.isnan(kept.high)
    assert math.isnan(found["b"].numbers["mig"].value)
    assert found["b"].numbers["mig"].over == ()


def test_what_changed_since_is_read_again(tmp_path):
    finish(tmp_path, "a", 0.4)
    records(tmp_path, "a")
    finish(tmp_path, "a", 0.123)
    assert records(tmp_path, "a")[0]["a"].numbers["mig"].value == 0.123
    (tmp_path / "a" / "finished.json").unlink()
    (tmp_path / "a" / "scores.json").unlink()
    assert records(tmp_path, "a")[0]["a"].state == "new"


def test_runs_that_failed_or_are_under_way_are_told(tmp_path):
    for name in ("failed", "begun"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "spec.json").touch()
    (tmp_path / "failed" / "failed.json").write_text('{"reason": "too large", "step": 7}')
    found, _ = records(tmp_path, "failed", "begun")
    assert (found["failed"].state, found["failed"].reason) == ("failed", "too large (step 7)")
    assert found["begun"].state == "unfinished"


def test_arrays_that_were_let_go_are_gone(tmp_path):
    finish(tmp_path, "a", 0.4, let_go=["weights.safetensors"])
    assert not records(tmp_path, "a")[0]["a"].has_arrays


@pytest.mark.parametrize("damage", ["lost", "garbage", "another format"])
def test_an_index_that_is_lost_or_damaged_is_made_anew(tmp_path, damage):
    finish(tmp_path, "a", 0.4)
    records(tmp_path, "a")
    path = tmp_path / STUDIES / "index.sqlite"
    if damage == "lost":
        path.unlink()
    elif damage == "garbage":
        path.write_bytes(b"no database" * 500)
    else:
        import sqlite3

        connection = sqlite3.connect(path)
        connection.executescript("DROP TABLE runs; CREATE TABLE runs (name, old); PRAGMA user_version = 1")
        connection.close()
    for _ in range(2):
        assert records(tmp_path, "a")[0]["a"].numbers["mig"].value == 0.4


def test_a_folder_that_is_not_there_is_not_made(tmp_path):
    assert records(tmp_path / "none", "a")[0]["a"].state == "new"
    assert not (tmp_path / "none").exists()


def test_scores_that_were_changed_are_told_and_not_believed(tmp_path):
    finish(tmp_path, "a", 0.4)
    path = tmp_path / "a" / "scores.json"
    path.write_text(path.read_text().replace("0.4", "0.9"))
    found, damaged = records(tmp_path, "a")
    assert found["a"].state == "unfinished"
    assert "SHA-256" in damaged["a"]


def test_while_another_process_writes_it_what_is_read_serves_all_the_same(tmp_path, monkeypatch):
    import sqlite3

    finish(tmp_path, "a", 0.4)
    records(tmp_path, "b")
    connection = sqlite3.connect(tmp_path / STUDIES / "index.sqlite")
    connection.execute("BEGIN EXCLUSIVE")
    monkeypatch.setattr("unbraid.studies.index._SECONDS_TO_WAIT", 0.05)
    try:
        assert records(tmp_path, "a")[0]["a"].numbers["mig"].value == 0.4
    finally:
        connection.close()


@pytest.mark.parametrize("at_once", [2, 100])
def test_many_runs_are_read_with_their_neighbours(tmp_path, monkeypatch, at_once):
    monkeypatch.setattr("unbraid.studies.index._AT_ONCE", at_once)
    for place, name in enumerate("fbdace"):
        finish(tmp_path, name, place / 10)
    asked = ("f", "a", "new", "c", "b")
    for _ in ("read", "remembered"):
        found, _ = records(tmp_path, *asked)
        assert set(found) == set(asked)
        values = {name: record.numbers["mig"].value for name, record in found.items() if record.numbers}
        assert values == {"f": 0.0, "a": 0.3, "c": 0.4, "b": 0.1}
