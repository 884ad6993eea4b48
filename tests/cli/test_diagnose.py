"""`unbraid diagnose`."""

import json

import pytest


def test_findings_are_said_and_kept(unbraid, trained, tmp_path):
    run = sorted(trained.iterdir())[0]
    outcome = unbraid("diagnose", run, "--save", tmp_path / "findings.json")
    assert outcome.code == 0, outcome.err
    assert "beta-tcvae" in outcome.out.lower()
    assert "What to try next:" in outcome.out
    kept = json.loads((tmp_path / "findings.json").read_text())
    assert list(kept) == [run.name]
    beta = next(finding for finding in kept[run.name]["findings"] if finding["check"] == "effective beta")
    assert beta["numbers"]["beta"] > 0


def test_json_is_printed_for_programs(unbraid, trained):
    outcome = unbraid("diagnose", trained, "--json", "--images", 16)
    assert outcome.code == 0, outcome.err
    assert len(json.loads(outcome.out)) == 4


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [(["."], "nothing to diagnose"), ([".", "--save", "page.html"], "name a .json file")],
)
def test_a_mistake_is_told_in_a_line(unbraid, tmp_path, monkeypatch, arguments, complaint):
    monkeypatch.chdir(tmp_path)
    outcome = unbraid("diagnose", *arguments)
    assert (outcome.code, complaint in outcome.err) == (2, True)
