"""Evidence: scores that travel in one file, and are noticed if they are changed."""

import json
import math
import subprocess

import pytest

from tests.studies.made_scores import made_scores
from unbraid._internal import files
from unbraid.errors import UnbraidError
from unbraid.studies.evidence import Evidence, commit_of_checkout

SCORES = made_scores({"a": {"mig": [0.1, 0.25, None], "sap": [1, math.inf, None]}, "b": {"mig": [0.5]}}, {"sap": None})
EVIDENCE = Evidence("small", SCORES, {"command": "unbraid study run", "seconds": 3.5})


def test_it_is_read_back(tmp_path):
    read = Evidence.load(EVIDENCE.save(tmp_path / "evidence.json"))
    assert read.made_by == EVIDENCE.made_by
    assert read.study == "small"
    for name in ("settings", "families", "metrics", "higher_is_better", "runs"):
        assert getattr(read.scores, name) == getattr(SCORES, name)
    for label in "ab":
        for metric in ("mig", "sap"):
            assert read.scores.values(label, metric) == SCORES.values(label, metric)


def test_a_run_is_a_line(tmp_path):
    lines = EVIDENCE.save(tmp_path / "evidence.json").read_text().splitlines()
    assert sum('"seed"' in line for line in lines) == len(SCORES.runs)


def test_a_changed_number_is_noticed(tmp_path):
    path = EVIDENCE.save(tmp_path / "evidence.json")
    path.write_text(path.read_text().replace("0.25", "0.95"))
    with pytest.raises(UnbraidError, match="SHA-256"):
        Evidence.load(path)


@pytest.mark.parametrize("content", ["{", "[]", '{"format": 9}'])
def test_what_is_no_evidence_is_refused_by_name(tmp_path, content):
    (tmp_path / "evidence.json").write_text(content)
    with pytest.raises(UnbraidError, match="evidence.json"):
        Evidence.load(tmp_path / "evidence.json")


@pytest.mark.parametrize(
    ("where", "field", "odd"),
    [
        ("runs", "seed", "x"),
        ("runs", "run", None),
        ("runs", "state", "odd"),
        ("runs", "num_used", []),
        (0, "metrics", 7),
    ],
)
def test_odd_fields_are_refused_by_name(tmp_path, where, field, odd):
    path = EVIDENCE.save(tmp_path / "evidence.json")
    content = json.loads(path.read_text())
    if where == "runs":
        content["runs"][0][field] = odd
    else:
        content[field][0][1] = odd
    content.pop("sha256")
    path.write_text(json.dumps({**content, "sha256": files.seal(content)}))
    with pytest.raises(UnbraidError, match=f"evidence.json .*the field '{field}'"):
        Evidence.load(path)


def repository(folder, *files):
    folder.mkdir(parents=True, exist_ok=True)
    for name in files:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("first")
    for command in (
        ("init", "-q"),
        ("add", *files),
        ("-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "one"),
    ):
        subprocess.run(["git", "-C", str(folder), *command], check=True, capture_output=True)


def test_a_package_installed_inside_another_repository_has_no_commit(tmp_path):
    repository(tmp_path, "own.py")
    installed = tmp_path / "env" / "site-packages" / "module.py"
    installed.parent.mkdir(parents=True)
    installed.write_text("")
    assert commit_of_checkout(installed) == "unknown"
    assert commit_of_checkout(tmp_path / "own.py") not in ("unknown", "")


def test_uncommitted_changes_are_marked(tmp_path):
    repository(tmp_path, "src/module.py", "src/other.py")
    commit = commit_of_checkout(tmp_path / "src" / "module.py")
    (tmp_path / "src" / "new.txt").write_text("untracked")
    assert commit_of_checkout(tmp_path / "src" / "module.py") == commit
    (tmp_path / "src" / "other.py").write_text("second")
    assert commit_of_checkout(tmp_path / "src" / "module.py") == f"{commit}+changes"
