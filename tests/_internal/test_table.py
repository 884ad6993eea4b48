"""Tables of named columns."""

import sys

import pytest

from unbraid._internal.table import Table
from unbraid.errors import UnbraidError

TABLE = Table.from_records([{"name": "a<b", "value": 0.1 + 0.2}, {"name": "c", "other": 3}])


def test_rows_have_the_columns_that_any_of_them_has():
    assert TABLE.columns == ("name", "value", "other")
    assert len(TABLE) == 2
    assert TABLE["other"] == [None, 3]
    assert TABLE[1] == {"name": "c", "value": None, "other": 3}
    assert [row["name"] for row in TABLE] == ["a<b", "c"]
    with pytest.raises(KeyError, match="column 'valve'."):
        TABLE["valve"]


def test_it_is_shown_as_text_and_as_html():
    assert str(TABLE).splitlines() == ["name  value  other", "a<b   0.3", "c            3"]
    assert "<td>a&lt;b</td><td>0.3</td><td></td>" in TABLE._repr_html_()


def test_csv_has_every_digit():
    assert TABLE.to_csv() == "name,value,other\na<b,0.30000000000000004,\nc,,3\n"


def test_pandas_takes_it_where_it_is_installed():
    pandas = pytest.importorskip("pandas")
    frame = TABLE.to_pandas()
    assert isinstance(frame, pandas.DataFrame)
    assert list(frame["value"].isna()) == [False, True]


def test_without_pandas_there_is_a_sentence(monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(UnbraidError, match="to_pandas needs"):
        TABLE.to_pandas()


def test_a_spreadsheet_does_not_execute_a_cell_or_a_header():
    table = Table.from_records([{"=A1": '=HYPERLINK("http://x")', "run": "\t+1", "value": -1.5, "name": "@x"}])
    assert table.to_csv() == '\'=A1,run,value,name\n"\'=HYPERLINK(""http://x"")",\'\t+1,-1.5,\'@x\n'


def test_latex_has_numbers_on_the_right_and_escapes_the_rest():
    lines = Table.from_records([{"a_b": "50 %", "n": 1.0}, {"a_b": "x & y"}]).to_latex().splitlines()
    assert lines[0] == r"\begin{tabular}{lr}"
    assert lines[2:6] == [r"a\_b & n \\", r"\midrule", r"50 \% & 1 \\", r"x \& y &  \\"]


def test_a_number_that_is_negligible_in_its_column_is_shown_as_zero():
    table = Table(("mig", "rate"), ((0.25, 1e-7), (3.9e-09, 2e-7), (-3.9e-09, None)))
    assert str(table).split() == ["mig", "rate", "0.25", "1e-07", "0", "2e-07", "0"]
    assert "3.9e-09" in table.to_csv()


def test_a_long_table_is_printed_whole_and_represented_by_its_first_rows():
    table = Table.from_records({"place": place, "text": "x" * 20} for place in range(500))
    assert len(str(table).splitlines()) == 501
    assert len(repr(table).encode()) < 2000
    shown, last = repr(table).splitlines()[:-1], repr(table).splitlines()[-1]
    assert shown == str(table).splitlines()[: len(shown)]
    assert f"{501 - len(shown)} more lines" in last
    assert table._repr_html_().count("<tr>") == 61
    assert "440 more rows" in table._repr_html_()
