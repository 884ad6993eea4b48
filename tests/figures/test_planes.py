"""Lines and points in a plane of two scores, or of a score and a setting."""

import numpy as np
import pytest

pytest.importorskip("matplotlib")

from tests.figures.made_runs import made_runs, values_of
from unbraid.errors import UnbraidError
from unbraid.figures import (
    data_of,
    family_look,
    latent_curves,
    mean_band,
    parallel_coordinates,
    rate_distortion_plane,
    scatter_plot,
)
from unbraid.figures.point_labels import label_points

TABLE = made_runs()


def legend_of(axes):
    return [text.get_text() for text in axes.get_legend().get_texts()]


def test_a_column_that_the_table_lacks_is_refused():
    with pytest.raises(UnbraidError, match="'strenth'"):
        mean_band(TABLE, "strenth", "mig")


def test_a_line_goes_through_the_means_in_order_and_a_family_without_one_lies_across():
    axes = mean_band(TABLE, "strength", "mig", log=True)
    across, line = axes.lines[:2]
    assert across.get_ydata()[0] == pytest.approx(np.mean(values_of(TABLE, "VAE", "mig")))
    assert list(line.get_xdata()) == [2.0, 8.0]
    means = [np.mean(values_of(TABLE, label, "mig")) for label in ("beta-VAE 2", "beta-VAE 8")]
    assert list(line.get_ydata()) == pytest.approx(means)
    assert [text.get_text() for text in axes.get_xticklabels()] == ["2", "8"]
    assert legend_of(axes) == ["VAE", "beta-VAE", "new"]
    assert data_of(axes)["strength"] == [None, 2.0, 8.0, None]
    band = axes.collections[0].get_paths()[0].vertices
    assert band[:, 1].min() == pytest.approx(min(data_of(axes)["low"][1:3]))


def test_points_have_the_color_and_the_marker_of_their_family():
    axes = scatter_plot(TABLE, "mig", "jemmig", across={"chance": 0.5}, upright={"VAE": 0.1}, diagonal=True)
    for line, family in zip(axes.lines, ("VAE", "beta-VAE", "new"), strict=False):
        assert list(line.get_xdata()) == [row["mig"] for row in TABLE if row["family"] == family]
        assert list(line.get_ydata()) == [row["jemmig"] for row in TABLE if row["family"] == family]
        look = family_look(family)
        assert (line.get_color(), line.get_marker()) == (look.color, look.marker)
    assert {text.get_text() for text in axes.texts} == {"chance", "VAE"}
    assert len(axes.lines) == 6
    assert data_of(axes)["jemmig"] == TABLE["jemmig"]


def test_a_path_through_rate_and_distortion_is_labeled_by_its_strength():
    axes = rate_distortion_plane(TABLE)
    path = next(line for line in axes.lines if line.get_marker() == "s" and len(line.get_xdata()) == 2)
    assert list(path.get_xdata()) == [np.median(values_of(TABLE, f"beta-VAE {b}", "rate")) for b in (2, 8)]
    assert list(path.get_ydata()) == [np.median(values_of(TABLE, f"beta-VAE {b}", "distortion")) for b in (2, 8)]
    assert {"VAE", "2", "8", "new"} <= {text.get_text() for text in axes.texts}
    data = data_of(axes)
    assert data["setting"][:4] == ["VAE", "new", "beta-VAE 2", "beta-VAE 8"]
    assert data["median rate"][:4] == pytest.approx([10.1, 7.1, 9.1, 8.1])
    assert data["rate"][4:] == TABLE["rate"]


def test_runs_beyond_the_plane_are_counted():
    rows = [dict(row) for row in TABLE]
    rows[0]["distortion"] = 1e6
    axes = rate_distortion_plane(type(TABLE).from_records(rows))
    assert any("1 of 12" in text.get_text() for text in axes.texts)
    assert axes.get_ylim()[1] < 100

    from matplotlib.figure import Figure

    axes = Figure().add_subplot()
    label_points(axes, [(0.5, 0.5, "one", "black"), (0.5, 0.5, "two", "black"), (0.5, 0.5, "three", "black")])
    assert len({text.get_position() for text in axes.texts}) == 3


def test_a_column_runs_from_worst_to_best():
    axes = parallel_coordinates(TABLE, ["mig", "jemmig"], lower_is_better={"jemmig"})
    runs = axes.lines[0].get_ydata().reshape(3, 3)[:, :2]  # of the VAE, a gap after each
    assert runs[:, 0] == pytest.approx(runs[:, 1])  # jemmig is 1 - mig
    assert runs.min() == 0.0
    assert [text.get_text() for text in axes.get_xticklabels()] == ["mig", "jemmig ↓"]
    assert data_of(axes)["mig"] == TABLE["mig"]
    with pytest.raises(UnbraidError, match="two or more"):
        parallel_coordinates(TABLE, ["mig"])


def test_each_latent_has_a_curve_with_its_name_unless_it_says_nothing():
    values = np.array([[0.0, 0.0, 0.0], [1.0, 2.0, 0.001], [1.5, 3.0, 0.001]])
    axes = latent_curves([0, 10, 20], values, label="KL")
    assert [list(line.get_ydata()) for line in axes.lines] == values.T.tolist()
    assert [text.get_text() for text in axes.texts] == ["z0", "z1"]
    assert data_of(axes).columns == ("step", "z0", "z1", "z2")
    assert data_of(axes)["z1"] == [0.0, 2.0, 3.0]
    with pytest.raises(UnbraidError, match=r"\(3, 3\)"):
        latent_curves([0], values)
    with pytest.raises(UnbraidError, match="with 3 entries.* got 2"):
        latent_curves([0, 10, 20], values, ["a", "b"])
    with pytest.raises(UnbraidError, match="0 steps"):
        latent_curves([], values[:0])
