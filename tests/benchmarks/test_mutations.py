"""The list of mutations is that of this tree: every old text is there exactly once, and so are the tests."""

import pytest

from benchmarks import mutations as benchmark
from benchmarks.mutations import Mutation, NotApplicableError, mutations, paths_of_tests, place, run, run_all

EVERY = mutations()


def test_there_are_sixty_and_each_changes_something():
    assert len(EVERY) == 60
    assert all(each.old != each.new and each.tests for each in EVERY)
    assert len({(each.file, each.old, each.new) for each in EVERY}) == 60


@pytest.mark.parametrize("mutation", EVERY, ids=lambda each: str(each.number))
def test_its_text_is_there_once_and_its_tests_are_too(mutation):
    assert place(mutation).read_text(encoding="utf-8").count(mutation.old) == 1
    assert paths_of_tests(mutation)


@pytest.fixture
def tree(tmp_path):
    """A package with one function, and a test of it."""
    for name, text in {
        "src/unbraid/training/runs/here.py": "def f(x):\n    return x + 1\n",
        "src/unbraid/__init__.py": "",
        "tests/test_it.py": "from unbraid.training.runs.here import f\n\n\ndef test_it():\n    assert f(1) > 1\n",
    }.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return tmp_path


def test_code_that_was_moved_is_found(tree):
    assert place(Mutation(1, "", "gone.py", "x + 1", "x", ()), tree).name == "here.py"
    assert paths_of_tests(Mutation(1, "", "", "", "", ("moved/test_it.py",)), tree) == ["tests/test_it.py"]
    with pytest.raises(NotApplicableError):
        place(Mutation(1, "", "runs/here.py", "x + 2", "x", ()), tree)
    (tree / "src/unbraid/__init__.py").write_text("y = x + 1", encoding="utf-8")
    with pytest.raises(NotApplicableError):
        place(Mutation(1, "", "gone.py", "x + 1", "x", ()), tree)


@pytest.mark.parametrize(("new", "outcome"), [("x - 1", "caught"), ("x + 2", "survived")], ids=["caught", "survived"])
def test_a_mutation_is_caught_or_survives_and_the_tree_is_as_before(tree, new, outcome):
    before = (tree / "src/unbraid/training/runs/here.py").read_text(encoding="utf-8")
    done = run(Mutation(1, "area", "runs/here.py", "x + 1", new, ("test_it.py",)), tree)
    assert done["outcome"] == outcome
    assert (tree / "src/unbraid/training/runs/here.py").read_text(encoding="utf-8") == before


def test_tests_that_cannot_be_read_catch_nothing(tree):
    (tree / "tests/test_it.py").write_text("import unbraid.gone\n", encoding="utf-8")
    assert run(Mutation(1, "area", "runs/here.py", "x + 1", "x", ("test_it.py",)), tree)["outcome"] == "error"


def test_what_was_run_is_not_run_again(tree, tmp_path, monkeypatch):
    asked = []

    def found(mutation, copied):
        asked.append(mutation.number)
        assert place(mutation, copied).is_relative_to(copied)
        return {"number": mutation.number, "old": mutation.old, "outcome": "caught" if mutation.number < 3 else "error"}

    monkeypatch.setattr(benchmark, "ROOT", tree)
    monkeypatch.setattr(benchmark, "run", found)
    every = [Mutation(number, "area", "runs/here.py", "x + 1", "x", ("test_it.py",)) for number in (1, 2, 3)]
    out = tmp_path / "results.json"
    list(run_all(every[:1], out))
    assert [each["outcome"] for each in run_all(every, out)] == ["caught", "caught", "error"]
    list(run_all(every, out))
    assert asked == [1, 2, 3, 3]
