"""The tutorials run, show figures, and say what a real run takes; what they give is kept for the site."""

import ast

import pytest

pytest.importorskip("nbformat")
pytest.importorskip("matplotlib")

from docs.hooks.tutorials import markdown
from examples.percent_scripts import SCRIPTS, execute, keep, notebook_of
from tests.discovery import ROOT, pages_in_nav

SCRIPT = """# %% [markdown]
# # A title
#
# Some *text*.

# %%
numbers = [1, 2]
print("printed")
numbers

# %%
import sys


class Shown:
    def _repr_html_(self):
        return "<table></table>"


assert sys.modules["__main__"].numbers == numbers
Shown()

# %%
from unbraid import figures

figures.strip_plot({"a": [0.1, 0.2]})
"""


@pytest.fixture(scope="module")
def notebook(tmp_path_factory):
    script = tmp_path_factory.mktemp("script") / "small.py"
    script.write_text(SCRIPT)
    return execute(script, tmp_path_factory.mktemp("work"))


def test_a_notebook_has_what_each_cell_prints_and_what_its_last_line_shows(notebook):
    text, first, second, third = notebook.cells
    assert text.source == "# A title\n\nSome *text*."
    assert first.outputs[0].text == "printed\n"
    assert first.outputs[1].data["text/plain"] == "[1, 2]"
    assert second.outputs[0].data["text/html"] == "<table></table>"
    assert "image/png" in third.outputs[0].data


def test_a_page_has_code_results_and_pictures(notebook):
    page, pictures = markdown(notebook, "small")
    assert page.startswith("# A title\n\nSome *text*.\n\n[As a notebook, with its results](small.ipynb)")
    assert "```text\nprinted\n```" in page
    assert '<div class="output" markdown="0"><table></table></div>' in page
    assert "](small-1.png)" in page
    assert pictures["small-1.png"].startswith(b"\x89PNG")


def test_an_error_names_its_line(tmp_path):
    script = tmp_path / "wrong.py"
    script.write_text("# %%\nfine = 1\n\n# %%\n1 / 0\n")
    with pytest.raises(ZeroDivisionError) as error:
        execute(script, tmp_path)
    assert (error.traceback[-1].path, error.traceback[-1].lineno + 1) == (script, 5)


def test_there_are_five_and_each_is_listed_and_says_what_a_real_run_takes():
    assert len(SCRIPTS) == 5
    index = (ROOT / "docs" / "tutorials" / "index.md").read_text()
    for script in SCRIPTS:
        first, *_ = notebook_of(script).cells
        assert first.cell_type == "markdown"
        said = " ".join(first.source.split())
        assert "on one core" in said
        assert " real " in said
        assert f"](../../examples/tutorials/{script.name})" in index
        assert f"tutorials/{script.stem}.md" in pages_in_nav()
        ast.parse(script.read_text())


@pytest.mark.slow
@pytest.mark.usefixtures("_as_users_run_it")
@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.stem)
def test_a_tutorial_runs_and_shows_figures(script, tmp_path):
    notebook = execute(script, tmp_path)
    outputs = [output for cell in notebook.cells if cell.cell_type == "code" for output in cell.outputs]
    assert sum("image/png" in output.get("data", {}) for output in outputs) >= 2
    keep(notebook, script)
