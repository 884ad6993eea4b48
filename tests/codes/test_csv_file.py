"""Codes from comma-separated values, and the tables that are refused."""

import time

import pytest

from unbraid.codes import csv_file
from unbraid.codes.csv_file import read_csv
from unbraid.errors import CodesError

HEADER = "mean_0,mean_1,std_0,std_1,factor:shape,factor:size,factor:angle,weight\n"
ROWS = ["0.5,1,0.1,0.2,square,3,0.25,1\n", "-1e-3,2,0.3,0.4,heart,5,1,2\n", "7,3,0.5,0.6,square,3,2.5,1\n"]


@pytest.fixture
def written(tmp_path):
    def write(content, encoding="utf-8"):
        (tmp_path / "codes.csv").write_bytes(content if isinstance(content, bytes) else content.encode(encoding))
        return tmp_path / "codes.csv"

    return write


# What is read


def test_columns_become_codes(written):
    codes = read_csv(written(HEADER + "".join(ROWS)))
    assert codes.mean.tolist() == [[0.5, 1], [-1e-3, 2], [7, 3]]
    assert codes.std.tolist() == [[0.1, 0.2], [0.3, 0.4], [0.5, 0.6]]
    assert codes.weights.tolist() == [1, 2, 1]


def test_labels_are_whole_numbers_numbers_or_words(written):
    shape, size, angle = read_csv(written(HEADER + "".join(ROWS))).factors
    assert (shape.name, shape.values.tolist(), shape.ordered) == ("shape", [1, 0, 1], False)
    assert (size.values.tolist(), size.ordered, size.is_continuous) == ([3, 5, 3], True, False)
    assert (angle.values.tolist(), angle.is_continuous) == ([0.25, 1.0, 2.5], True)


@pytest.mark.parametrize("gone", ["", "nan", "NaN", " ", "-nan", "+NaN", "-nan(ind)"])
@pytest.mark.parametrize("label", ["7", "0.5", "red"])
def test_an_empty_label_is_missing(written, gone, label):
    [labels] = read_csv(written(f"mean_0,factor:x\n1,{label}\n2,{gone}\n3,{label}\n")).factors
    assert labels.known.tolist() == [True, False, True]
    assert labels.binned(2).assignment().tolist() == [0, -1, 0]


def test_columns_may_stand_in_any_order(written):
    codes = read_csv(written("factor:a,std_1,mean_1,mean_0,std_0\n1,0.1,2,3,0.4\n2,0.1,5,6,0.4\n"))
    assert (codes.mean.tolist(), codes.std.tolist()) == ([[3, 2], [6, 5]], [[0.4, 0.1]] * 2)


def test_log_variances_and_draws_are_read(written):
    assert read_csv(written("mean_0,log_var_0\n1,0\n2,0\n")).std.tolist() == [[1.0], [1.0]]
    assert read_csv(written("sample_0\n1\n2\n")).samples.tolist() == [[[1.0], [2.0]]]


def test_quoted_words_may_hold_commas(written):
    [labels] = read_csv(written('mean_0,"factor:a, or b"\n1,"x, y"\n2,z\n')).factors
    assert (labels.name, labels.values.tolist()) == ("a, or b", [0, 1])


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig"])
def test_files_of_other_systems_are_read(written, end, encoding):
    codes = read_csv(written(f"mean_0,factor:größe{end}1,a{end}{end}2,b", encoding))
    assert (codes.mean.tolist(), codes.factor_names) == ([[1.0], [2.0]], ("größe",))


def test_blocks_are_joined(written, monkeypatch):
    monkeypatch.setattr(csv_file, "_ROWS_PER_BLOCK", 7)
    codes = read_csv(
        written("mean_0,factor:a,factor:b\n" + "".join(f"{i},{i % 5},{'x' if i == 50 else i}\n" for i in range(60)))
    )
    assert codes.mean[:, 0].tolist() == list(range(60))
    assert codes.factors[0].values.tolist() == [i % 5 for i in range(60)]
    assert not codes.factors[1].ordered


@pytest.mark.parametrize("labels", [["1_11", "111"], ["٣", "3"], ["1e2_0", "100"]])
def test_labels_that_are_written_differently_stay_apart(written, labels):
    [factor] = read_csv(written("mean_0,factor:x\n" + "".join(f"1,{label}\n" for label in labels))).factors
    assert (factor.ordered, len(set(factor.values.tolist()))) == (False, 2)


def test_the_ends_of_64_bits_are_whole_numbers(written):
    [factor] = read_csv(written(f"mean_0,factor:x\n1,{-(2**63)}\n2,{2**63 - 1}\n3,+00{'0' * 5000}7\n")).factors
    assert factor.values.tolist() == [-(2**63), 2**63 - 1, 7]


def test_many_columns_are_read_in_seconds(written):
    num_columns = 60_000
    header = ",".join(f"mean_{i}" for i in range(num_columns)) + ",factor:a\n"
    started = time.perf_counter()
    codes = read_csv(written(header + ("1," * num_columns + "x\n") * 2))
    assert codes.mean.shape == (2, num_columns)
    assert time.perf_counter() - started < 20  # a quadratic search took minutes; this, a second


# What is refused


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("\n", "empty first line"),
        (HEADER, "no rows"),
        ("mean_0,mu_1\n1,2\n", "'mu_1'.*Rename or drop"),
        ("mean_0;std_0\n1;2\n", r"codes\.csv has unknown columns \('mean_0;std_0'\)"),
        ("mean_0,factor:\n1,2\n", "'factor:'"),
        ("mean_0,mean_0\n1,2\n", r"codes\.csv has several columns 'mean_0'"),
        ("mean_0,mean_2\n1,2\n", "mean_1"),
        ("mean_0,mean_01\n1,2\n", r"codes\.csv has unknown columns \('mean_01'\)"),
        ("mean_0,mean_١\n1,2\n", r"codes\.csv has unknown columns \('mean_١'\)"),
        ("mean_0,mean_" + "1" * 5000 + "\n1,2\n", r"codes\.csv has unknown columns"),
        ('"mean_0,' + "mean_1," * 50 + '"\n1,2\n', r"codes\.csv has unknown columns"),
        ("file,mean_0\na.png,1\nb.png,x\n", "Line 3 of .* has 'x' in column 'mean_0'"),
        ("mean_0,mean_1\n1,٣\n3,4\n", "Line 2 of .* has '٣' in column 'mean_1'"),
        ("mean_0,factor:a\n1,3\n2, 3\n", "Factor 'a' has the label ' 3'"),
        ("mean_0,mean_1\n1,2\n3, 4\n", "Line 3 of .* has ' 4' in column 'mean_1'"),
        ("mean_0,factor:a\n1,x y\n2\t,z\n", r"Line 3 of .* has '2\\t' in column 'mean_0'"),
        (
            f"mean_0,factor:a\n1,{10**30}\n2,{10**30 + 1}\n",
            "Factor 'a'",
        ),
        ("mean_0,factor:a\n1," + "9" * 5000 + "\n2,1\n", "Factor 'a'"),
        (f"mean_0,factor:a\n1,{2**63}\n2,1\n", "Factor 'a'"),
        ('mean_0,factor:a\n1,"x\n\ny"\n2,y\n', "Line 2 of .* odd number of quotation marks"),
        ('"mean_0\n1\n2\n', "Line 1 of .* odd number of quotation marks"),
        ("factor:a\n1\n2\n", "mean, samples and probabilities are missing"),
        ("mean_0,mean_1\n1,2\n3\n", r"has 1 fields; expected 2"),
        ("mean_0,mean_1\n1,2\n\n3,4,5\n", "Line 4 of .* has 3 fields"),
        ("mean_0,mean_1\n1,2\n3,four\n", "Line 3 of .* has 'four' in column 'mean_1'"),
        ("mean_0,mean_1\n1,2\n3,\n", "Line 3 of .* has '' in column 'mean_1'"),
        ("mean_0,mean_1\n1,2\n3,1_000\n", "has '1_000' in column"),
        ("mean_0,mean_1\n1,2\n3,nan\n", r"mean is NaN or infinite in 1 rows \(1\)"),
        ("mean_0,factor:a\n1,inf\n2,0.5\n", "infinite labels"),
        ("mean_0,factor:a\n1,2\n", "The codes have 1 image"),
        ('mean_0,factor:a\n1,"x\n2,y\n', "fields and the first line|quotation|one image"),
        (b"mean_0,factor:a\n1,\xff\n", "not UTF-8"),
        (
            'mean_0,"' + "a" * 200_000 + '"\n1,2\n',
            r"codes\.csv is not valid comma-separated text \(field larger than field",
        ),
    ],
)
def test_malformed_tables_are_refused_by_line_and_column(written, content, message):
    with pytest.raises(CodesError, match=message):
        read_csv(written(content))


@pytest.mark.parametrize("content", ["x" * 5000, "mean_0\n1\n" + "1" * 5000 + "\n2\n"])
def test_an_endless_line_is_refused_before_it_is_read(written, monkeypatch, content):
    monkeypatch.setattr(csv_file, "MAX_LINE", 1000)
    with pytest.raises(CodesError, match="1,000 characters"):
        read_csv(written(content))


def test_the_names_of_files_that_encode_writes_are_passed_over(tmp_path):
    (tmp_path / "codes.csv").write_text('file,mean_0,mean_1,factor:hue\n"a, b.png",1,2,0\nc.png,3,4,1\n')
    codes = read_csv(tmp_path / "codes.csv")
    assert (codes.mean.tolist(), codes.factor_names) == ([[1.0, 2.0], [3.0, 4.0]], ("hue",))
