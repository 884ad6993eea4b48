import gzip
import struct

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from unbraid.data.formats import idx
from unbraid.errors import DataError


def idx_bytes(array):
    return struct.pack(f">HBB{array.ndim}I", 0, 8, array.ndim, *array.shape) + array.tobytes()


@pytest.fixture
def path(tmp_path):
    return tmp_path / "some-idx3-ubyte"


@given(array=arrays(np.uint8, array_shapes(max_dims=3, max_side=5)), is_gzipped=st.booleans())
def test_what_is_written_is_read_back(tmp_path_factory, array, is_gzipped):
    path = tmp_path_factory.mktemp("idx") / "file"
    content = idx_bytes(array)
    path.write_bytes(gzip.compress(content) if is_gzipped else content)
    np.testing.assert_array_equal(idx.read_idx(path, array.ndim), array)


CONTENT = idx_bytes(np.arange(24, dtype=np.uint8).reshape(2, 3, 4))


@pytest.mark.parametrize(
    ("content", "match"),
    [
        (b"", "not a readable idx"),
        (CONTENT[:3], "not a readable idx"),
        (CONTENT[:10], "not a readable idx"),
        (CONTENT[:-1], "promises 24 values and holds 23"),
        (CONTENT + b"\0", "promises 24 values and holds more"),
        (b"\0\0\x0d\x03" + CONTENT[4:], "0x00000d03.*0x00000803"),
        (b"\0\0\x08\x01" + CONTENT[4:], "0x00000801.*0x00000803"),
        (b"\x89PNG" + CONTENT[4:], "begins with 0x89504e47"),
        (b"\0\0\x08\x03" + b"\xff" * 12, "promises 79228162458924105385300197375 values; at most"),
        (b"\0\0\x08\x03" + b"\0\0\0\x09" * 3, "promises 729 values and holds 0"),
        (gzip.compress(CONTENT, mtime=0)[:-12], "not a readable idx"),
        (gzip.compress(CONTENT, mtime=0)[:15] + b"\xff" * 20, "not a readable idx"),
        (b"\x1f\x8bnonsense", "not a readable idx"),
    ],
)
def test_a_damaged_file_is_refused_with_its_name(path, content, match):
    path.write_bytes(content)
    with pytest.raises(DataError, match=match) as error:
        idx.read_idx(path, 3)
    assert str(path) in str(error.value)
    assert "fetch it again" in str(error.value)


def write(folder, images, labels, prefix="t10k"):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{prefix}-images-idx3-ubyte.gz").write_bytes(gzip.compress(idx_bytes(images), 1))
    (folder / f"{prefix}-labels-idx1-ubyte").write_bytes(idx_bytes(labels))


BLACK, ZEROS = np.zeros((10_000, 28, 28), dtype=np.uint8), np.zeros(10_000, dtype=np.uint8)


def test_images_and_labels_come_from_one_folder_or_not_at_all(tmp_path):
    write(tmp_path, BLACK, ZEROS)
    found = idx.find(tmp_path, "test")
    assert [path.name for path in found] == ["t10k-images-idx3-ubyte.gz", "t10k-labels-idx1-ubyte"]
    assert idx.find(tmp_path, "train") is None
    found[0].unlink()
    assert idx.find(tmp_path, "test") is None


def test_a_bomb_is_not_unpacked(path, monkeypatch):
    # A megabyte of compressed zeros after a header that promises 24 values: reading stops at the 25th.
    path.write_bytes(gzip.compress(CONTENT + bytes(2**30 // 8)))
    read = []
    monkeypatch.setattr(
        gzip.GzipFile,
        "read",
        lambda self, size=-1, original=gzip.GzipFile.read: read.append(original(self, size)) or read[-1],
    )
    with pytest.raises(DataError, match="holds more"):
        idx.read_idx(path, 3)
    assert max(map(len, read)) == 25


@pytest.mark.parametrize(
    ("images", "labels", "match"),
    [
        (BLACK[:5], ZEROS, r"\(5, 28, 28\)"),
        (BLACK[:, :27], ZEROS, r"\(10000, 27, 28\)"),
        (BLACK, ZEROS[:-1], "9999 labels"),
        (BLACK, ZEROS + 10, "label 10"),
    ],
)
def test_files_that_are_not_the_split_are_refused(tmp_path, images, labels, match):
    write(tmp_path, images, labels)
    with pytest.raises(DataError, match=match):
        idx.labelled_images("Letters", *idx.find(tmp_path, "test"), "test")
