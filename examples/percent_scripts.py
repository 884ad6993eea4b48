"""Percent scripts as notebooks: run cell by cell in this process, with what each cell prints and shows.

A script is plain Python. `# %%` begins a cell and `# %% [markdown]` a piece of text, as Jupytext, VS Code, PyCharm and
Spyder know it. A result is kept in build/, so that the tests and the site need one run between them.
"""

import ast
import base64
import contextlib
import hashlib
import io
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any, final

import nbformat
import torch
from nbformat import v4

from unbraid._internal import files

ROOT = Path(__file__).parents[1]
SCRIPTS = sorted((ROOT / "examples" / "tutorials").glob("*.py"))
KEPT = ROOT / "build" / "tutorials"

_MARK = re.compile(r"^# %%(.*)$", re.MULTILINE)


@final
@dataclass(frozen=True)
class Cell:
    """A piece of a script: its text, and the line that it begins on."""

    is_text: bool
    content: str
    line: int


def cells(script: str) -> list[Cell]:
    """Returns the cells of a script, its texts without comment signs. What stands before the first is no cell."""
    marks = list(_MARK.finditer(script))
    ends = [*(mark.start() for mark in marks[1:]), len(script)]
    return [
        _cell("[markdown]" in mark[1], script[mark.end() + 1 : end], script.count("\n", 0, mark.end()) + 2)
        for mark, end in zip(marks, ends, strict=True)
    ]


def _cell(is_text: bool, content: str, line: int) -> Cell:
    if is_text:
        content = re.sub(r"^# ?", "", content, flags=re.MULTILINE)
    return Cell(is_text, content.strip("\n"), line + len(content) - len(content.lstrip("\n")))


def execute(path: Path, folder: Path) -> nbformat.NotebookNode:
    """Returns the notebook of a script that was run in this folder. An error in a cell is raised as it is."""
    script = path.read_text(encoding="utf-8")
    main = ModuleType("__main__")
    main.__file__ = str(path)
    done = []
    with _as_main(main), contextlib.chdir(folder), torch.random.fork_rng(devices=[]):
        for number, cell in enumerate(cells(script)):
            named = {"id": f"cell-{number}"}
            if cell.is_text:
                done.append(v4.new_markdown_cell(cell.content, **named))
            else:
                outputs = _run(cell, path, vars(main))
                done.append(v4.new_code_cell(cell.content, outputs=outputs, execution_count=None, **named))
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    notebook = v4.new_notebook(cells=done, metadata={"kernelspec": kernel, "unbraid": {"script": _digest(script)}})
    nbformat.validate(notebook)
    return notebook


@contextlib.contextmanager
def _as_main(module: ModuleType) -> Iterator[None]:
    """Makes this the script that is running, as Python does: classes that it defines look for it there."""
    before = sys.modules["__main__"]
    sys.modules["__main__"] = module
    try:
        yield
    finally:
        sys.modules["__main__"] = before


def _run(cell: Cell, path: Path, names: dict[str, Any]) -> list[nbformat.NotebookNode]:
    """Runs a cell and returns what it prints, and what its last line shows if that is an expression."""
    tree = ast.parse("\n" * (cell.line - 1) + cell.content, str(path))
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(tree, str(path), "exec"), names)  # noqa: S102 (our own scripts)
        value = None if last is None else eval(compile(ast.Expression(last.value), str(path), "eval"), names)  # noqa: S307
    shown = [v4.new_output("stream", name="stdout", text=printed.getvalue())] if printed.getvalue() else []
    return shown if value is None else [*shown, v4.new_output("display_data", data=_shown(value))]


def _shown(value: Any) -> dict[str, str]:
    """Returns a value as a notebook shows it: each kind of content under its type."""
    data = {"text/plain": repr(value)}
    if hasattr(value, "_repr_html_"):
        data["text/html"] = value._repr_html_()
    if hasattr(value, "_repr_png_"):
        data["image/png"] = base64.b64encode(value._repr_png_()).decode()
    return data


def keep(notebook: nbformat.NotebookNode, path: Path) -> None:
    """Keeps what a script gave, for the site."""
    KEPT.mkdir(parents=True, exist_ok=True)
    files.write_text(KEPT / f"{path.stem}.ipynb", nbformat.writes(notebook))


def kept(path: Path) -> nbformat.NotebookNode | None:
    """Returns what the script as it is now gave when it was last run here; None if it was not."""
    place = KEPT / f"{path.stem}.ipynb"
    if not place.is_file():
        return None
    notebook = nbformat.read(place, as_version=4)
    script = _digest(path.read_text(encoding="utf-8"))
    return notebook if notebook.metadata.get("unbraid", {}).get("script") == script else None


def _digest(script: str) -> str:
    return hashlib.sha256(script.encode()).hexdigest()
