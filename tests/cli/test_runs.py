"""`unbraid runs`."""

import json

import pytest


def test_every_run_is_a_row(unbraid, trained):
    outcome = unbraid("runs", trained)
    assert (outcome.code, outcome.err) == (0, "")
    header, *rows = outcome.out.splitlines()
    assert header.split() == ["run", "objective", "seed", "status", "steps", "MIG"]
    assert [row.split()[0] for row in rows] == sorted(path.name for path in trained.iterdir())
    assert rows[0].split()[1:] == ["beta-tcvae,", "beta", "4", "0", "finished", "2/2"]


def test_the_score_is_shown_once_there_is_one(unbraid, trained):
    unbraid("score", trained)
    assert all(0 <= float(row.split()[-1]) <= 1 for row in unbraid("runs", trained).out.splitlines()[1:])


def test_a_run_can_be_looked_at_alone(unbraid, trained):
    one = min(trained.iterdir())
    assert unbraid("runs", one).out.splitlines()[1].startswith(one.name)


def test_a_run_deeper_down_is_named_by_its_path(unbraid, trained):
    assert "runs/vae-" in unbraid("runs", trained.parent).out


@pytest.mark.parametrize(("file", "content"), [("spec.json", "{"), ("scores.json", "[]")])
def test_a_damaged_run_does_not_hide_the_others(unbraid, trained, file, content):
    damaged = min(trained.iterdir())
    (damaged / file).write_text(content)
    outcome = unbraid("runs", trained)
    assert outcome.code == 0
    assert len(outcome.out.splitlines()) == 4
    assert outcome.err.startswith("Note: ")
    assert damaged.name in outcome.err


@pytest.mark.parametrize("content", [{}, {"format": 1}, {"format": 1, "seed": 0, "spec": {}}, {"format": 99}, []])
def test_a_spec_that_is_none_is_told_in_a_line(unbraid, trained, content):
    damaged = min(trained.iterdir())
    (damaged / "spec.json").write_text(json.dumps(content))
    outcome = unbraid("runs", damaged)
    assert outcome.code == 2
    assert "spec" in outcome.err
    assert "Traceback" not in outcome.err


def test_an_empty_folder_says_how_to_fill_it(unbraid, tmp_path):
    outcome = unbraid("runs", tmp_path)
    assert outcome.code == 0
    assert (
        outcome.out == f"There are no runs in {tmp_path}. Make one: unbraid train --dataset dsprites --out {tmp_path}\n"
    )


def test_a_folder_that_is_not_there_is_refused(unbraid, tmp_path):
    outcome = unbraid("runs", tmp_path / "nowhere")
    assert outcome.code == 2
    assert "There is no folder" in outcome.err
