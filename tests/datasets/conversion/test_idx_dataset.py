import gzip
import struct

import numpy as np
import pytest

from unbraid.datasets import MNIST
from unbraid.datasets.conversion.idx_dataset import read_idx
from unbraid.errors import DataError

VALUES = np.arange(24, dtype=np.uint8).reshape(2, 3, 4)
CONTENT = struct.pack(">HBB3I", 0, 8, 3, 2, 3, 4) + VALUES.tobytes()


@pytest.mark.parametrize(
    ("name", "content"), [("some-idx3-ubyte", CONTENT), ("some.gz", gzip.compress(CONTENT, mtime=0))]
)
def test_what_is_written_is_read_back(tmp_path, name, content):
    (tmp_path / name).write_bytes(content)
    np.testing.assert_array_equal(read_idx(tmp_path / name, (2, 3, 4)), VALUES)


@pytest.mark.parametrize(
    "content",
    [b"", CONTENT[:3], CONTENT[:-1], CONTENT + b"\0", b"\0\0\x0d\x03" + CONTENT[4:], b"\0\0\x08\x03" + b"\xff" * 36],
)
def test_a_file_of_anything_else_is_refused_with_its_name(tmp_path, content):
    path = tmp_path / "some-idx3-ubyte"
    path.write_bytes(content)
    with pytest.raises(DataError, match=r"some-idx3-ubyte does not hold \(2, 3, 4\) bytes in the idx format"):
        read_idx(path, (2, 3, 4))


def test_images_and_labels_come_from_one_folder_or_not_at_all(tmp_path):
    for name in ("t10k-images-idx3-ubyte.gz", "t10k-labels-idx1-ubyte"):
        (tmp_path / name).touch()
    found = MNIST(split="test").sources(tmp_path)
    assert [path.name for path in found] == ["t10k-images-idx3-ubyte.gz", "t10k-labels-idx1-ubyte"]
    assert MNIST(split="train").sources(tmp_path) is None
    found[0].unlink()
    assert MNIST(split="test").sources(tmp_path) is None


def test_labels_beyond_the_classes_are_refused(tmp_path):
    for kind, shape in (("images-idx3", (10_000, 28, 28)), ("labels-idx1", (10_000,))):
        head = struct.pack(f">HBB{len(shape)}I", 0, 8, len(shape), *shape)
        (tmp_path / f"t10k-{kind}-ubyte").write_bytes(head + np.full(shape, 10, np.uint8).tobytes())
    with pytest.raises(DataError, match="has a label 10; expected 0 to 9"):
        MNIST(root=str(tmp_path), split="test").load()
