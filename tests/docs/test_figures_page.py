"""The page about figures: it shows every kind, its figures are there and small, and its code makes them."""

import re

import pytest

from examples.figure_gallery import FOLDER, PAGE, blocks, make
from unbraid import figures

SHOWN = re.findall(r"\]\(figures/(.*?)\)", PAGE.read_text(encoding="utf-8"))
MOST_BYTES = 60_000


def test_every_function_that_draws_is_on_the_page():
    code = "\n".join(blocks())
    functions = {name for name, found in vars(figures).items() if callable(found) and not isinstance(found, type)}
    others = {"data_of", "family_look", "heat_map", "median_paths", "training_curves"}  # in the text
    assert [name for name in functions - others if f"figures.{name}(" not in code] == []
    assert all(f"figures.{name}" in PAGE.read_text(encoding="utf-8") for name in others)


def test_every_figure_that_is_shown_is_saved_by_the_code_before_it():
    assert re.findall(r'figures\.save\(\w+, "(.*?)"\)', "\n".join(blocks())) == SHOWN


@pytest.mark.parametrize("name", SHOWN)
def test_a_figure_is_small_text_and_has_its_numbers(name):
    content = (FOLDER / name).read_text(encoding="utf-8")
    assert len(content) < MOST_BYTES
    assert "<text" in content
    assert len((FOLDER / name).with_suffix(".csv").read_text(encoding="utf-8").splitlines()) > 2


@pytest.mark.slow
def test_the_code_makes_the_figures(tmp_path):
    pytest.importorskip("matplotlib")
    make(tmp_path)
    assert sorted(path.name for path in tmp_path.glob("*.svg")) == sorted(SHOWN)
    for name in ("box.csv", "rate-distortion.csv", "correlation.csv", "designs.csv"):
        assert (tmp_path / name).read_text() == (FOLDER / name).read_text()
