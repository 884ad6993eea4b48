import gzip
import struct

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from tests.data.mutants import mutants, num_read
from unbraid.data.formats.norb import Matrix
from unbraid.errors import DataError

MAGIC = {"uint8": 0x1E3D4C55, "int32": 0x1E3D4C54, "int16": 0x1E3D4C56, "float32": 0x1E3D4C51, "float64": 0x1E3D4C53}


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


@given(
    array=arrays(np.uint8, array_shapes(max_dims=5, max_side=5))
    | arrays(np.int32, array_shapes(max_dims=5, max_side=5)),
    is_gzipped=st.booleans(),
)
def test_what_is_written_is_read_back(tmp_path_factory, array, is_gzipped):
    path = tmp_path_factory.mktemp("norb") / "file"
    content = norb_bytes(array)
    path.write_bytes(gzipped(content) if is_gzipped else content)
    matrix = Matrix.of(path, str(array.dtype), array.shape[1:], max_rows=5)
    assert matrix.shape == array.shape
    np.testing.assert_array_equal(matrix.read(), array)
    assert matrix.read().dtype == array.dtype


def test_the_layout_is_that_of_the_official_label_file(path):
    # Little-endian: the magic number of int32, one dimension, 2 labels, two lengths without a meaning, and the labels 3
    # and 4.
    path.write_bytes(bytes.fromhex("544c3d1e 01000000 02000000 07000000 00000000 03000000 04000000"))
    matrix = Matrix.of(path, "int32", (), max_rows=9)
    assert (matrix.shape, matrix.read().tolist()) == ((2,), [3, 4])


ROWS = np.arange(7 * 2 * 3, dtype=np.uint8).reshape(7, 2, 3)
CONTENT = norb_bytes(ROWS)


@pytest.mark.parametrize("pack", [bytes, gzipped])
@pytest.mark.parametrize("start", range(8))
def test_rows_come_a_few_at_a_time_from_any_on(path, pack, start):
    path.write_bytes(pack(CONTENT))
    blocks = list(Matrix.of(path, "uint8", (2, 3), max_rows=7).blocks(3, start))
    np.testing.assert_array_equal(np.concatenate([ROWS[:0], *blocks]), ROWS[start:])
    assert all(len(block) <= 3 for block in blocks)


@pytest.mark.parametrize(
    ("content", "match"),
    [
        (b"", "buffer of 8 bytes"),
        (CONTENT[:7], "buffer of 8 bytes"),
        (CONTENT[:12], "buffer of 12 bytes"),
        (gzipped(CONTENT[:-1]), "promises 7 rows and ends in number 6"),
        (gzipped(CONTENT + b"\0"), "goes on after the 7 rows"),
        (b"\x89PNG" + CONTENT[4:], "begins with 0x474e5089, where matrices begin with 0x1e3d4c51 to 0x1e3d4c56"),
        (b"\x57" + CONTENT[1:], "begins with 0x1e3d4c57"),
        (CONTENT[::-1], "begins with 0x"),
        (CONTENT[:4] + bytes(4) + CONTENT[8:], "has 0 dimensions; expected 1 to 8"),
        (CONTENT[:4] + b"\xff" * 4 + CONTENT[8:], "has 4294967295 dimensions; expected 1 to 8"),
        (gzipped(CONTENT)[:-12], "ended before the end-of-stream|ends in number"),
        (gzipped(CONTENT)[:-8] + b"\1\2\3\4" + gzipped(CONTENT)[-4:], "CRC check failed"),
        (gzipped(CONTENT)[:10] + b"\xff" * 20, "invalid block type"),
        (b"\x1f\x8bnonsense", "Unknown compression method"),
    ],
)
def test_a_damaged_file_is_refused_with_its_name(path, content, match):
    path.write_bytes(content)
    with pytest.raises(DataError, match=rf"{path} is not a readable NORB matrix \(.*({match}).*fetch it again"):
        Matrix.of(path, "uint8", (2, 3), max_rows=7).read()


@pytest.mark.parametrize("content", [CONTENT[:-1], CONTENT + b"\0"])
def test_a_plain_file_of_another_length_is_refused_before_it_is_read(path, content):
    path.write_bytes(content)
    with pytest.raises(
        DataError, match=f"{path} has {len(content)} bytes, where its header promises 62. It may be cut short"
    ):
        Matrix.of(path, "uint8", (2, 3), max_rows=7)


@pytest.mark.parametrize(
    ("array", "match"),
    [
        (ROWS.astype(np.int32), "holds values of type int32; expected uint8"),
        (ROWS.astype(np.float64), "holds values of type float64; expected uint8"),
        (ROWS[:, :1], r"has shape \(7, 1, 3\); expected \(1 to 7, 2, 3\)"),
        (ROWS[:, 0], r"has shape \(7, 3\); expected \(1 to 7, 2, 3\)"),
        (np.concatenate([ROWS, ROWS]), r"has shape \(14, 2, 3\); expected \(1 to 7, 2, 3\)"),
        (ROWS[:0], r"has shape \(0, 2, 3\); expected \(1 to 7, 2, 3\)"),
    ],
)
def test_a_matrix_of_something_else_is_refused_with_what_it_holds(path, array, match):
    path.write_bytes(norb_bytes(array))
    with pytest.raises(DataError, match=f"{path} {match}. Fetch the official file"):
        Matrix.of(path, "uint8", (2, 3), max_rows=7)


def test_a_missing_file_is_refused_with_its_name(path):
    with pytest.raises(DataError, match=rf"{path} is not a readable NORB matrix \(.*No such file"):
        Matrix.of(path, "uint8", (2, 3), max_rows=7)


def parse(path):
    return Matrix.of(path, "uint8", (2, 3), max_rows=7).read()


def test_a_bomb_is_not_unpacked(tmp_path):
    # 16 megabytes of zeros after a header that promises 42 values: reading stops at the 43rd.
    bomb = gzipped(CONTENT + bytes(2**24))
    assert num_read(parse, iter([bomb]), tmp_path / "bomb", "dat.mat", max_bytes=2**20) == 0


def test_mutated_files_are_read_or_refused_in_a_megabyte(tmp_path):
    makers = [
        lambda damage: damage(CONTENT),
        lambda damage: damage(gzipped(CONTENT)),
        lambda damage: gzipped(damage(CONTENT)),
    ]
    # Some edits fall on pixels only.
    assert 100 < num_read(parse, mutants(makers, seed=1), tmp_path / "mutants", "dat.mat", max_bytes=2**20) < 1_900
