"""Rows from a file or at hand."""

import struct

import numpy as np
import pytest
import torch

from tests.datasets.mutants import assert_damaged_are_read_or_refused
from unbraid.datasets.subsets import RandomSplit, RowRange, Rows
from unbraid.errors import DataError, SpecError

VALUES = torch.zeros(10, 0, dtype=torch.int64)


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("UNBRAID_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.mark.parametrize("kind", [list, np.array, torch.tensor, lambda rows: np.array(rows, dtype=np.uint16)])
def test_rows_at_hand_are_kept_in_the_cache_in_order(kind, cache):
    subset = Rows.from_array(kind([7, 2, 3]))
    assert subset.rows((), VALUES).tolist() == [2, 3, 7]
    assert subset.path == str(cache / "rows" / f"{subset.sha256}.npy")
    assert Rows.from_array([2, 3, 7]) == subset


def test_a_mask_names_the_rows_where_it_is_true():
    assert Rows.from_array(torch.arange(10) % 4 == 1).rows((), VALUES).tolist() == [1, 5, 9]
    assert Rows.from_array(np.arange(10) < 8, part="test").rows((), VALUES).tolist() == [8, 9]


def test_a_file_is_named_by_its_absolute_path_and_checksum(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    np.save("rows.npy", np.array([4, 1], dtype=np.int32))
    subset = Rows("rows.npy")
    assert subset.path == str(tmp_path / "rows.npy")
    assert len(subset.sha256) == 64
    assert subset.rows((), VALUES).tolist() == [1, 4]


def test_a_damaged_copy_in_the_cache_is_written_again(cache):
    subset = Rows.from_array([1, 2])
    (cache / "rows" / f"{subset.sha256}.npy").write_bytes(b"half")
    with pytest.raises(DataError, match="cannot be read"):
        subset.rows((), VALUES)
    assert Rows.from_array([1, 2]).rows((), VALUES).tolist() == [1, 2]


def test_a_file_that_changed_is_refused(tmp_path):
    np.save(tmp_path / "rows.npy", np.array([1]))
    subset = Rows(str(tmp_path / "rows.npy"))
    np.save(tmp_path / "rows.npy", np.array([2]))
    with pytest.raises(DataError, match="has SHA-256"):
        subset.rows((), VALUES)


def test_a_config_can_be_read_where_its_file_is_not(tmp_path):
    subset = Rows(str(tmp_path / "elsewhere.npy"), "0" * 64)
    subset.check((), 10)
    with pytest.raises(DataError, match="elsewhere.npy cannot"):
        subset.rows((), VALUES)


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([], "list of row numbers"),
        ([1.0, 2.0], "float64 of shape"),
        ([[1], [2]], r"of shape \(2, 1\)"),
        ([3, -1], "-1"),
        ([1, 2, 1], "row 1 "),
        ([[True, False]], "list of row numbers"),
        (["a"], "list of row numbers"),
        ([[1, 2], [3]], "lengths"),
    ],
)
def test_what_are_no_rows_is_refused(rows, message, cache):
    with pytest.raises(DataError, match=message):
        Rows.from_array(rows)
    assert not cache.exists()


def test_rows_beyond_the_images_are_refused():
    with pytest.raises(DataError, match="row 10"):
        Rows.from_array([3, 10]).rows((), VALUES)


def npy_header(shape):
    text = str({"descr": "<i8", "fortran_order": False, "shape": shape}).encode()
    text += b" " * (63 - (10 + len(text)) % 64) + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text


@pytest.mark.parametrize(
    "content",
    [
        *(b"", b"1\n2\n3\n", b"PK\x03\x04" + bytes(50), b"\x93NUMPY\x01\x00"),
        *(npy_header((10**12,)), npy_header((10**50,)), npy_header((True,)), npy_header((4,)) + b"\0" * 31),
        b"\x93NUMPY\x01\x00" + struct.pack("<H", 9000) + b"-" * 8999 + b"1",
    ],
    ids=["empty", "text", "zip", "no header", "promises a terabyte", "overflows", "odd shape", "cut short", "nested"],
)
def test_files_that_are_no_npy_are_refused(tmp_path, content):
    (tmp_path / "rows.npy").write_bytes(content)
    with pytest.raises(DataError, match="rows.npy cannot"):
        Rows(str(tmp_path / "rows.npy")).rows((), VALUES)


def test_damaged_files_are_read_or_refused(tmp_path):
    content = npy_header((20,)) + np.arange(20).astype("<i8").tobytes()
    values = torch.zeros(1000, 0, dtype=torch.int64)
    assert_damaged_are_read_or_refused(
        lambda path: Rows(str(path)).rows((), values), [content], tmp_path, "rows.npy", 2**20
    )


def test_pickled_objects_and_archives_are_refused(tmp_path):
    np.save(tmp_path / "objects.npy", np.array([1, "two"], dtype=object))
    np.savez(tmp_path / "several.npz", rows=np.array([1]))
    with pytest.raises(DataError, match="cannot be read"):
        Rows(str(tmp_path / "objects.npy")).rows((), VALUES)
    with pytest.raises(DataError, match="several.npz cannot"):
        Rows(str(tmp_path / "several.npz")).rows((), VALUES)


def test_a_cache_that_cannot_be_written_is_named(cache):
    cache.write_text("a file where the folder should be")
    with pytest.raises(DataError, match="Set UNBRAID_CACHE"):
        Rows.from_array([1])


@pytest.mark.parametrize(
    ("arguments", "message"), [(("",), "path is ''"), (("a.npy", "abc"), "64 lower-case hexadecimal digits")]
)
def test_a_config_that_names_nothing_is_refused(arguments, message):
    with pytest.raises(SpecError, match=message):
        Rows(*arguments)


def test_masked_rows_are_refused():
    with pytest.raises(DataError, match="masked entries"):
        Rows.from_array(np.ma.array([1, 2], mask=[0, 1]))


@pytest.mark.parametrize(
    ("subset", "expected"), [(RowRange(2, 5), [2, 3, 4]), (RowRange(8), [8, 9]), (RowRange(stop=2), [0, 1])]
)
def test_rows_from_start_up_to_stop(subset, expected):
    assert subset.rows((), VALUES).tolist() == expected


def test_the_rest_may_lie_on_both_sides():
    assert RowRange(1, 9, "test").rows((), VALUES).tolist() == [0, 9]


@pytest.mark.parametrize(("start", "stop"), [(-1, 3), (3, 3), (3, 2)])
def test_rows_that_do_not_follow_one_another_are_refused(start, stop):
    with pytest.raises(SpecError, match="0"):
        RowRange(start, stop)


@pytest.mark.parametrize("subset", [RowRange(10), RowRange(0, 11)])
def test_rows_beyond_the_images_are_refused_before_they_are_loaded(subset):
    with pytest.raises(SpecError, match=r"10 images\."):
        subset.check((), 10)


def rows(split, num_images=1000):
    return split.rows((), torch.zeros(num_images, 0, dtype=torch.int64))


@pytest.mark.parametrize(("fraction", "expected"), [(0.9, 900), (0.3336, 334), (0.3333, 333)])
def test_a_fraction_of_the_images_is_chosen(fraction, expected):
    assert len(rows(RandomSplit(fraction))) == expected
    assert len(rows(RandomSplit(fraction, part="test"))) == 1000 - expected


def test_it_is_spread_over_the_images():
    """Of 1000 rows drawn without replacement from 10,000, the mean is 5000 but for 4 standard errors."""
    assert float(rows(RandomSplit(0.1), 10_000).double().mean()) == pytest.approx(5000, abs=4 * 2887 / 1000**0.5)


def test_another_seed_chooses_others_and_a_larger_fraction_holds_the_smaller():
    assert not torch.equal(rows(RandomSplit(0.5)), rows(RandomSplit(0.5, seed=1)))
    assert set(rows(RandomSplit(0.5)).tolist()) < set(rows(RandomSplit(0.6)).tolist())


def test_the_rows_stay_what_they_are():
    """Runs name a split by its config: it must not change from one version to the next."""
    assert rows(RandomSplit(0.5), 10).tolist() == [2, 3, 6, 8, 9]


@pytest.mark.parametrize("fraction", [0.0, 1.0, -0.1, float("nan")])
def test_a_fraction_that_is_none_is_refused(fraction):
    with pytest.raises(SpecError, match="0 and 1"):
        RandomSplit(fraction)


@pytest.mark.parametrize("fraction", [0.01, 0.99])
def test_a_fraction_that_leaves_a_part_empty_is_refused(fraction):
    with pytest.raises(SpecError, match="10 images"):
        RandomSplit(fraction).check((), 10)


@pytest.mark.parametrize("seed", [2**63, -(2**63) - 1])
def test_a_seed_too_long_is_refused(seed):
    with pytest.raises(SpecError, match="beyond 64"):
        RandomSplit(0.5, seed)
