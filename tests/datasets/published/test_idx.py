import gzip
import struct

import numpy as np
import pytest

from unbraid.datasets.published.mnist import read_idx
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
    with pytest.raises(DataError, match=r"\(2, 3, 4\)"):
        read_idx(path, (2, 3, 4))
