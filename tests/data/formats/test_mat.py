import io
import struct
import zlib

import numpy as np
import pytest
import scipy.io
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from tests.data.mutants import mutants, num_read
from unbraid.data.formats import mat
from unbraid.errors import DataError

UINT8, MASK, UINT64 = 9, 0x0209, 15


def element(kind, content, order="<"):
    return struct.pack(f"{order}II", kind, len(content)) + content + bytes(-len(content) % 8)


def variable(name, values, order="<", flags=UINT8, kind=2):
    """A plain variable, byte by byte: flags, dimensions, name and values, the first index fastest."""
    short_name = struct.pack(f"{order}I", len(name) << 16 | 1) + name.encode().ljust(4, b"\0")
    content = (
        element(6, struct.pack(f"{order}II", flags, 0), order)
        + element(5, struct.pack(f"{order}{values.ndim}i", *values.shape), order)
        + (short_name if len(name) <= 4 else element(1, name.encode(), order))
        + element(kind, values.tobytes(order="F"), order)
    )
    return struct.pack(f"{order}II", 14, len(content)) + content


def packed(content, order="<"):
    squeezed = zlib.compress(content)
    return struct.pack(f"{order}II", 15, len(squeezed)) + squeezed


def header(order="<"):
    text = b"MATLAB 5.0 MAT-file, Platform: GLNXA64, Created on: Mon Jun  1 12:00:00 2015".ljust(116)
    return text + bytes(8) + struct.pack(f"{order}HH", 0x0100, 0x4D49)


def read(content, name="im", shape=None, where="car.mat"):
    return mat.read(content, name, IM.shape if shape is None else shape, where)


IM = np.arange(5 * 4 * 3 * 2 * 2, dtype=np.uint8).reshape(5, 4, 3, 2, 2)
PLAIN = header() + variable("im", IM)
PACKED = header() + packed(variable("im", IM))


@given(
    values=arrays(np.uint8, array_shapes(min_dims=2, max_dims=5, max_side=5)),
    order=st.sampled_from("<>"),
    is_packed=st.booleans(),
    name=st.sampled_from(["im", "image", "a_name_of_letters"]),
)
def test_what_is_written_byte_by_byte_is_read_back_here_and_by_scipy(values, order, is_packed, name):
    content = variable(name, values, order)
    content = header(order) + (packed(content, order) if is_packed else content)
    np.testing.assert_array_equal(read(content, name, values.shape), values)
    np.testing.assert_array_equal(scipy.io.loadmat(io.BytesIO(content))[name], values)


@pytest.mark.parametrize("is_packed", [False, True])
def test_the_right_variable_is_read_from_a_file_that_scipy_wrote(is_packed):
    stream = io.BytesIO()
    others = {
        "mask": np.ones((4, 4), dtype=bool),
        "text": "words",
        "struct": {"inner": np.arange(3)},
        "list": np.array([1, "a"], dtype=object),
    }
    scipy.io.savemat(stream, {**others, "im": IM, "last": np.arange(3.0)}, do_compression=is_packed)
    np.testing.assert_array_equal(read(stream.getvalue()), IM)


def test_the_end_of_a_packed_stream_may_be_missing_as_some_writers_leave_it_out():
    squeezed = zlib.compress(variable("im", IM))[:-4]
    content = header() + struct.pack("<II", 15, len(squeezed)) + squeezed
    np.testing.assert_array_equal(read(content), IM)


def with_bytes(content, at, new):
    return content[:at] + new + content[at + len(new) :]


@pytest.mark.parametrize(
    ("content", "match"),
    [
        (b"", "ends 128 bytes too soon"),
        (PLAIN[:100], "ends 28 bytes too soon"),
        (PLAIN[:131], "unpack requires a buffer of 8 bytes"),
        (PLAIN[:-1], "ends 1 bytes too soon"),
        (PACKED[:-60], "too soon"),
        (with_bytes(PLAIN, 126, b"XX"), "b'XX', where MAT-files of level 5 have b'IM' or b'MI'"),
        (with_bytes(PLAIN, 124, b"\x00\x02"), "version 0x0200, not 0x0100"),
        (b"\x89HDF\r\n\x1a\n" + bytes(200), "bytes 126 and 127"),
        (with_bytes(PLAIN, 128, b"\x07\0\0\0"), "element of type 7; variables are of type 14, or 15 if packed"),
        (header() + packed(element(9, b"12345678")), "packed element is of type 9"),
        (with_bytes(PACKED, len(PACKED) - 4, b"\0\0\0\0"), "incorrect data check"),
        (with_bytes(PLAIN, 136, b"\x05"), r"types \(5, 5, 1\)"),
        (with_bytes(PLAIN, 156, b"\xff\xff\xff\x7f"), "promises 2147483647 bytes; at most 128"),
        (with_bytes(PLAIN, 184, b"\x01\0\x09\0"), "promises 9 bytes and has room for 4"),
        (header() + variable("im", IM, kind=6), "240 bytes of type 6 where 240 of type 2 were promised"),
        (header() + variable("im", IM)[:-8], "too soon"),
        (
            header() + variable("x", IM[:1, 0, 0]) * 256 + variable("im", IM),
            "'im' is not among its first 256 variables",
        ),
        (header() + packed(variable("im", IM) + b"\0"), "goes on after its values"),
        (with_bytes(PLAIN, 132, struct.pack("<I", 400)) + bytes(100), "goes on after its values"),
    ],
)
def test_a_damaged_file_is_refused_with_its_name(content, match):
    with pytest.raises(DataError, match=rf"^car\.mat is not a readable MATLAB file \(.*{match}.*fetch it again"):
        read(content)


@pytest.mark.parametrize("pack", [bytes, packed])
@pytest.mark.parametrize(
    ("content", "match"),
    [
        (variable("mask", IM), "has no variable 'im'; it holds 'mask'"),
        (variable("im", IM[:, :3]), r"'im' has shape \(5, 3, 3, 2, 2\); expected \(5, 4, 3, 2, 2\)"),
        (variable("im", IM.astype(np.float64), flags=6, kind=9), "'im' is of type double; expected uint8"),
        (variable("im", IM, flags=MASK), "'im' is of type logical; expected uint8"),
        (variable("im", IM, flags=UINT8 | 0x0800), "'im' is of type complex uint8; expected uint8"),
        (variable("im", IM, flags=200), "'im' is of type 200, which is not one of numbers; expected uint8"),
    ],
)
def test_a_file_of_something_else_is_refused_with_what_it_holds(pack, content, match):
    with pytest.raises(DataError, match=rf"^car\.mat.*{match}.*Fetch the official file"):
        read(header() + pack(content))


def test_a_file_without_variables_says_so():
    with pytest.raises(DataError, match="no variable 'im'; it holds nothing"):
        read(header())


@pytest.mark.parametrize("name", ["im", "mask"])
def test_a_bomb_is_not_unpacked(tmp_path, name):
    # 16 megabytes of zeros in 16 kilobytes: as more than `im` should have, or as a variable that nobody asked for.
    bomb = header() + packed(variable(name, np.zeros((2048, 8192), dtype=np.uint8))) + variable("im", IM)
    assert len(bomb) < 2**17
    shape = (2048, 8191) if name == "im" else IM.shape
    assert num_read(
        lambda path: read(path.read_bytes(), "im", shape, str(path)), iter([bomb]), tmp_path / "bomb", "b.mat", 2**20
    ) == (name == "mask")


def test_mutated_files_are_read_or_refused_in_a_megabyte(tmp_path):
    mask = variable("mask", IM[:, :, 0] % 2, flags=MASK)
    makers = [
        lambda damage: damage(header() + mask + variable("im", IM)),
        lambda damage: damage(header() + packed(mask) + packed(variable("im", IM))),
        lambda damage: header() + packed(mask) + packed(damage(variable("im", IM))),
        lambda damage: header() + damage(mask) + packed(variable("im", IM)),
    ]
    # Some edits fall on pixels, on the words of the header, or behind the end.
    assert (
        100
        < num_read(
            lambda path: read(path.read_bytes(), where=str(path)),
            mutants(makers, seed=0),
            tmp_path / "mutants",
            "car.mat",
            2**20,
        )
        < 1_900
    )
