"""Figures as files with their numbers beside them, and matplotlib as it was."""

import csv
import sys

import numpy as np
import pytest

from tests.figures.made_runs import made_runs
from unbraid import Codes, figures
from unbraid.codes import CodesOptions
from unbraid.errors import UnbraidError
from unbraid.figures.saving import rendered

mpl = pytest.importorskip("matplotlib")
TABLE = made_runs()
CODES = Codes.from_arrays(
    np.eye(4)[:, :2], np.ones((4, 2)), factors=[[0], [1], [0], [1]], options=CodesOptions(factor_names=["side"])
)
DRAWINGS = {
    "box_plot": lambda: figures.box_plot(TABLE, "mig"),
    "violin_plot": lambda: figures.violin_plot(TABLE, "mig"),
    "strip_plot": lambda: figures.strip_plot(TABLE, "mig"),
    "error_bars": lambda: figures.error_bars(TABLE, "mig"),
    "sorted_bars": lambda: figures.sorted_bars(TABLE, "mig"),
    "mean_band": lambda: figures.mean_band(TABLE, "strength", "mig"),
    "scatter_plot": lambda: figures.scatter_plot(TABLE, "mig", "jemmig"),
    "median_paths": lambda: figures.median_paths(TABLE, "rate", "distortion"),
    "rate_distortion_plane": lambda: figures.rate_distortion_plane(TABLE),
    "parallel_coordinates": lambda: figures.parallel_coordinates(TABLE, ["mig", "rate"]),
    "metric_correlation": lambda: figures.metric_correlation(TABLE, ["mig", "rate"]),
    "mean_code_curves": lambda: figures.mean_code_curves(CODES),
    "code_map": lambda: figures.code_map(CODES, (0, 1)),
    "heat_map": lambda: figures.heat_map(np.eye(2), ["a", "b"], ["c", "d"]),
    "latent_factor_map": lambda: figures.latent_factor_map(np.eye(2), ["scale", "shape"]),
    "latent_latent_map": lambda: figures.latent_latent_map(np.eye(2)),
    "mean_histograms": lambda: figures.mean_histograms(np.arange(6.0).reshape(3, 2)),
    "training_curves": lambda: figures.training_curves([1, 2], {"loss": [3.0, 2.0]}),
    "latent_curves": lambda: figures.latent_curves([0, 1], np.eye(2)),
    "joint_tables": lambda: figures.joint_tables({"one": np.eye(2) / 2}, ("scale", "shape")),
}


def test_every_function_that_draws_is_tried():
    others = {"save", "data_of", "family_look"}
    functions = {name for name, found in vars(figures).items() if callable(found) and not isinstance(found, type)}
    assert functions - others == set(DRAWINGS)


@pytest.mark.parametrize("name", DRAWINGS)
def test_a_figure_is_saved_with_its_numbers_and_matplotlib_stays_as_it_was(name, tmp_path):
    before, modules = mpl.rcParams.copy(), "matplotlib.pyplot" in sys.modules
    axes = DRAWINGS[name]()
    path = figures.save(axes, tmp_path / "figure.svg")
    assert mpl.rcParams.copy() == before
    assert ("matplotlib.pyplot" in sys.modules) == modules
    assert "<text" in path.read_text()
    with (tmp_path / "figure.csv").open(newline="") as stream:
        rows = list(csv.DictReader(stream))
    data = figures.data_of(axes[0] if isinstance(axes, tuple) else axes)
    assert len(rows) == len(data) > 0
    assert list(rows[0]) == list(data.columns)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["figure.csv", "figure.svg"]


@pytest.mark.parametrize(("suffix", "start"), [("svg", b"<?xml"), ("pdf", b"%PDF"), ("png", b"\x89PNG")])
def test_the_same_figure_has_the_same_bytes_in_every_format(suffix, start, tmp_path):
    contents = [
        figures.save(DRAWINGS["sorted_bars"](), tmp_path / name / f"x.{suffix}").read_bytes() for name in ("a", "b")
    ]
    assert contents[0].startswith(start)
    assert contents[0] == contents[1]


def test_files_that_exist_are_kept_unless_asked(tmp_path):
    axes = DRAWINGS["sorted_bars"]()
    (tmp_path / "x.csv").write_text("mine")
    with pytest.raises(UnbraidError, match=r"x\.csv exists"):
        figures.save(axes, tmp_path / "x.svg")
    assert not (tmp_path / "x.svg").exists()
    figures.save(axes, tmp_path / "x.svg", overwrite=True)
    assert (tmp_path / "x.csv").read_text().startswith("label,family,value")
    figures.save(axes, tmp_path / "x.pdf")  # the csv beside it holds these very numbers
    with pytest.raises(UnbraidError, match=r"x\.svg exists"):
        figures.save(axes, tmp_path / "x.svg")


def test_another_suffix_and_axes_of_others_are_refused(tmp_path):
    from matplotlib.figure import Figure

    with pytest.raises(UnbraidError, match=r"\.svg, \.pdf, \.png"):
        figures.save(DRAWINGS["sorted_bars"](), tmp_path / "x.jpg")
    with pytest.raises(UnbraidError, match="axes.figure.savefig"):
        figures.save(Figure().add_subplot(), tmp_path / "x.svg")


def test_without_matplotlib_a_figure_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(UnbraidError, match=r"pip install 'unbraid\[figures\]'"):
        DRAWINGS["sorted_bars"]()


def test_in_a_notebook_axes_show_their_figure():
    axes = figures.strip_plot({"a": [0.1, 0.2]})
    assert axes._repr_png_() == rendered(axes)
    assert figures.joint_tables({"A": [[0.5, 0.5]]}, ("x", "y"))[0]._repr_png_().startswith(b"\x89PNG")
