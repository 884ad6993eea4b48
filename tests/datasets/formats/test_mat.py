import io
import struct
import zlib

import numpy as np
import pytest
import scipy.io
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from tests.datasets.mutants import assert_damaged_are_read_or_refused, num_read
from unbraid.datasets.formats import mat
from unbraid.datasets.formats.mat import read_names, read_positions
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
    return mat.read_array(content, name, IM.shape if shape is None else shape, where)


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
        (b"", "5"),
        (PLAIN[:100], "5"),
        (PLAIN[:131], "8"),
        (PLAIN[:-1], "has .* bytes; expected"),
        (PACKED[:-60], "has .* bytes; expected"),
        (with_bytes(PLAIN, 126, b"XX"), "5"),
        (with_bytes(PLAIN, 124, b"\x00\x02"), "5"),
        (b"\x89HDF\r\n\x1a\n" + bytes(200), "5"),
        (with_bytes(PLAIN, 128, b"\x07\0\0\0"), "7.*14.*15"),
        (header() + packed(element(9, b"12345678")), "9"),
        (with_bytes(PACKED, len(PACKED) - 4, b"\0\0\0\0"), "incorrect data check"),
        (with_bytes(PLAIN, 136, b"\x05"), r"types \[5, 5, 1\]"),
        (with_bytes(PLAIN, 156, b"\xff\xff\xff\x7f"), "expected 2147483647"),
        (with_bytes(PLAIN, 184, b"\x01\0\x09\0"), "has 4 bytes; expected 9"),
        (header() + variable("im", IM, kind=6), "'im'.*240"),
        (header() + packed(variable("im", IM) + b"\0"), "has .* of .* bytes"),
        (header(), "'im'"),
        (header() + variable("mask", IM), "'im'.*'mask'"),
        (header() + packed(variable("mask", IM)), "'im'.*'mask'"),
        (header() + variable("im", IM[:, :3]), r"shape \(5, 3, 3, 2, 2\); expected 9 and \(5, 4, 3, 2, 2\)"),
        (header() + variable("im", IM.astype(np.float64), flags=6, kind=9), "'im' has type 6"),
        (header() + variable("im", IM, flags=MASK), "'im' has type 521"),
        (header() + variable("im", IM, flags=UINT8 | 0x0800), "'im' has type 2057"),
    ],
)
def test_a_damaged_file_is_refused_with_its_name(content, match):
    with pytest.raises(DataError, match=rf"^car\.mat is not a readable MATLAB file \(.*{match}.*"):
        read(content)


@pytest.mark.parametrize("name", ["im", "mask"])
def test_a_bomb_is_not_unpacked(tmp_path, name):
    # 16 megabytes of zeros in 16 kilobytes: as more than `im` should have, or as a variable that nobody asked for.
    bomb = header() + packed(variable(name, np.zeros((2048, 8192), dtype=np.uint8))) + variable("im", IM)
    assert len(bomb) < 2**17
    assert num_read(
        lambda path: read(path.read_bytes(), where=str(path)), iter([bomb]), tmp_path / "bomb", "b.mat", 2**20
    ) == (name == "mask")


def test_mutated_files_are_read_or_refused_in_a_megabyte(tmp_path):
    mask = variable("mask", IM[:, :, 0] % 2, flags=MASK)
    makers = [
        lambda damage: damage(header() + mask + variable("im", IM)),
        lambda damage: damage(header() + packed(mask) + packed(variable("im", IM))),
        lambda damage: header() + packed(mask) + packed(damage(variable("im", IM))),
        lambda damage: header() + damage(mask) + packed(variable("im", IM)),
    ]
    assert_damaged_are_read_or_refused(
        lambda path: read(path.read_bytes(), where=str(path)), makers, tmp_path, "car.mat", 2**20
    )


# ---- lists

NAMES = ["1a2b8749a1756a09932a5c2746cd09a4", "a", "b663f1e4df6c51fe19fb4103277a6b93", "chair four"]


def saved(*, packed=False, **variables):
    stream = io.BytesIO()
    scipy.io.savemat(stream, variables, do_compression=packed)
    return stream.getvalue()


def cells(names):
    return np.array([names], dtype=object)


@pytest.mark.parametrize("packed", [False, True])
def test_names_in_a_cell_array_are_read_in_order(packed):
    content = saved(packed=packed, instance_names=cells(["x.png"]), folder_names=cells(NAMES))
    assert read_names(content, "folder_names", "f") == NAMES
    assert read_names(content, "instance_names", "f") == ["x.png"]


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("kind", [np.float64, np.float32, np.uint8, np.int16, np.uint32, np.int64])
@pytest.mark.parametrize("shape", [(1, 3), (3, 1)])
def test_positions_are_counted_from_one_there_and_from_zero_here(packed, kind, shape):
    content = saved(packed=packed, other=1.0, selected=np.array([2, 9, 4], kind).reshape(shape))
    assert read_positions(content, "selected", "f") == [1, 8, 3]


@pytest.mark.parametrize("kind", [np.bool_, np.float64, np.uint8])
def test_zeros_and_ones_select_places(kind):
    assert read_positions(saved(selected=np.array([[0, 1, 1, 0, 1]], kind)), "selected", "f") == [1, 2, 4]


def test_text_of_two_bytes_a_letter_and_the_other_byte_order_are_read():
    # MATLAB itself writes UTF-16; scipy cannot, so one cell is put together by hand, in big-endian order.
    def matrix(flags, dimensions, name, values):
        head = element(6, struct.pack(">II", flags, 0), ">") + element(5, struct.pack(">2i", *dimensions), ">")
        return element(14, head + element(1, name, ">") + values, ">")

    text = matrix(4, (1, 5), b"", element(4, "chair".encode("utf-16-be"), ">"))
    assert read_names(header(">") + matrix(1, (1, 1), b"folder_names", text), "folder_names", "f") == ["chair"]


@pytest.mark.parametrize(
    ("content", "match"),
    [
        (b"", "5"),
        (saved(other=1.0), "'folder_names'.*'other'"),
        (saved(folder_names=np.arange(3)), "not a cell array"),
        (saved(folder_names=np.array([[np.arange(3)]], dtype=object)), "array|do"),
        (saved(folder_names=cells(NAMES))[:-40], "has .* bytes; expected"),
        (saved(packed=True, folder_names=cells(["a" * 2**22])), "at most 4194304"),
    ],
)
def test_what_is_no_list_of_names_is_refused(content, match):
    with pytest.raises(DataError, match=match) as error:
        read_names(content, "folder_names", "all_chair_names.mat")
    assert "all_chair_names.mat" in str(error.value)


@pytest.mark.parametrize(
    "values",
    [np.array([1.5, 2]), np.array([0, 2]), np.array([-1, 2]), np.array([np.nan, 2]), np.array([1e30, 2]), "text"],
)
def test_what_is_no_list_of_positions_is_refused(values):
    with pytest.raises(DataError, match=r"list\.mat"):
        read_positions(saved(selected=values), "selected", "list.mat")


def test_a_variable_that_unpacks_to_more_than_any_list_is_refused():
    content = saved(packed=True, selected=np.zeros(mat._MAX_LIST_BYTES))
    assert len(content) < mat._MAX_LIST_BYTES
    with pytest.raises(DataError, match="at most 4194304"):
        read_positions(content, "selected", "f")


def test_damaged_lists_are_read_or_refused(tmp_path):
    names, positions = saved(folder_names=cells(NAMES)), saved(selected=np.arange(1, 9))
    packed = saved(packed=True, folder_names=cells(NAMES))

    def parse(path):
        content = path.read_bytes()
        if b"selected" in content:
            read_positions(content, "selected", str(path))
        else:
            read_names(content, "folder_names", str(path))

    assert_damaged_are_read_or_refused(parse, [names, positions, packed], tmp_path, "list.mat", 2**24)
