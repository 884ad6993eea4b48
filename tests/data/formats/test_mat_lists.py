import io

import numpy as np
import pytest
import scipy.io

from tests.data.mutants import mutants, num_read
from unbraid.data.formats import mat_lists
from unbraid.data.formats.mat_lists import read_names, read_positions
from unbraid.errors import DataError

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
    def element(kind, content):
        return kind.to_bytes(4, "big") + len(content).to_bytes(4, "big") + content + bytes(-len(content) % 8)

    def matrix(flags, dimensions, name, values):
        head = element(6, flags.to_bytes(4, "big") + bytes(4)) + element(
            5, b"".join(n.to_bytes(4, "big") for n in dimensions)
        )
        return element(14, head + element(1, name) + values)

    text = matrix(4, (1, 5), b"", element(4, "chair".encode("utf-16-be")))
    content = b"MATLAB 5.0".ljust(124) + b"\x01\x00MI" + matrix(1, (1, 1), b"folder_names", text)
    assert read_names(content, "folder_names", "f") == ["chair"]


@pytest.mark.parametrize(
    ("content", "match"),
    [
        (b"", "ends 128 bytes too soon"),
        (saved(other=1.0), r"no variable 'folder_names'; it holds 'other'"),
        (saved(folder_names=np.arange(3)), "not a cell array"),
        (saved(folder_names=np.array([[np.arange(3)]], dtype=object)), "not a cell array|do not hold text"),
        (saved(folder_names=cells(NAMES))[:-40], "ends .* bytes too soon"),
        (saved(folder_names=cells(["a" * 2**22])), "takes .* bytes; at most 4194304"),
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
    with pytest.raises(DataError, match=r"list\.mat is not a readable MATLAB file"):
        read_positions(saved(selected=values), "selected", "list.mat")


def test_a_variable_that_unpacks_to_more_than_any_list_is_refused():
    content = saved(packed=True, selected=np.zeros(mat_lists._MAX_BYTES))
    assert len(content) < mat_lists._MAX_BYTES
    with pytest.raises(DataError, match="takes .* bytes; at most 4194304"):
        read_positions(content, "selected", "f")


def test_two_thousand_damaged_lists_are_read_or_refused(tmp_path):
    names, positions = saved(folder_names=cells(NAMES)), saved(selected=np.arange(1, 9))
    packed = saved(packed=True, folder_names=cells(NAMES))
    makers = [lambda damage: damage(names), lambda damage: damage(positions), lambda damage: damage(packed)]

    def parse(path):
        content = path.read_bytes()
        if b"selected" in content:
            read_positions(content, "selected", str(path))
        else:
            read_names(content, "folder_names", str(path))

    assert 100 < num_read(parse, mutants(makers, seed=0), tmp_path / "mutants", "list.mat", 2**24) < 1_900
