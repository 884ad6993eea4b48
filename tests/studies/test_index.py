"""The index of runs: whatever happens to it, the records are those of the folders."""

import json
import math
import random
import sqlite3
from itertools import cycle

import pytest

from tests.studies.finished_runs import finish, name_of
from unbraid._internal import files
from unbraid.studies import index
from unbraid.studies.index import STUDIES, read_records

A, B = name_of("a"), name_of("b")


def records(folder, *names, **options):
    return read_records(folder, names, **options)


@pytest.mark.parametrize("how_often", [1, 2])
def test_a_finished_run_is_known_with_its_scores_read_or_remembered(tmp_path, how_often):
    finish(tmp_path, "a", 0.4)
    for _ in range(how_often):
        found, _ = records(tmp_path, A, B)
    record = found[A]
    assert (record.state, record.seconds, record.has_arrays) == ("finished", 2.5, True)
    assert (record.num_used, record.refused) == (3, {"sap": "no labels"})
    assert (record.numbers["mig"].value, record.numbers["mig"].low) == (0.4, 0.1)
    assert math.isnan(record.numbers["mig"].high)
    assert record.numbers["mig"].factors == {"x": 0.4}
    assert found[B].state == "new"


def test_without_numbers_it_is_known_which_there_are(tmp_path):
    finish(tmp_path, "a", 0.4)
    records(tmp_path, A)
    found, _ = records(tmp_path, A, detail="questions")
    assert list(found[A].numbers) == ["mig"]
    assert math.isnan(found[A].numbers["mig"].value)


def test_values_alone_come_with_the_factors_that_they_are_over(tmp_path):
    finish(tmp_path, "a", 0.4)
    finish(tmp_path, "b", None)
    for _ in range(2):
        found, _ = records(tmp_path, A, B, detail="values")
    kept = found[A].numbers["mig"]
    assert (kept.value, kept.low, kept.over, kept.factors) == (0.4, 0.1, ("x",), {})
    assert math.isnan(kept.high)
    assert math.isnan(found[B].numbers["mig"].value)
    assert found[B].numbers["mig"].over == ()


def test_what_changed_since_is_read_again(tmp_path):
    finish(tmp_path, "a", 0.4)
    records(tmp_path, A)
    finish(tmp_path, "a", 0.123)
    assert records(tmp_path, A)[0][A].numbers["mig"].value == 0.123
    (tmp_path / A / "finished.json").unlink()
    assert records(tmp_path, A)[0][A].state == "unfinished"


def test_runs_that_failed_or_are_under_way_are_told(tmp_path):
    finish(tmp_path, "a", 0.4, reason="too large", step=7)
    (tmp_path / A / "finished.json").rename(tmp_path / A / "failed.json")
    (tmp_path / B).mkdir()
    (tmp_path / B / "spec.json").touch()
    found, _ = records(tmp_path, A, B)
    assert (found[A].state, found[A].reason) == ("failed", "too large (step 7)")
    assert found[B].state == "unfinished"


def test_arrays_that_were_let_go_are_gone(tmp_path):
    finish(tmp_path, "a", 0.4, removed_files=["weights.safetensors"])
    assert not records(tmp_path, A)[0][A].has_arrays


@pytest.mark.parametrize("damage", ["lost", "garbage", "another format"])
def test_an_index_that_is_lost_or_damaged_is_made_anew(tmp_path, damage):
    finish(tmp_path, "a", 0.4)
    records(tmp_path, A)
    path = tmp_path / STUDIES / index._FILE
    if damage == "lost":
        path.unlink()
    elif damage == "garbage":
        path.write_bytes(b"no database" * 500)
    else:
        connection = sqlite3.connect(path)
        connection.executescript("DROP TABLE runs; CREATE TABLE runs (name, old); PRAGMA user_version = 1")
        connection.close()
    for _ in range(2):
        assert records(tmp_path, A)[0][A].numbers["mig"].value == 0.4


def test_an_index_of_another_format_is_kept(tmp_path, monkeypatch):
    finish(tmp_path, "a", 0.4)
    records(tmp_path, A)
    here = (tmp_path / STUDIES / index._FILE).read_bytes()
    monkeypatch.setattr(index, "_FILE", "index-7.sqlite")
    records(tmp_path, A)
    assert (tmp_path / STUDIES / "index-6.sqlite").read_bytes() == here


def test_a_folder_that_is_not_there_is_not_made(tmp_path):
    assert records(tmp_path / "none", A)[0][A].state == "new"
    assert not (tmp_path / "none").exists()


def test_scores_that_were_changed_are_told_and_not_believed(tmp_path):
    finish(tmp_path, "a", 0.4)
    path = tmp_path / A / "scores.json"
    path.write_text(path.read_text().replace("0.4", "0.9"))
    found, damaged = records(tmp_path, A)
    assert found[A].state == "unfinished"
    assert "SHA-256" in damaged[A]


@pytest.mark.parametrize(
    ("name", "odd"), [("refused", None), ("refused", "x"), ("scores", [{"name": "mig", "interval": []}])]
)
def test_odd_contents_of_a_record_damage_one_run_only(tmp_path, name, odd):
    finish(tmp_path, "a", 0.4)
    finish(tmp_path, "b", 0.5)
    path = tmp_path / A / "scores.json"
    files.write_sealed(path, json.loads(path.read_text()) | {name: odd})
    found, damaged = records(tmp_path, A, B)
    assert set(damaged) == {A}
    assert found[B].numbers["mig"].value == 0.5


def test_while_another_process_writes_it_what_is_read_serves_all_the_same(tmp_path, monkeypatch):
    finish(tmp_path, "a", 0.4)
    records(tmp_path, B)
    connection = sqlite3.connect(tmp_path / STUDIES / index._FILE)
    connection.execute("BEGIN EXCLUSIVE")
    monkeypatch.setattr("unbraid.studies.index._SECONDS_TO_WAIT", 0.05)
    try:
        assert records(tmp_path, A)[0][A].numbers["mig"].value == 0.4
    finally:
        connection.close()


@pytest.mark.parametrize("at_once", [2, 100])
def test_many_runs_are_read_with_their_neighbors(tmp_path, monkeypatch, at_once):
    monkeypatch.setattr("unbraid.studies.index._AT_ONCE", at_once)
    for place, letter in enumerate("fbdace"):
        finish(tmp_path, letter, place / 10)
    asked = tuple(name_of(letter) for letter in ("f", "a", "new", "c", "b"))
    for _ in ("read", "remembered"):
        found, _ = records(tmp_path, *asked)
        assert set(found) == set(asked)
        values = {name: record.numbers["mig"].value for name, record in found.items() if record.numbers}
        assert values == {name_of("f"): 0.0, A: 0.3, name_of("c"): 0.4, B: 0.1}


@pytest.mark.parametrize("how", ["runs", "ends and scores", "scores"])
def test_records_of_another_run_are_refused(tmp_path, how):
    finish(tmp_path, "a", 0.1)
    finish(tmp_path, "b", 0.9)
    records(tmp_path, A, B)
    names = {"runs": [""], "ends and scores": ["finished.json", "scores.json"], "scores": ["scores.json"]}[how]
    for name in names:
        first, second, beside = tmp_path / A / name, tmp_path / B / name, tmp_path / "beside"
        first.rename(beside)
        second.rename(first)
        beside.rename(second)
    found, damaged = records(tmp_path, A, B)
    assert set(damaged) == {A, B}
    assert not found[A].numbers
    assert not found[B].numbers


def test_rows_of_two_runs_that_change_places_are_not_believed(tmp_path):
    finish(tmp_path, "a", 0.1)
    finish(tmp_path, "b", 0.9)
    before = records(tmp_path, A, B)
    connection = sqlite3.connect(tmp_path / STUDIES / index._FILE)
    connection.execute(f"UPDATE runs SET name = CASE name WHEN '{A}' THEN 'x' ELSE '{A}' END")
    connection.execute(f"UPDATE runs SET name = '{B}' WHERE name = 'x'")
    connection.commit()
    connection.close()
    assert records(tmp_path, A, B) == before


def seen(found, detail):
    """What a reader who asked for this much detail may use of the records."""
    many = {"questions": 0, "values": 4, "everything": 6}[detail]
    shown = [
        (name, record._replace(numbers={key: tuple(kept)[:many] for key, kept in record.numbers.items()}))
        for name, record in found.records.items()
    ]
    return str((shown, found.damaged))


def test_flipped_bits_change_no_number_and_raise_nothing(tmp_path):
    generator = random.Random("flipped bits of an index")
    names = [finish(tmp_path, letter, generator.random(), metrics=("mig", "jemmig")) for letter in "abcdefghijkl"]
    details = ("questions", "values", "everything")
    records(tmp_path, *names)
    expected = {detail: seen(records(tmp_path, *names, detail=detail), detail) for detail in details}
    path = tmp_path / STUDIES / index._FILE
    whole = path.read_bytes()
    for number, detail in zip(range(400), cycle(details), strict=False):
        content = bytearray(whole)
        place = generator.randrange(100 if number % 4 == 0 else len(content))  # the header decides most
        content[place] ^= 1 << generator.randrange(8)
        path.write_bytes(content)
        for _ in ("damaged", "mended"):
            assert seen(records(tmp_path, *names, detail=detail), detail) == expected[detail], place


@pytest.mark.parametrize("share", [0.0, 0.3, 0.9])
def test_an_index_that_was_cut_short_is_mended(tmp_path, share):
    names = [finish(tmp_path, letter, 0.25) for letter in "abcdefghijkl"]
    expected = str(records(tmp_path, *names))
    path = tmp_path / STUDIES / index._FILE
    path.write_bytes(path.read_bytes()[: int(share * path.stat().st_size)])
    for _ in range(2):
        assert str(records(tmp_path, *names)) == expected
