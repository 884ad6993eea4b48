import gzip
import struct

import numpy as np
import pytest

from tests.datasets.mutants import assert_damaged_are_read_or_refused
from unbraid.datasets.published.small_norb import read_matrix
from unbraid.errors import DataError

MAGIC = {"uint8": 0x1E3D4C55, "int32": 0x1E3D4C54}


def norb_bytes(array):
    lengths = (*array.shape, 1, 1)[: max(3, array.ndim)]
    return (
        struct.pack(f"<II{len(lengths)}I", MAGIC[str(array.dtype)], array.ndim, *lengths)
        + array.astype(array.dtype.newbyteorder("<")).tobytes()
    )


def gzipped(content):
    return gzip.compress(content, mtime=0)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "some-dat.mat"


@pytest.mark.parametrize("name", ["some-dat.mat", "some-dat.mat.gz"])
@pytest.mark.parametrize("shape", [(5,), (5, 4), (3, 2, 4, 4)])
@pytest.mark.parametrize("dtype", [np.uint8, np.int32])
def test_what_is_written_is_read_back(tmp_path, name, shape, dtype):
    array = np.arange(np.prod(shape)).astype(dtype).reshape(shape)
    (tmp_path / name).write_bytes(gzipped(norb_bytes(array)) if name.endswith("gz") else norb_bytes(array))
    matrix = read_matrix(tmp_path / name, str(array.dtype), shape[1:], max_rows=5)
    np.testing.assert_array_equal(matrix, array)
    assert matrix.dtype == dtype


def test_the_layout_is_that_of_the_official_label_file(path):
    # Little-endian: the magic number of int32, one dimension, 2 labels, two lengths without a meaning, and the labels 3
    # and 4.
    path.write_bytes(bytes.fromhex("544c3d1e 01000000 02000000 07000000 00000000 03000000 04000000"))
    assert read_matrix(path, "int32", (), max_rows=9).tolist() == [3, 4]


ROWS = np.arange(7 * 2 * 3, dtype=np.uint8).reshape(7, 2, 3)
CONTENT = norb_bytes(ROWS)


def parse(path):
    return read_matrix(path, "uint8", (2, 3), max_rows=7)


@pytest.mark.parametrize(
    ("content", "match"),
    [
        (None, "No such file"),
        (b"", "begins with 0x00000000"),
        (CONTENT[:12], "expected 0x1e3d4c55, 3 dimensions and exactly 1 to 7 rows"),
        (CONTENT[:-1], "exactly"),
        (CONTENT + b"\0", "exactly"),
        (b"\x89PNG" + CONTENT[4:], "begins with 0x474e5089"),
        (CONTENT[:4] + b"\xff" * 4 + CONTENT[8:], "4294967295 dimensions"),
        (norb_bytes(ROWS.astype(np.int32)), "begins with 0x1e3d4c54"),
        (norb_bytes(ROWS[:, :1]), r"1 to 7 rows of \(2, 3\)"),
        (norb_bytes(np.concatenate([ROWS, ROWS])), "1 to 7 rows"),
        (norb_bytes(ROWS[:0]), "1 to 7 rows"),
    ],
)
def test_a_file_of_anything_else_is_refused_with_its_name(path, content, match):
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(DataError, match=rf"{path} .*{match}"):
        parse(path)


def test_mutated_files_are_read_or_refused_in_a_megabyte(tmp_path):
    assert_damaged_are_read_or_refused(parse, [CONTENT], tmp_path, "dat.mat", 2**20)
