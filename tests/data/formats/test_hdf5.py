import io
import json
import os
import signal
import subprocess
import sys

import h5py
import numpy as np
import pytest

from tests.data.mutants import mutants, num_read
from unbraid.data.formats import hdf5, hdf5_process
from unbraid.data.formats.hdf5 import Hdf5Header, Hdf5Reader
from unbraid.errors import DataError

IMAGES = np.random.default_rng(0).integers(0, 4, (100, 8, 8, 3), dtype=np.uint8)
LABELS = np.random.default_rng(1).random((100, 6))


@pytest.fixture(scope="module")
def reader():
    """One for all tests: to start its process takes longer than any of them."""
    with Hdf5Reader(seconds_an_answer=60.0) as reader:
        yield reader


@pytest.fixture
def path(tmp_path):
    with h5py.File(tmp_path / "arrays.h5", "w") as file:
        file.create_dataset(
            "images", data=IMAGES, chunks=(30, 4, 4, 1), compression="gzip", shuffle=True, fletcher32=True
        )
        file.create_dataset("labels", data=LABELS)
    return tmp_path / "arrays.h5"


def test_a_header_is_known_without_reading_the_rows(reader, path):
    assert reader.header(path, "images") == Hdf5Header((100, 8, 8, 3), np.dtype(np.uint8), 30)
    assert reader.header(path, "labels") == Hdf5Header((100, 6), np.dtype(np.float64), None)


def test_rows_are_read_as_they_were_saved(reader, path):
    np.testing.assert_array_equal(reader.read(path, "images", 0, 100), IMAGES)
    np.testing.assert_array_equal(reader.read(path, "labels", 10, 12), LABELS[10:12])
    assert reader.read(path, "labels", 90, 900).shape == (10, 6)
    assert reader.read(path, "labels", 5, 5).shape == (0, 6)


@pytest.mark.parametrize("dtype", [">f8", ">i4", "<u2", "?", "<f4"])
def test_numbers_of_every_kind_come_in_the_order_of_this_machine(reader, tmp_path, dtype):
    values = np.arange(12).reshape(4, 3).astype(dtype)
    with h5py.File(tmp_path / "numbers.h5", "w") as file:
        file["numbers"] = values
    found = reader.read(tmp_path / "numbers.h5", "numbers", 0, 4)
    np.testing.assert_array_equal(found, values)
    assert found.dtype.isnative


@pytest.mark.parametrize("start", [0, 1, 30, 59, 60, 99, 100])
def test_blocks_begin_where_chunks_do(reader, path, start, monkeypatch):
    monkeypatch.setattr(hdf5, "_BLOCK_BYTES", 70 * 192)
    blocks = list(reader.blocks(path, "images", start))
    np.testing.assert_array_equal(np.concatenate([IMAGES[:0], *blocks]), IMAGES[start:])
    edges = start + np.cumsum([0, *map(len, blocks)])
    assert set(edges[1:-1].tolist()) <= {60}


@pytest.mark.parametrize(
    ("chunk_rows", "row_bytes", "expected"),
    [
        (15_000, 12_288, 15_000),  # 3D Shapes as h5py packs it: one chunk after the other, 184 MB each
        (100, 12_288, 2_700),  # 33 MB
        (None, 12_288, 2_730),
        (480_000, 12_288, 43_690),  # 6 GB at once would be too much: each chunk is unpacked several times
        (None, 2**40, 1),
        (1, 0, 33_554_432),
    ],
)
def test_a_block_is_whole_chunks_within_bounds(chunk_rows, row_bytes, expected):
    assert Hdf5Header((480_000, row_bytes), np.dtype(np.uint8), chunk_rows).block_rows == expected


def test_the_process_ends_with_the_block(path):
    with Hdf5Reader() as reader:
        reader.header(path, "images")
        process = reader._process
        assert process.poll() is None
    assert process.poll() == 0


# ---- what is refused


def test_a_missing_file_is_named(reader, tmp_path):
    with pytest.raises(DataError, match=r"no file .*absent\.h5"):
        reader.header(tmp_path / "absent.h5", "images")


@pytest.mark.parametrize("content", [b"", b"not an HDF5 file at all", b"\x89HDF\r\n\x1a\n" + bytes(500)])
def test_what_is_not_hdf5_is_refused_by_name(reader, tmp_path, content):
    (tmp_path / "odd.h5").write_bytes(content)
    with pytest.raises(DataError, match=r"odd\.h5 is not a readable HDF5 file .*fetch it again"):
        reader.header(tmp_path / "odd.h5", "images")


def test_a_missing_array_lists_those_that_are_there(reader, path):
    with pytest.raises(DataError, match="no dataset 'pictures'; it holds images, labels"):
        reader.header(path, "pictures")


def soft_link(file, secret):
    file["there"] = [1]
    file["images"] = h5py.SoftLink("/there")


def external_link(file, secret):
    file["images"] = h5py.ExternalLink(secret, "/images")


def external_storage(file, secret):
    file.create_dataset("images", (10,), np.uint8, external=[(secret, 0, 10)])


def virtual(file, secret):
    layout = h5py.VirtualLayout((2,), np.uint8)
    layout[:] = h5py.VirtualSource(secret, "images", (2,))
    file.create_virtual_dataset("images", layout)


def texts(file, secret):
    file["images"] = ["one", "two"]


def a_record(file, secret):
    file["images"] = np.zeros(3, dtype=[("a", "u1"), ("b", "f4")])


def a_group(file, secret):
    file.create_group("images")


def a_single_number(file, secret):
    file["images"] = 5


def nothing(file, secret):
    file["images"] = h5py.Empty("f4")


def another_filter(file, secret):
    file.create_dataset("images", data=np.zeros(1000), compression="lzf")


@pytest.mark.parametrize(
    ("write", "match"),
    [
        (soft_link, "is a link"),
        (external_link, "is a link"),
        (external_storage, "lie in other files"),
        (virtual, "lie in other files"),
        (texts, "not plain numbers"),
        (a_record, "not plain numbers"),
        (a_group, "not an array"),
        (a_single_number, "not an array"),
        (nothing, "not an array"),
        (another_filter, "filter 32000"),
    ],
)
def test_only_plain_arrays_in_the_file_itself_are_read(reader, tmp_path, write, match):
    secret = tmp_path / "secret.h5"
    with h5py.File(secret, "w") as file:
        file["images"] = np.array([1, 2], dtype=np.uint8)
    with h5py.File(tmp_path / "odd.h5", "w") as file:
        write(file, str(secret))
    with pytest.raises(DataError, match=match):
        reader.read(tmp_path / "odd.h5", "images", 0, 2)


def test_more_than_a_block_at_once_is_refused_before_it_is_held(reader, tmp_path, monkeypatch):
    monkeypatch.setattr(hdf5, "_MAX_BLOCK_BYTES", 2**20)
    with h5py.File(tmp_path / "large.h5", "w") as file:
        file.create_dataset("images", (4, 2**20), np.uint8, chunks=(1, 2**20))
    with pytest.raises(DataError, match=r"large\.h5.*\(4 rows of 1,048,576 bytes"):
        reader.read(tmp_path / "large.h5", "images", 0, 4)


def test_a_file_that_asks_for_more_memory_than_the_process_may_have_is_refused(tmp_path):
    with h5py.File(tmp_path / "bomb.h5", "w") as file:
        file.create_dataset("images", (1, 2**34), np.uint8, chunks=(1, 2**16), compression="gzip")
    with Hdf5Reader(max_bytes=2**30) as reader, pytest.raises(DataError, match=r"bomb\.h5.*MemoryError"):
        reader.read(tmp_path / "bomb.h5", "images", 0, 1)


# ---- a process that goes wrong


def going_wrong(monkeypatch, program):
    """The next process does this instead; those after it are as always."""
    started = hdf5._started

    def start(max_bytes):
        monkeypatch.setattr(hdf5, "_started", started)
        command = [sys.executable, "-S", "-c", f"import os, sys, time\n{program}"]
        return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    monkeypatch.setattr(hdf5, "_started", start)


def answering(about, content=b"", length=None):
    head = json.dumps(about).encode()
    return (
        f"sys.stdin.readline(); os.write(1, {(length or len(head)).to_bytes(8, 'little') + head + content!r}); "
        "sys.stdin.read()"
    )


@pytest.mark.parametrize(
    ("program", "match"),
    [
        (f"os.kill(os.getpid(), {int(signal.SIGSEGV)})", "crashed on it: Segmentation fault"),
        (f"os.kill(os.getpid(), {int(signal.SIGABRT)})", "crashed on it: Aborted"),
        ("sys.exit(1)", "has ended|Broken pipe"),
        (f"sys.exit({hdf5_process.NO_H5PY})", "pip install h5py"),
        ("sys.stdin.readline(); os.write(1, b'abc')", "has ended"),
        (answering({}, length=2**40), "1,099,511,627,776 bytes came"),
        (answering([1, 2]), "header came that is none"),
        (answering({"shape": [-1], "dtype": "|u1"}), "header came that is none"),
        (answering({"shape": [10, 10], "dtype": "|O8"}), "header came that is none"),
        (answering({"shape": [10, 10], "dtype": "|u1", "bytes": 2**50}), "came as 1,125,899,906,842,624"),
    ],
)
def test_whatever_happens_to_the_process_the_file_is_refused(path, monkeypatch, program, match):
    going_wrong(monkeypatch, program)
    with Hdf5Reader() as reader:
        with pytest.raises(DataError, match=match) as error:
            reader.read(path, "images", 0, 2)
        assert "arrays.h5" in str(error.value)
        assert reader._process is None


@pytest.mark.parametrize(
    "program",
    [
        "time.sleep(600)",
        answering({"shape": [9, 10], "dtype": "|u1", "bytes": 20}, b"ten bytes!") + "; time.sleep(600)",
    ],
)
def test_a_process_that_hangs_is_ended(path, monkeypatch, program):
    going_wrong(monkeypatch, program)
    monkeypatch.setattr(hdf5, "_SECONDS_TO_END", 0.05)
    with Hdf5Reader(seconds_an_answer=0.5) as reader:
        with pytest.raises(DataError, match=r"arrays\.h5.*takes too long"):
            reader.read(path, "images", 0, 2)
        assert reader._process is None


def test_after_a_crash_the_next_file_is_read(path, monkeypatch):
    going_wrong(monkeypatch, f"sys.stdin.readline(); os.kill(os.getpid(), {int(signal.SIGSEGV)})")
    with Hdf5Reader() as reader:
        with pytest.raises(DataError, match="crashed"):
            reader.read(path, "images", 0, 2)
        np.testing.assert_array_equal(reader.read(path, "images", 0, 2), IMAGES[:2])
        # Killed by somebody else, between two questions: no file is to blame.
        os.kill(reader._process.pid, signal.SIGKILL)
        reader._process.wait()
        np.testing.assert_array_equal(reader.read(path, "images", 0, 2), IMAGES[:2])


# ---- inside the process


def test_questions_are_lines_and_answers_say_how_long_they_are(path):
    questions = [{"path": str(path), "name": "labels", "start": 3, "stop": 5}, {"path": str(path), "name": "nothing"}]
    path.with_suffix(".questions").write_text("".join(json.dumps(question) + "\n" for question in questions))
    with path.with_suffix(".questions").open("rb") as asked, path.with_suffix(".answers").open("wb") as answered:
        hdf5_process.serve(asked, answered)
    content = path.with_suffix(".answers").read_bytes()
    length = int.from_bytes(content[:8], "little")
    assert json.loads(content[8 : 8 + length]) == {"shape": [100, 6], "dtype": "<f8", "chunk_rows": None, "bytes": 96}
    rows, rest = content[8 + length : 104 + length], content[104 + length :]
    np.testing.assert_array_equal(np.frombuffer(rows).reshape(2, 6), LABELS[3:5])
    assert "no dataset 'nothing'" in json.loads(rest[8:])["error"]


# ---- fuzz


def damaged_files():
    """In the format of old, which h5py writes by default, and the newest; packed and not."""

    def damaging(content):
        return lambda damaged: damaged(content)

    makers = []
    for version in ("earliest", "latest"):
        for packing in ({"chunks": (8, 4, 4, 1), "compression": "gzip"}, {}):
            content = io.BytesIO()
            with h5py.File(content, "w", libver=version) as file:
                file.create_dataset("images", data=IMAGES[:20], **packing)
                file.create_dataset("labels", data=LABELS[:20])
            makers.append(damaging(content.getvalue()))
    return makers


def test_two_thousand_damaged_files_are_read_or_refused(reader, tmp_path, monkeypatch):
    def parse(path):
        shape = reader.header(path, "images").shape
        if shape != (20, 8, 8, 3) or reader.header(path, "labels").shape != (20, 6):
            raise DataError(f"{path.name}: as a loader would say")
        assert sum(map(len, reader.blocks(path, "images", 3))) == 17
        reader.read(path, "labels", 0, 20)

    monkeypatch.chdir(tmp_path)
    assert 100 < num_read(parse, mutants(damaged_files(), seed=0), tmp_path / "mutants", "images.h5", 2**20) < 1_900
