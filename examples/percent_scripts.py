"""Converts percent scripts to notebooks: runs each cell in this process and stores its output.

A script is plain Python. `# %%` begins a cell and `# %% [markdown]` a piece of text, as Jupytext, VS Code, PyCharm and
Spyder support it. Results are saved in build/, so that the tests and the site share one run.

    python -m examples.percent_scripts

runs the tutorials that have changed since their last run.
"""

import ast
import base64
import contextlib
import io
import re
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import nbformat
import torch
from nbformat import v4

from unbraid._internal import files

ROOT = Path(__file__).parents[1]
SCRIPTS = sorted((ROOT / "examples" / "tutorials").glob("*.py"))
KEPT = ROOT / "build" / "tutorials"

_CELL = re.compile(r"^# %%(?P<mark>.*)\n(?P<text>(?:(?!# %%).*\n?)*)", re.MULTILINE)


def notebook_of(path: Path) -> nbformat.NotebookNode:
    """Returns the notebook of a script without outputs. Lines before the first cell are excluded."""
    script = path.read_text(encoding="utf-8")
    cells = []
    for number, found in enumerate(_CELL.finditer(script)):
        source, name = found["text"].strip("\n"), f"cell-{number}"
        if "[markdown]" in found["mark"]:
            cells.append(v4.new_markdown_cell(re.sub(r"^# ?", "", source, flags=re.MULTILINE), id=name))
        else:
            lines_before = script.count("\n", 0, script.index(source, found.start("text")))
            cells.append(v4.new_code_cell(source, id=name, metadata={"lines_before": lines_before}))
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    return v4.new_notebook(cells=cells, metadata={"kernelspec": kernel})


def execute(path: Path, folder: Path) -> nbformat.NotebookNode:
    """Runs a script in this folder and returns its notebook with outputs. Errors in cells are not caught."""
    notebook = notebook_of(path)
    main = ModuleType("__main__")
    main.__file__ = str(path)
    with _as_main(main), contextlib.chdir(folder), torch.random.fork_rng(devices=[]):
        for cell in notebook.cells:
            if cell.cell_type == "code":
                cell.outputs = _run(cell, path, vars(main))
    nbformat.validate(notebook)
    return notebook


@contextlib.contextmanager
def _as_main(module: ModuleType) -> Iterator[None]:
    """Registers the script as module `__main__`, where Python looks up the classes that it defines."""
    before = sys.modules["__main__"]
    sys.modules["__main__"] = module
    try:
        yield
    finally:
        sys.modules["__main__"] = before


def _run(cell: nbformat.NotebookNode, path: Path, names: dict[str, Any]) -> list[nbformat.NotebookNode]:
    """Runs a cell and returns its printed output and the value of its last line, if this is an expression."""
    tree = ast.parse("\n" * cell.metadata.lines_before + cell.source, str(path))
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(tree, str(path), "exec"), names)  # noqa: S102 (our own scripts)
        value = None if last is None else eval(compile(ast.Expression(last.value), str(path), "eval"), names)  # noqa: S307
    shown = [v4.new_output("stream", name="stdout", text=printed.getvalue())] if printed.getvalue() else []
    return shown if value is None else [*shown, v4.new_output("display_data", data=_shown(value))]


def _shown(value: Any) -> dict[str, str]:
    """Returns the notebook representation of a value: a content for each MIME type."""
    data = {"text/plain": repr(value)}
    if hasattr(value, "_repr_html_"):
        data["text/html"] = value._repr_html_()
    if hasattr(value, "_repr_png_"):
        data["image/png"] = base64.b64encode(value._repr_png_()).decode()
    return data


def keep(notebook: nbformat.NotebookNode, path: Path) -> None:
    """Saves the outputs of a script for the site."""
    files.write_text(KEPT / f"{path.stem}.ipynb", nbformat.writes(notebook))


def kept(path: Path) -> nbformat.NotebookNode | None:
    """Returns the notebook of the last run; None without a run, or if the script has changed since."""
    place = KEPT / f"{path.stem}.ipynb"
    if not place.is_file():
        return None
    found = nbformat.read(place, as_version=4)
    return found if [c.source for c in found.cells] == [c.source for c in notebook_of(path).cells] else None


def main() -> None:
    for script in SCRIPTS:
        if kept(script) is None:
            print(f"running {script.name}", flush=True)
            with tempfile.TemporaryDirectory() as folder:
                keep(execute(script, Path(folder)), script)


if __name__ == "__main__":
    main()
