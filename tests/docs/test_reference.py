"""The reference of the site: every public name is on one page, says what it is, and links to torch and numpy."""

import ast
import functools
import importlib
import pydoc
import re
from collections import Counter
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import yaml

pytest.importorskip("mkdocs", reason="the site is built with the `docs` extra")

import unbraid
from docs.hooks import reference
from tests.discovery import ROOT

INTERNAL = {"cli", "display", "pages", "source"}


@functools.cache
def pages() -> dict[str, str]:
    """The text of each page by its name: made when a test asks for it, not by every process that collects the tests."""
    return {page: reference.text_of(module) for module, page in reference.pages().items()}


@functools.cache
def documented() -> list[tuple[str, str]]:
    """What is on which page."""
    return [(page, path) for page, text in pages().items() for path in re.findall(r"^::: (\S+)$", text, re.MULTILINE)]


def public_folders() -> list[ModuleType]:
    """Every folder but the internal ones."""
    folders = [file.parent.relative_to(ROOT / "src").parts for file in (ROOT / "src").rglob("__init__.py")]
    public = [parts for parts in folders if not INTERNAL & set(parts)]
    return [importlib.import_module(".".join(parts)) for parts in public]


def exported(folder: ModuleType) -> dict[str, Any]:
    if hasattr(folder, "__all__"):
        return {name: getattr(folder, name) for name in folder.__all__}
    return {name: it for name, it in vars(folder).items() if name[0] != "_" and not isinstance(it, ModuleType)}


def resolved(path: str) -> Any:
    """What the last name of a path means in its module, though a file there may have the same name."""
    module, _, name = path.rpartition(".")
    return getattr(importlib.import_module(module), name)


def test_every_public_name_is_on_exactly_one_page():
    times = Counter(id(resolved(path)) for _, path in documented())
    wrong = {
        f"{folder.__name__}.{name}": times[id(it)]
        for folder in public_folders()
        for name, it in exported(folder).items()
        if times[id(it)] != 1
    }
    assert wrong == {}, (
        "pages on which each of these is; export it with `from x import y as y`, and list its module in mkdocs.yml"
    )


def test_nothing_is_on_two_pages():
    assert [path for path, times in Counter(path for _, path in documented()).items() if times > 1] == []
    assert len(documented()) > 300


def test_every_public_name_says_what_it_is():
    silent = [name.path for name in reference.names().values() if not name.about]
    assert silent == [], "a class and a function have a docstring; a type has a text below it"


def test_the_names_of_unbraid_are_listed_with_a_link_to_their_home():
    text = pages()["reference/unbraid.md"]
    assert all(f"[`{name}`][" in text for name in unbraid.__all__)
    assert "[`MIG`][unbraid.metrics.MIG]" in text


def test_the_names_of_unbraid_have_an_example_that_runs_as_a_test():
    """The collector of conftest.py runs all of them. `Run` is what those of `train` and `runs_in` return."""
    names = [name for name in reference.names().values() if name.definition.name in unbraid.__all__]
    assert {name.definition.name for name in names if ">>> " not in name.about} == {"Run", "__version__"}


def test_code_on_the_pages_imports_what_the_reference_describes():
    """A module that pages tell users to import from is public, or the name that is imported is exported above it."""
    described = {id(resolved(path)) for _, path in documented()}
    for page in [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]:
        for module, names in re.findall(
            r"^from (unbraid[\w.]*) import ([\w, ]+)", page.read_text("utf-8"), re.MULTILINE
        ):
            for name in names.replace(" ", "").split(","):
                it = getattr(importlib.import_module(module), name)
                assert id(it) in described or isinstance(it, ModuleType), f"{page.name}: {module}.{name}"


def test_names_of_other_packages_have_an_address_where_they_are():
    for name, url in reference.addresses().items():
        assert name.startswith(("matplotlib.", "pandas.")) or pydoc.locate(name) is not None, name
        assert re.fullmatch(rf"https://[\w./]+#{re.escape(name)}", url)


@pytest.mark.parametrize("package", ["torch", "numpy"])
def test_what_signatures_take_from_torch_and_numpy_is_linked(package):
    files = {name.definition.filepath for name in reference.names().values()}
    used = {each for file in files for each in annotated(file) if each.startswith(f"{package}.")}
    assert used
    assert used <= set(reference.addresses())


def annotated(file: Path) -> set[str]:
    """The names in the signatures of what is public in a file, with the packages that they come from."""
    tree = ast.parse(file.read_text(encoding="utf-8"))
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef) and node.name[0] != "_"]
    notes = [note for each in functions for note in (*(arg.annotation for arg in each.args.args), each.returns) if note]
    lines = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    home = {alias.name: f"{line.module}.{alias.name}" for line in lines for alias in line.names} | {"np": "numpy"}
    names = [name.partition(".") for note in notes for name in re.findall(r"[A-Za-z_][\w.]*", ast.unparse(note))]
    return {f"{home.get(first, first)}{dot}{rest}" for first, dot, rest in names}


def test_one_finds_the_pages_by_what_one_wants_to_do():
    nav = yaml.safe_load((ROOT / "mkdocs.yml").read_text(encoding="utf-8"))["nav"]
    assert [next(iter(entry)) for entry in nav] == ["Home", "Learn", "Measure", "Show", "Study", "Extend", "Reference"]
    assert longest(nav) <= 16, "so many entries side by side want a level between"


def longest(entries: list[Any]) -> int:
    below = [part for entry in entries if isinstance(entry, dict) for part in entry.values() if isinstance(part, list)]
    return max([len(entries), *map(longest, below)])
