"""What a benchmark writes is what it prints, and what is known is written before the rest is."""

import json

import pytest

from benchmarks.sheet import Sheet, circumstances_of

CIRCUMSTANCES = circumstances_of("benchmarks.some", ["--small"], "cpu", "abc1234")


def test_every_addition_is_printed_and_on_the_disk(tmp_path, capsys):
    out = tmp_path / "results" / "some"
    sheet = Sheet("Some", CIRCUMSTANCES, out)
    sheet.begin_table(("a",))
    for row in (1, 2):
        sheet.add_row(row)
        assert out.with_name("some.md").read_text().endswith(f"| {row} |\n")
    sheet.keep(answer=42)
    content = json.loads(out.with_name("some.json").read_text())
    assert (content["answer"], content["circumstances"]["commit"]) == (42, "abc1234")
    assert capsys.readouterr().out == out.with_name("some.md").read_text()


def test_without_a_file_nothing_is_written(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Sheet("Some", CIRCUMSTANCES, None).add("a")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("given", ["", "abc"])
def test_a_commit_that_git_cannot_tell_is_unknown_unless_given(given, tmp_path, monkeypatch):
    monkeypatch.setenv("GIT_DIR", str(tmp_path))
    assert circumstances_of("benchmarks.some", [], "cpu", given).commit == (given or "unknown")
