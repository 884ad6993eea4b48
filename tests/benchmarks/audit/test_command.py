"""python -m benchmarks.audit."""

from types import SimpleNamespace

import pytest

from benchmarks.audit import SIZES, Audit, Size
from benchmarks.audit.__main__ import main
from benchmarks.audit.auditor import measure

pytestmark = pytest.mark.slow


@pytest.fixture
def command(capsys):
    """Runs the command and returns its exit code and what it printed."""

    def ran(*arguments):
        code = main([str(argument) for argument in arguments])
        printed = capsys.readouterr()
        return SimpleNamespace(code=code, out=printed.out, err=printed.err)

    return ran


def test_a_page_and_its_numbers_are_written(command, tmp_path, monkeypatch):
    monkeypatch.setitem(SIZES, "quick", Size(40, 1, 2, 2, 0, is_whole=False))
    page, kept = tmp_path / "audit.html", tmp_path / "audit.json"
    outcome = command("--metrics", "mcc", "--size", "quick", "--processes", 0, "--out", page, "--save", kept)
    assert outcome.code == 0, outcome.err
    assert outcome.out.endswith(f"The page is in {page.as_uri()}\nEvery value is in {kept}.\n")
    assert "-m benchmarks.audit --metrics" in page.read_text()
    assert [one.name for one in Audit.from_json(kept.read_text()).metrics] == ["mcc"]
    assert "(40 images" in outcome.err


@pytest.fixture
def quick(command, tmp_path, monkeypatch):
    """A quick audit of these metrics in this process, to page.html."""
    monkeypatch.setitem(SIZES, "quick", Size(40, 1, 2, 2, 0, is_whole=False))

    def audited(metrics, *flags):
        flags = ("--size", "quick", "--processes", 0, "--out", tmp_path / "page.html", *flags)
        return command("--metrics", metrics, *flags)

    return audited


def test_a_page_that_holds_more_is_kept_unless_forced(quick, tmp_path, monkeypatch):
    page = tmp_path / "page.html"
    assert quick("mcc,top-attributes").code == 0
    written = page.read_text()
    outcome = quick("mcc")
    assert (outcome.code, page.read_text()) == (2, written)
    assert f"--out is {page}, which exists and holds metrics that this audit leaves out: top-attributes." in outcome.err
    assert "--force." in outcome.err
    assert "The page" not in outcome.out
    assert quick("top-attributes,mcc").code == 0  # the same again loses nothing
    monkeypatch.setitem(SIZES, "quick", Size(50, 1, 2, 2, 0, is_whole=False))
    assert "size Size(num_images=40" in quick("mcc,top-attributes").err
    assert quick("mcc", "--force").code == 0
    page.write_text("mine")
    assert "exists" in quick("mcc").err
    assert page.read_text() == "mine"


def test_a_page_is_replaced_by_one_with_all_that_is_kept(quick, tmp_path):
    save = ("--save", tmp_path / "kept.json")
    assert quick("mcc", *save).code == 0
    assert quick("mcc", *save).code == 0
    assert quick("top-attributes", *save).code == 0
    assert "benchmarks.audit --metrics mcc,top-attributes" in (tmp_path / "page.html").read_text()


def test_an_audit_that_is_stopped_says_what_is_kept(quick, tmp_path, monkeypatch):
    answers = []

    def stopped(order, beat):
        answers.append(order)
        if len(answers) > 2:
            raise KeyboardInterrupt
        return measure(order, beat)

    monkeypatch.setattr("benchmarks.audit.auditor.measure", stopped)
    bare = quick("mcc")
    assert (bare.code, "--save audit.json" in bare.err) == (130, True)
    save = tmp_path / "kept.json"
    unbegun = quick("mcc", "--save", save)
    assert (unbegun.code, "Nothing had been" in unbegun.err, save.exists()) == (130, True, False)
    answers.clear()
    begun = quick("mcc", "--save", save)
    assert f"What was measured is kept in {save}; to continue, type the command again.\n" in begun.err
    assert "train" not in bare.err + unbegun.err + begun.err
    assert len(Audit.from_json(save.read_text()).measurements) == 2
    monkeypatch.setattr("benchmarks.audit.auditor.measure", measure)
    assert quick("mcc", "--save", save).code == 0


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["--out", "page.pdf"], "expected an .html file"),
        (["--save", "page.csv"], "expected an .json file"),
        (["--size", "huge"], "expected 'quick' or 'full'"),
        (["--metrics", ""], "expected names separated by commas, such as mig,dci:forest"),
        (["--metrics", "migg"], "Did you mean 'mig'"),
        (["."], "nothing to audit with"),
    ],
)
def test_a_mistake_is_told_in_a_line(command, tmp_path, monkeypatch, arguments, complaint):
    monkeypatch.chdir(tmp_path)
    outcome = command(*arguments)
    assert (outcome.code, complaint in outcome.err) == (2, True), outcome.err
    assert "The page" not in outcome.out  # it has not begun
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_is_no_audit_is_refused_and_kept(command, tmp_path):
    (tmp_path / "mine.json").write_text("[1]")
    outcome = command("--metrics", "mcc", "--out", tmp_path / "a.html", "--save", tmp_path / "mine.json")
    assert (outcome.code, str(tmp_path / "mine.json") in outcome.err) == (2, True)
    assert (tmp_path / "mine.json").read_text() == "[1]"
