"""`unbraid audit`."""

from types import SimpleNamespace

import pytest

from unbraid.audit import SIZES, Audit, Size
from unbraid.cli.audit import with_snapshots


def test_a_page_and_its_numbers_are_written(unbraid, tmp_path, monkeypatch):
    monkeypatch.setitem(SIZES, "quick", Size(40, 1, 2, 2, 0, is_whole=False))
    page, kept = tmp_path / "audit.html", tmp_path / "audit.json"
    outcome = unbraid("audit", "--metrics", "mcc", "--size", "quick", "--processes", 0, "--out", page, "--save", kept)
    assert outcome.code == 0, outcome.err
    assert outcome.out.endswith(f"The page is in {page.as_uri()}\nEvery value is in {kept}.\n")
    assert "unbraid audit --metrics mcc --size quick" in page.read_text()
    assert [one.name for one in Audit.from_json(kept.read_text()).metrics] == ["mcc"]


def test_runs_without_snapshots_are_left_out_and_named(capsys):
    runs = [SimpleNamespace(name="kept", snapshots=[10]), SimpleNamespace(name="bare", snapshots=[])]
    assert with_snapshots(runs) == runs[:1]
    assert "1 of 2 runs have no snapshots and are left out: bare." in capsys.readouterr().err
    assert with_snapshots(runs[1:]) == runs[1:]  # of which the audit complains


def test_a_file_that_is_no_audit_is_named_and_kept(unbraid, tmp_path):
    (tmp_path / "mine.json").write_text("[1]")
    outcome = unbraid("audit", "--metrics", "mcc", "--out", tmp_path / "a.html", "--save", tmp_path / "mine.json")
    assert (outcome.code, f"--save is {tmp_path / 'mine.json'}, which exists. This is no audit" in outcome.err) == (
        2,
        True,
    )
    assert (tmp_path / "mine.json").read_text() == "[1]"


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["--out", "page.pdf"], "name an .html file"),
        (["--save", "page.csv"], "name an .json file"),
        (["--size", "huge"], "expected 'quick' or 'full'"),
        (["--metrics", "migg"], "Did you mean 'mig'"),
        (["."], "nothing to audit with"),
    ],
)
def test_a_mistake_is_told_in_a_line(unbraid, tmp_path, monkeypatch, arguments, complaint):
    monkeypatch.chdir(tmp_path)
    outcome = unbraid("audit", *arguments)
    assert (outcome.code, complaint in outcome.err) == (2, True), outcome.err
    assert list(tmp_path.iterdir()) == []
