"""The history of a run, bit for bit."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from unbraid.errors import RunError, UnbraidError
from unbraid.training.runs import History


def example():
    history = History()
    history.append(1, {"loss": 100.5, "rate": 0.1})
    history.append(10, {"loss": 90.25, "rate": 0.2})
    history.append(20, {"loss": 80.125, "rate": 0.3})
    return history


def test_a_history_is_a_table_that_a_spreadsheet_can_read(tmp_path):
    (tmp_path / "history.csv").write_text(example().to_csv())
    assert (tmp_path / "history.csv").read_text() == "step,loss,rate\n1,100.5,0.1\n10,90.25,0.2\n20,80.125,0.3\n"


def test_columns_are_read_by_name():
    assert example()["step"] == [1, 10, 20]
    assert example()["rate"] == [0.1, 0.2, 0.3]
    assert repr(example()) == "History(3 rows: step, loss, rate)"


def test_what_is_read_back_is_what_was_written(tmp_path):
    (tmp_path / "history.csv").write_text(example().to_csv())
    assert History.read(tmp_path / "history.csv") == example()


@given(rows=st.lists(st.lists(st.floats(allow_nan=False), min_size=2, max_size=2)))
def test_every_bit_survives(tmp_path_factory, rows):
    path = tmp_path_factory.getbasetemp() / "every_bit.csv"
    history = History()
    for step, (loss, rate) in enumerate(rows):
        history.append(step, {"loss": loss, "rate": rate})
    path.write_text(history.to_csv())
    found = History.read(path)
    assert found == history
    assert [[math.copysign(1, x) for x in row] for row in found.rows] == [
        [math.copysign(1, x) for x in row] for row in history.rows
    ]


def test_nan_is_a_number_here(tmp_path):
    history = History()
    history.append(1, {"loss": math.nan})
    (tmp_path / "history.csv").write_text(history.to_csv())
    assert math.isnan(History.read(tmp_path / "history.csv")["loss"][0])


def test_writing_again_what_was_read_changes_no_byte(tmp_path):
    (tmp_path / "one.csv").write_text(example().to_csv())
    (tmp_path / "two.csv").write_text(History.read(tmp_path / "one.csv").to_csv())
    assert (tmp_path / "one.csv").read_bytes() == (tmp_path / "two.csv").read_bytes()


def test_going_on_after_reading_gives_the_undisturbed_history(tmp_path):
    (tmp_path / "history.csv").write_text(History(example().columns, example().rows[:2]).to_csv())
    resumed = History.read(tmp_path / "history.csv")
    resumed.append(20, {"loss": 80.125, "rate": 0.3})
    assert resumed == example()


def test_the_end_of_training_is_its_last_tenth():
    history = History(("step", "rate"), [(float(step), float(step)) for step in range(20)])
    assert history.at_the_end("rate") == 18.5
    assert History(history.columns, history.rows[:11]).at_the_end("rate") == 9.5  # a tenth, rounded up: 9 and 10
    assert History(history.columns, history.rows[:1]).at_the_end("rate") == 0.0


def test_what_was_not_logged_has_no_end():
    assert math.isnan(example().at_the_end("total_correlation"))
    assert math.isnan(History(example().columns).at_the_end("rate"))


def test_parts_in_another_order_find_their_columns():
    history = example()
    history.append(30, {"rate": 0.4, "loss": 70.0})
    assert history.rows[-1] == (30, 70.0, 0.4)


def test_where_there_is_no_file_there_is_no_history(tmp_path):
    assert History.read(tmp_path / "history.csv") == History()


def test_an_empty_history_survives_too(tmp_path):
    (tmp_path / "history.csv").write_text(History().to_csv())
    assert History.read(tmp_path / "history.csv") == History()


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"step,loss\n1,0.5\n2",
        b"step,loss\n1,0.5\n2,0.25",
        b"step,lo",
        b"step,loss\n1,abc\n",
        b"step,loss\n1,0.5,0.5\n",
        b"\xff\xfe\x00step",
        b"step,loss\n1,0.5\n\n2,0.5\n",
        b'step,loss\n1,"' + b"9" * 200_000,
    ],
    ids=[
        "empty",
        "cut short",
        "within a number",
        "within the names",
        "no number",
        "one too many",
        "no text",
        "a gap",
        "a field without end",
    ],
)
def test_a_damaged_file_is_refused_by_name(tmp_path, content):
    (tmp_path / "history.csv").write_bytes(content)
    with pytest.raises(RunError, match=r"history\.csv"):
        History.read(tmp_path / "history.csv")


def test_an_unknown_column_is_refused_with_the_nearest():
    with pytest.raises(RunError, match="column 'los'."):
        example()["los"]


def test_pandas_takes_it_where_it_is_installed():
    pytest.importorskip("pandas")
    frame = example().to_pandas()
    assert list(frame.columns) == ["step", "loss", "rate"]
    assert frame["step"].tolist() == [1, 10, 20]
    assert frame["step"].dtype.kind == "i"
    assert list(History().to_pandas().columns) == []


def test_a_part_that_comes_later_or_not_at_all_is_not_a_number_there():
    history = example()
    history.append(30, {"loss": 70.0, "rate": 0.4, "held_out_elbo": -60.0})
    history.append(40, {"loss": 60.0, "rate": 0.5})
    assert history.columns == ("step", "loss", "rate", "held_out_elbo")
    assert [math.isnan(value) for value in history["held_out_elbo"]] == [True, True, True, False, True]
    assert history.at_the_end("held_out_elbo") == -60.0


def test_a_plot_has_a_curve_for_each_column_and_skips_what_was_not_computed():
    pytest.importorskip("matplotlib")
    history = example()
    history.append(30, {"loss": 70.0, "rate": 0.4, "held_out_elbo": -75.0, "information_z0": 0.1})
    axes = history.plot()
    assert [list(line.get_xdata()) for line in axes.lines] == [[1, 10, 20, 30], [1, 10, 20, 30], [30]]
    assert [text.get_text() for text in axes.texts] == ["loss", "rate", "held out elbo"]
    low, high = axes.get_ylim()
    assert low < -75 < 90.25 < high < 100.5, "the beginning of training does not set the range"
    assert list(history.plot("rate").lines[0].get_ydata()) == [0.1, 0.2, 0.3, 0.4]
    assert history.plot("rate", axes=axes) is axes


def test_what_cannot_be_plotted_is_named():
    pytest.importorskip("matplotlib")
    with pytest.raises(RunError):
        History().plot()
    with pytest.raises(RunError, match="'kl'"):
        example().plot("kl")
    history = History()
    history.append(1, {"loss": math.nan})
    with pytest.raises(UnbraidError, match="loss"):
        history.plot()
