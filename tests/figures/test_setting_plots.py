"""Boxes, violins, points and bars: a row for each setting."""

import numpy as np
import pytest
from scipy import stats

pytest.importorskip("matplotlib")

from matplotlib.colors import to_hex

from tests.figures.made_runs import made_runs, values_of
from unbraid._internal.table import Table
from unbraid.errors import UnbraidError
from unbraid.figures import box_plot, data_of, error_bars, family_look, sorted_bars, strip_plot, violin_plot

TABLE = made_runs()
LABELS = list(dict.fromkeys(TABLE["setting"]))
NUMBERS = {label: values_of(TABLE, label, "mig") for label in LABELS}


def rows_of(axes):
    """Returns the labels, from top to bottom."""
    labels = [text.get_text() for text in axes.get_yticklabels()]
    return labels if axes.yaxis_inverted() else labels[::-1]


@pytest.mark.parametrize("draw", [box_plot, violin_plot, strip_plot])
def test_each_setting_has_a_row_and_the_data_are_its_numbers(draw):
    axes = draw(TABLE, "mig", label="MIG")
    assert rows_of(axes) == LABELS
    assert axes.get_xlabel() == "MIG"
    data = data_of(axes)
    assert data.columns == ("setting", "family", "seed", "mig")
    assert data["mig"] == TABLE["mig"]


def test_a_box_is_of_the_quartiles_in_the_color_of_the_family():
    axes = box_plot(TABLE, "mig")
    for patch, label, family in zip(axes.patches, LABELS, ["VAE", "beta-VAE", "beta-VAE", "new"], strict=True):
        corners = patch.get_path().vertices[:, 0]
        assert (corners.min(), corners.max()) == pytest.approx(tuple(np.percentile(NUMBERS[label], [25, 75])))
        assert to_hex(patch.get_facecolor()).upper() == family_look(family).color


def test_a_violin_holds_every_number_and_equal_ones_have_none():
    axes = violin_plot({"a": [1.0, 2.0, 4.0], "b": [3.0, 3.0]})
    assert len(axes.collections) == 1
    assert [list(line.get_xdata()[::3]) for line in axes.lines] == [[1.0, 2.0, 4.0], [3.0, 3.0]]


def test_a_strip_has_every_number_and_the_median():
    axes = strip_plot(TABLE, "mig")
    for place, label in enumerate(LABELS):
        points, median = axes.lines[2 * place : 2 * place + 2]
        assert list(points.get_xdata()) == NUMBERS[label]
        assert np.all(np.abs(points.get_ydata() - place) < 0.3)
        assert median.get_xdata()[0] == np.median(NUMBERS[label])


def test_a_bar_is_a_mean_with_its_interval():
    axes = error_bars(TABLE, "mig")
    for bar, record in zip(axes.patches, data_of(axes), strict=True):
        numbers = NUMBERS[record["setting"]]
        interval = stats.ttest_1samp(numbers, 0).confidence_interval(0.95)
        assert bar.get_width() == pytest.approx(np.mean(numbers))
        assert (record["mean"], record["low"], record["high"]) == pytest.approx((np.mean(numbers), *interval))
        assert record["n"] == 3


def test_one_number_has_no_error():
    (record,) = data_of(error_bars({"a": [2.0]}))
    assert (record["low"], record["high"]) == (2.0, 2.0)


def test_sorted_bars_begin_with_the_highest():
    axes = sorted_bars({"z0": 0.1, "z1": 3.0, "z2": float("nan"), "z3": 1.0})
    assert rows_of(axes) == ["z1", "z3", "z0"]
    assert [bar.get_width() for bar in axes.patches] == data_of(axes)["value"] == [3.0, 1.0, 0.1]
    assert rows_of(sorted_bars(TABLE, "mig")) == LABELS[::-1]


def test_what_is_missing_is_left_out_or_refused():
    table = Table(("setting", "mig"), (("a", 1.0), ("a", None), ("b", float("inf")), ("b", float("nan"))))
    axes = strip_plot(table, "mig")
    assert rows_of(axes) == ["a"]
    assert data_of(axes).rows == (("a", "a", 1.0),)
    with pytest.raises(UnbraidError, match="no column 'mgi'"):
        box_plot(table, "mgi")
    with pytest.raises(UnbraidError, match="for value, got none"):
        box_plot({"a": []})


def test_axes_of_your_own_are_drawn_into_and_keep_both_data():
    from matplotlib.figure import Figure

    left, right = Figure().subplots(1, 2)
    assert box_plot({"a": [1.0]}, axes=left) is left
    assert sorted_bars({"z0": 2.0}, axes=right) is right
    assert data_of(left)["drawing"] == [0, 1]


@pytest.mark.parametrize("draw", [box_plot, violin_plot, strip_plot, error_bars])
def test_another_column_may_be_the_setting(draw):
    table = Table.from_records({**row, "beta": float(len(row["family"]))} for row in TABLE)
    axes = draw(table, "mig", by="beta")
    assert rows_of(axes) == ["3", "8"]
    assert axes.get_ylabel() == "beta"
    with pytest.raises(UnbraidError, match="'gamma'"):
        draw(table, "mig", by="gamma")


def test_runs_give_their_own_table():
    class Scored:
        def score_table(self, *metrics, by=None):
            return Table.from_records({"setting": by, "family": "VAE", metrics[0]: value} for value in (0.1, 0.3))

    assert rows_of(box_plot(Scored(), "sap", by="objective.beta")) == ["objective.beta"]
    assert data_of(box_plot(Scored(), "sap", by="num_steps"))["sap"] == [0.1, 0.3]
