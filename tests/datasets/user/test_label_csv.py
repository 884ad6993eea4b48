import contextlib

import pytest

from tests.datasets.mutants import assert_damaged_are_read_or_refused
from unbraid.datasets.user.folder_survey import read_label_csv
from unbraid.datasets.user.labels import from_text
from unbraid.errors import DataError

TABLE = 'name,color,depth\na.png,red,1.5\nb/c.png,"dark, blue",2\n'


def written(tmp_path, content):
    path = tmp_path / "labels.csv"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def test_the_first_column_names_the_pictures(tmp_path):
    header, rows = read_label_csv(written(tmp_path, TABLE))
    assert header == ["name", "color", "depth"]
    assert rows == {"a.png": ["red", "1.5"], "b/c.png": ["dark, blue", "2"]}


def test_a_column_called_file_names_them_wherever_it_stands(tmp_path):
    header, rows = read_label_csv(written(tmp_path, "color,file,depth\nred,a.png,1\n"))
    assert header == ["file", "color", "depth"]
    assert rows == {"a.png": ["red", "1"]}


@pytest.mark.parametrize(
    "content",
    [
        TABLE.replace("\n", "\r\n"),
        "\ufeff" + TABLE,
        'name , color,depth\na.png , red, 1.5\n./b//c.png, "dark, blue", 2\n',
        TABLE + "\n\n",
    ],
)
def test_line_ends_blanks_and_byte_order_marks_do_not_matter(tmp_path, content):
    assert read_label_csv(written(tmp_path, content))[1] == {"a.png": ["red", "1.5"], "b/c.png": ["dark, blue", "2"]}


@pytest.mark.parametrize(
    ("content", "match"),
    [
        ("", "has 0 columns"),
        ("file\na.png\n", "has 1 columns"),
        ("file,a,a\n", "column named 'a'"),
        ("file,a,\n", "column named ''"),
        ("file,a\tb\n", r"column named 'a\\tb'"),
        ("file,a\nx.png,1,2\n", "Line.*2.*3.*2"),
        ("file,a\nx.png\n", "Line 2 of .* has 1 fields"),
        ("file,a\nx.png,1\n./x.png,2\n", "Line 3 of .* 'x.png'"),
        ('file,a\nx.png,"1\n', "comma-separated"),
        ('file,a\nx.png,"1"2\n', "comma-separated"),
        (b"file,a\nx.png,\xff\n", "not UTF-8"),
        (f"file,a\nx.png,{'1' * 200_000}\n", "comma-separated"),
    ],
)
def test_a_table_that_is_none_is_refused_by_line(tmp_path, content, match):
    with pytest.raises(DataError, match=match) as refused:
        read_label_csv(written(tmp_path, content))
    assert "labels.csv" in str(refused.value)


def test_a_file_that_is_not_there_is_named(tmp_path):
    with pytest.raises(DataError, match=r"gone\.csv cannot"):
        read_label_csv(tmp_path / "gone.csv")
    with pytest.raises(DataError, match="cannot be read"):
        read_label_csv(tmp_path)


def test_damaged_tables_are_read_or_refused(tmp_path):
    def parse(path):
        header, rows = read_label_csv(path)
        for name, cells in zip(header[1:], zip(*rows.values(), strict=True), strict=False):
            with contextlib.suppress(DataError):
                from_text(name, cells)

    lines = [f'{k}.png,{k % 5},{k / 7},"{"red" if k % 2 else "dark, blue"}"\n' for k in range(20)]
    whole = "".join(["file,identity,depth,color\n", *lines]).encode()
    assert_damaged_are_read_or_refused(parse, [whole], tmp_path, "labels.csv", 2**20)
