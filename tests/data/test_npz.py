import zipfile

import numpy as np
import pytest

from unbraid.data.npz import Npz
from unbraid.errors import DataError


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "arrays.npz"
    np.savez(path, numbers=np.arange(6.0).reshape(2, 3), names=np.array(["a", "b"]))
    return path


def test_entries_are_read_as_they_were_saved(path):
    np.testing.assert_array_equal(Npz(path).read("numbers"), np.arange(6.0).reshape(2, 3))
    assert Npz(path).read("names").tolist() == ["a", "b"]


def test_a_header_is_known_without_reading_the_entry(path):
    header = Npz(path).header("numbers")
    assert (header.shape, header.dtype) == ((2, 3), np.dtype(np.float64))


def test_it_knows_what_it_contains(path):
    assert "numbers" in Npz(path)
    assert "letters" not in Npz(path)
    assert Npz(path).names == ["numbers", "names"]


def test_a_missing_entry_lists_those_that_are_there(path):
    with pytest.raises(DataError, match=r"'letters'.*names, numbers"):
        Npz(path).read("letters")


class Trap:
    def __reduce__(self):
        return (eval, ("1 / 0",))


@pytest.mark.parametrize("question", ["header", "read"])
def test_python_objects_are_refused_and_never_unpickled(tmp_path, question):
    np.savez(tmp_path / "trap.npz", trap=np.array([Trap()], dtype=object), safe=np.ones(2))
    npz = Npz(tmp_path / "trap.npz")
    with pytest.raises(DataError, match="pickle"):
        getattr(npz, question)("trap")
    assert npz.read("safe").tolist() == [1.0, 1.0]


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(DataError, match=r"no file .*absent\.npz"):
        Npz(tmp_path / "absent.npz").read("images")


def test_a_folder_is_not_an_npz(tmp_path):
    with pytest.raises(DataError, match="not a readable"):
        Npz(tmp_path).read("images")


@pytest.mark.parametrize("content", [b"", b"not a zip at all", b"PK\x03\x04 cut short"])
def test_what_is_not_a_zip_is_refused(tmp_path, content):
    (tmp_path / "file.npz").write_bytes(content)
    with pytest.raises(DataError, match="not a readable"):
        Npz(tmp_path / "file.npz").header("images")


def test_a_flipped_byte_is_noticed(path):
    content = bytearray(path.read_bytes())
    content[content.index(np.float64(3.0).tobytes()) + 6] ^= 1
    path.write_bytes(content)
    with pytest.raises(DataError, match="not a readable"):
        Npz(path).read("numbers")


def test_a_header_that_promises_more_than_is_there_is_refused_before_allocating(tmp_path):
    np.save(tmp_path / "small.npy", np.zeros((2, 3), dtype=np.uint8))
    lying = (tmp_path / "small.npy").read_bytes().replace(b"(2, 3), }       ", b"(99999999, 999)}")
    assert b"99999999" in lying
    with zipfile.ZipFile(tmp_path / "lying.npz", "w") as archive:
        archive.writestr("images.npy", lying)
    with pytest.raises(DataError, match="not what uint8"):
        Npz(tmp_path / "lying.npz").read("images")


def test_a_header_of_nothing_but_brackets_is_refused(tmp_path):
    header = b"(" * 5000
    with zipfile.ZipFile(tmp_path / "odd.npz", "w") as archive:
        archive.writestr("images.npy", b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header)
    with pytest.raises(DataError, match="not a readable"):
        Npz(tmp_path / "odd.npz").header("images")


def test_an_entry_that_is_no_array_is_refused(tmp_path):
    with zipfile.ZipFile(tmp_path / "odd.npz", "w") as archive:
        archive.writestr("images.npy", b"hello")
        archive.writestr("readme", b"no suffix")
    with pytest.raises(DataError, match="not a readable"):
        Npz(tmp_path / "odd.npz").header("images")
    with pytest.raises(DataError, match="no array 'readme'"):
        Npz(tmp_path / "odd.npz").header("readme")
