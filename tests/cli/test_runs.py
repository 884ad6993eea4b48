"""`unbraid runs`."""

import json
import os

import pytest

from unbraid._internal.files import seal


def test_every_run_is_a_row(unbraid, trained):
    outcome = unbraid("runs", trained)
    assert (outcome.code, outcome.err) == (0, "")
    header, *rows = outcome.out.splitlines()
    assert header.split() == ["run", "objective", "seed", "status", "steps", "MIG,", "all", "factors"]
    assert [row.split()[0] for row in rows] == sorted(path.name for path in trained.iterdir())
    assert rows[0].split()[1:] == ["beta-tcvae,", "beta", "4", "0", "finished", "2/2"]


def test_the_score_is_shown_once_there_is_one(unbraid, trained):
    unbraid("score", trained, "--metrics", "mig")
    head, *rows = unbraid("runs", trained).out.splitlines()
    assert head.endswith("unused latents"), "two steps of training leave the models as they began"
    assert all(row.endswith("2 of 2") for row in rows)
    assert all(0 <= float(row.split()[-4]) <= 1 for row in rows)


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


def _unfinish(run):
    (run / "finished.json").unlink()
    (run / "checkpoints").mkdir()


def _checkpoint_named(name):
    def damage(run):
        _unfinish(run)
        (run / "checkpoints" / name).write_text("{}")

    return damage


def _failed(content):
    def damage(run):
        _unfinish(run)
        (run / "failed.json").write_text(content)

    return damage


def _kept(content):
    def damage(run):
        _unfinish(run)
        (run / "kept.json").write_text(content)

    return damage


def _spec(**changed):
    def damage(run):
        content = json.loads((run / "spec.json").read_text())
        content["spec"] |= changed
        (run / "finished.json").unlink()
        (run / "spec.json").write_text(json.dumps(content | {"sha256": seal(content)}))

    return damage


def _nested(depth):
    return json.loads('{"type":' * depth + '""' + "}" * depth)


ODD = {
    "a copy of a checkpoint": (_checkpoint_named("step-0000000012 (1).json"), False),
    "a backup of a checkpoint": (_checkpoint_named("step-0000000012.json.bak"), False),
    "a step that is a word": (_failed('{"step": "x"}'), True),
    "a step that is nothing": (_failed('{"step": null}'), True),
    "a failure that is a list": (_failed("[1]"), True),
    "a failure nested without end": (_failed('{"step":' * 900 + "1" + "}" * 900), True),
    "a kept fleet that is a number": (_kept('{"fleet": 7}'), False),
    "a spec nested deeply": (_spec(model=_nested(300)), True),
    "a spec nested more deeply": (_spec(model=_nested(900)), True),
    "a number of steps beyond 64 bits": (_spec(num_steps=10**30), True),
    "a number beyond all floats": (_spec(max_loss=10**400), True),
    "nets beyond all memory": (
        _spec(
            model={"type": "unbraid.models.Autoencoder", "encoder": {"type": "unbraid.models.MLP", "hidden": [10**18]}}
        ),
        False,  # none is built for a table
    ),
    "a NUL in a path": (_spec(dataset={"type": "unbraid.datasets.FromFolder", "path": "a\0b"}), True),
    "half a character in a path": (_spec(dataset={"type": "unbraid.datasets.FromFolder", "path": "\ud800"}), True),
    "a path that is too long": (_spec(dataset={"type": "unbraid.datasets.FromFolder", "path": "x" * 5000}), True),
    "a folder in place of the scores": (lambda run: (run / "scores.json").mkdir(), True),
}


@pytest.mark.parametrize(("damage", "is_told"), ODD.values(), ids=ODD)
def test_one_odd_run_does_not_hide_the_others_and_is_told_in_a_line(unbraid, trained, damage, is_told):
    odd = min(trained.iterdir())
    damage(odd)
    outcome = unbraid("runs", trained)
    assert (outcome.code, "Traceback" in outcome.err) == (0, False), outcome.err
    rows = [row.split()[0] for row in outcome.out.splitlines()[1:]]
    assert set(rows) >= {run.name for run in trained.iterdir() if run != odd}
    assert (odd.name in rows) != is_told
    assert (len(outcome.err.splitlines()), odd.name in outcome.err) == (is_told, is_told)


@pytest.mark.parametrize("content", [{}, {"format": 1}, {"format": 1, "seed": 0, "spec": {}}, {"format": 99}, []])
def test_a_spec_that_is_none_is_told_in_a_line(unbraid, trained, content):
    damaged = min(trained.iterdir())
    (damaged / "spec.json").write_text(json.dumps(content))
    outcome = unbraid("runs", damaged)
    assert outcome.code == 2
    assert "spec" in outcome.err
    assert "Traceback" not in outcome.err


def test_a_folder_that_may_not_be_entered_is_told_in_a_line(unbraid, trained, monkeypatch):
    forbidden, scandir = str(min(trained.iterdir())), os.scandir

    def refuse(path="."):
        if str(path) == forbidden:
            raise PermissionError(13, "Permission denied", forbidden)
        return scandir(path)

    monkeypatch.setattr(os, "scandir", refuse)
    outcome = unbraid("runs", trained)
    assert (outcome.code, len(outcome.out.splitlines())) == (0, 4)
    assert outcome.err.startswith(f"Note: {forbidden} ")
    assert "Permission denied" in outcome.err


def test_an_empty_folder_says_how_to_fill_it(unbraid, tmp_path):
    outcome = unbraid("runs", tmp_path)
    assert outcome.code == 0
    assert (
        outcome.out == f"There are no runs in {tmp_path}. Make one: unbraid train --dataset dsprites --out {tmp_path}\n"
    )


def test_a_folder_that_is_not_there_is_refused(unbraid, tmp_path):
    outcome = unbraid("runs", tmp_path / "nowhere")
    assert outcome.code == 2
    assert "folder" in outcome.err
