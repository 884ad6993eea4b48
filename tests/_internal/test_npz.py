import io
import itertools
import struct
import sys
import zipfile

import numpy as np
import pytest

from tests.datasets.mutants import assert_damaged_are_read_or_refused
from unbraid._internal import npz as npz_module
from unbraid._internal.npz import Header, Npz
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
    with pytest.raises(DataError, match=r"has 6 bytes.*uint8 of shape \(99999999, 999\)"):
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


# ---- in blocks

IMAGES = np.random.default_rng(0).integers(0, 4, (100, 4, 4, 3), dtype=np.uint8)
WRITERS = {"stored": np.savez, "deflated": np.savez_compressed}
either_way = pytest.mark.parametrize("way", WRITERS)


@pytest.fixture
def images(tmp_path, way):
    WRITERS[way](tmp_path / "images.npz", before=np.arange(3), images=IMAGES, after=np.ones(2))
    return Npz(tmp_path / "images.npz")


@either_way
@pytest.mark.parametrize("start", [0, 1, 30, 99, 100])
@pytest.mark.parametrize("num_rows", [1, 7, 100, 1000])
def test_rows_come_in_order_from_any_of_them_on(images, start, num_rows):
    blocks = list(images.blocks("images", num_rows, start))
    assert all(len(block) == num_rows for block in blocks[:-1])
    np.testing.assert_array_equal(np.concatenate([IMAGES[:0], *blocks]), IMAGES[start:])


@either_way
def test_memory_holds_a_block_and_no_more(images, monkeypatch):
    read = []
    original = zipfile.ZipExtFile.read
    monkeypatch.setattr(zipfile.ZipExtFile, "read", lambda self, n=-1: read.append(n) or original(self, n))
    list(images.blocks("images", 10))
    assert max(read) <= max(10 * 48, 128)


def test_what_comes_before_the_first_row_of_a_stored_entry_is_not_read(tmp_path, monkeypatch):
    np.savez(tmp_path / "images.npz", images=np.zeros((1000, 1000), dtype=np.uint8))
    unpacked = []
    original = zipfile.ZipExtFile.read
    monkeypatch.setattr(zipfile.ZipExtFile, "read", lambda self, n=-1: unpacked.append(n) or original(self, n))
    assert sum(map(len, Npz(tmp_path / "images.npz").blocks("images", 10, start=990))) == 10
    assert sum(unpacked) < 1000


@either_way
def test_a_flipped_bit_is_noticed_when_the_rows_run_out(tmp_path, way):
    WRITERS[way](tmp_path / "images.npz", images=np.arange(4096))
    content = bytearray((tmp_path / "images.npz").read_bytes())
    content[len(content) // 2] ^= 1
    (tmp_path / "images.npz").write_bytes(content)
    with pytest.raises(DataError, match="not a readable"):
        list(Npz(tmp_path / "images.npz").blocks("images", 100))


def test_fortran_order_has_no_rows(tmp_path):
    np.savez(tmp_path / "odd.npz", images=np.asfortranarray(np.arange(6).reshape(2, 3)))
    npz = Npz(tmp_path / "odd.npz")
    with pytest.raises(DataError, match="'images' in .*odd.npz"):
        list(npz.blocks("images", 1))
    assert npz.read("images").tolist() == npz.mapped("images").tolist() == [[0, 1, 2], [3, 4, 5]]


def test_a_header_knows_the_size_of_a_row():
    header = Header((5, 3, 2), np.dtype(np.float32))
    assert (header.row_bytes, header.num_bytes) == (24, 120)


# ---- mapped


@pytest.mark.parametrize("way", ["stored"])
def test_a_stored_entry_is_mapped_and_never_written_to(images):
    before = images.path.read_bytes()
    mapped = images.mapped("images")
    assert isinstance(mapped, np.memmap)
    np.testing.assert_array_equal(mapped, IMAGES)
    mapped[:] = 0
    assert images.path.read_bytes() == before


@pytest.mark.parametrize("way", ["deflated"])
def test_a_compressed_entry_cannot_be_mapped(images):
    assert images.mapped("images") is None


def test_an_entry_after_a_header_of_another_length_is_found(tmp_path):
    # np.savez leaves room for large entries in the local header that the directory does not mention.
    with zipfile.ZipFile(tmp_path / "plain.npz", "w") as archive:
        content = io.BytesIO()
        np.save(content, IMAGES)
        archive.writestr("images.npy", content.getvalue())
    np.testing.assert_array_equal(Npz(tmp_path / "plain.npz").mapped("images"), IMAGES)
    np.testing.assert_array_equal(
        np.concatenate(list(Npz(tmp_path / "plain.npz").blocks("images", 9, 50))), IMAGES[50:]
    )


# ---- attacks


def claiming(path, *, unpacked=None, packed=None, method=None):
    """The file, its directory edited to claim other sizes, or another way to compress, for its only entry."""
    content = bytearray(path.read_bytes())
    entry = content.rindex(b"PK\x01\x02")
    for offset, form, value in ((10, "<H", method), (20, "<I", packed), (24, "<I", unpacked)):
        if value is not None:
            struct.pack_into(form, content, entry + offset, value)
    path.write_bytes(content)
    return Npz(path)


QUESTIONS = {
    "header": lambda npz: npz.header("images"),
    "read": lambda npz: npz.read("images"),
    "blocks": lambda npz: list(npz.blocks("images", 10)),
    "mapped": lambda npz: npz.mapped("images"),
}


@pytest.mark.parametrize("ask", QUESTIONS.values(), ids=QUESTIONS)
@pytest.mark.parametrize(
    ("way", "claims", "match"),
    [
        ("deflated", {"unpacked": 2**31}, "2,147,483,648 bytes"),
        ("stored", {"unpacked": 2**31}, "2,147,483,648 bytes"),
        ("stored", {"packed": 2**31, "unpacked": 2**31}, "2,147,483,648 bytes"),
        ("deflated", {"method": zipfile.ZIP_LZMA}, "method 14"),
    ],
)
def test_a_zip_that_promises_the_impossible_is_refused_by_name(tmp_path, ask, way, claims, match):
    WRITERS[way](tmp_path / "bomb.npz", images=IMAGES)
    with pytest.raises(DataError, match=match) as error:
        ask(claiming(tmp_path / "bomb.npz", **claims))
    assert "bomb.npz" in str(error.value)


def test_a_zip_bomb_is_not_unpacked(tmp_path, monkeypatch):
    # Zeros pack to a thousandth: a true bomb, scaled down a thousandfold.
    monkeypatch.setattr(npz_module, "_SUSPECT_BYTES", 2**20)
    np.savez_compressed(tmp_path / "bomb.npz", images=np.zeros(2**21, dtype=np.uint8))
    with pytest.raises(DataError, match="2,097,280 bytes.*zip bomb.*np.savez"):
        Npz(tmp_path / "bomb.npz").read("images")
    assert sum(map(len, Npz(tmp_path / "bomb.npz").blocks("images", 1000))) == 2**21


def test_data_that_pack_well_are_no_bomb(tmp_path, monkeypatch):
    monkeypatch.setattr(npz_module, "_SUSPECT_BYTES", 2**20)
    dots = np.zeros((1024, 64, 64), dtype=np.uint8)
    dots[np.arange(1024), np.arange(1024) % 64, np.arange(1024) // 64] = 255
    np.savez_compressed(tmp_path / "dots.npz", images=dots)
    np.testing.assert_array_equal(Npz(tmp_path / "dots.npz").read("images"), dots)


def parse(path):
    npz = Npz(path)
    header = npz.header("images")
    npz.read("images")
    rows = sum(map(len, npz.blocks("images", 10, 5)))
    npz.mapped("images")
    assert rows == max(0, header.shape[0] - 5)


def zipped(method):
    """Writes a file of two arrays; what is damaged is the zip as a whole, or the array in it."""
    first, second = io.BytesIO(), io.BytesIO()
    np.save(first, IMAGES[:20])
    np.save(second, np.arange(5))

    def whole(damaged):
        return damaged(pack(first.getvalue()))

    def inner(damaged):
        return pack(damaged(first.getvalue()))

    def pack(images):
        content = io.BytesIO()
        with zipfile.ZipFile(content, "w", method) as archive:
            archive.writestr("images.npy", images)
            archive.writestr("labels.npy", second.getvalue())
        return content.getvalue()

    return [whole, inner]


@pytest.mark.filterwarnings("ignore:Reading `.npy` or `.npz` file required additional header parsing")
def test_damaged_files_are_read_or_refused(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    makers = [*zipped(zipfile.ZIP_STORED), *zipped(zipfile.ZIP_DEFLATED)]
    assert_damaged_are_read_or_refused(parse, makers, tmp_path, "images.npz", 2**22)


def num_steps(path):
    """How many steps of Python it takes to read all entries."""
    steps = itertools.count()
    sys.setprofile(lambda *_: next(steps))
    try:
        npz = Npz(path)
        npz.headers(npz.names)
        assert len(npz.read_all(npz.names)) == len(npz.names)
    finally:
        sys.setprofile(None)
    return next(steps)


def test_the_work_of_reading_all_entries_grows_with_their_number_and_not_with_its_square(tmp_path):
    for number in (50, 200):
        np.savez(tmp_path / f"{number}.npz", **{f"array_{k}": np.arange(3) for k in range(number)})
    num_steps(tmp_path / "50.npz")  # what is imported or cached at the first time is no part of it
    assert num_steps(tmp_path / "200.npz") < 4.5 * num_steps(tmp_path / "50.npz")


@pytest.mark.parametrize("order", ["<", ">"])
def test_numbers_that_are_no_letters_are_refused(tmp_path, order):
    letters = np.array([[65, 0x10FFFF], [0x110000, 66]], dtype=f"{order}u4")
    np.savez(tmp_path / "words.npz", good=letters[:1].view(f"{order}U2"), bad=letters.view(f"{order}U2"))
    assert Npz(tmp_path / "words.npz").read("good").tolist() == [["A\U0010ffff"]]
    with pytest.raises(DataError, match=r"words\.npz .*bad"):
        Npz(tmp_path / "words.npz").read("bad")


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_two_entries_of_one_name_are_refused(path):
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("names.npy", b"")
    with pytest.raises(DataError, match=r"arrays\.npz .*two"):
        Npz(path).read("numbers")


def test_a_shape_of_truths_is_refused(tmp_path):
    header = b"{'descr': '|u1', 'fortran_order': False, 'shape': (True, 3)}\n"
    with zipfile.ZipFile(tmp_path / "odd.npz", "w") as archive:
        archive.writestr("a.npy", b"\x93NUMPY\x01\0" + struct.pack("<H", len(header)) + header + bytes(3))
    with pytest.raises(DataError, match=r"odd\.npz"):
        Npz(tmp_path / "odd.npz").read("a")
