import hashlib
import os
import time

import pytest

from tests.datasets.mutants import flips
from unbraid._internal import files
from unbraid.datasets import file_stamps
from unbraid.datasets.file_stamps import check_unchanged, is_settled, known_sha256, stamp
from unbraid.errors import DataError

CONTENT = b"abc"


@pytest.fixture
def path(tmp_path):
    folder = tmp_path / "mine"
    folder.mkdir()
    (folder / "a.bin").write_bytes(CONTENT)
    return folder / "a.bin"


LARGE = b"a large file"


@pytest.fixture
def large(tmp_path, monkeypatch):
    """A file that is large, and old."""
    monkeypatch.setattr(file_stamps, "ALWAYS_VERIFIED_BYTES", 3)
    large = tmp_path / "file"
    large.write_bytes(LARGE)
    os.utime(large, (1e9, 1e9))
    return large


@pytest.fixture
def taken(monkeypatch):
    """The files of which the checksum is taken."""
    seen, sha256 = [], files.sha256
    monkeypatch.setattr(files, "sha256", lambda path: (seen.append(path), sha256(path))[1])
    return seen


def test_a_checksum_is_taken_once(large, taken):
    assert known_sha256(large) == known_sha256(large) == hashlib.sha256(LARGE).hexdigest()
    assert len(taken) == 1


def test_it_is_taken_anew_when_asked(large, taken):
    known_sha256(large)
    # As it was, by size and time: a disk that forgets.
    large.write_bytes(LARGE[::-1])
    os.utime(large, (1e9, 1e9))
    assert known_sha256(large) == hashlib.sha256(LARGE).hexdigest()
    assert known_sha256(large, anew=True) == known_sha256(large) == hashlib.sha256(LARGE[::-1]).hexdigest()
    assert len(taken) == 2


@pytest.mark.parametrize("change", ["time", "size", "file"])
def test_it_is_taken_anew_when_the_file_was_written(large, taken, change):
    known_sha256(large)
    if change == "file":
        (large.parent / "other").write_bytes(LARGE[::-1])
        (large.parent / "other").rename(large)
    else:
        large.write_bytes(LARGE[::-1] if change == "time" else LARGE + b"!")
    os.utime(large, (1e9, 1e9 + 5 * (change == "time")))
    assert known_sha256(large) == hashlib.sha256(large.read_bytes()).hexdigest()
    assert len(taken) == 2


def test_that_of_a_file_that_was_just_written_is_not_remembered(large, taken):
    os.utime(large)
    known_sha256(large)
    known_sha256(large)
    assert len(taken) == 2


def test_that_of_a_small_file_is_always_taken(large, taken, monkeypatch):
    monkeypatch.setattr(file_stamps, "ALWAYS_VERIFIED_BYTES", 1000)
    known_sha256(large)
    known_sha256(large)
    assert len(taken) == 2


def test_a_cache_that_cannot_be_written_to_remembers_nothing(large, cache, taken):
    cache.write_text("in the way")
    assert known_sha256(large) == known_sha256(large)
    assert len(taken) == 2


@pytest.mark.parametrize("content", [b"", b"[]", b"{}", b"not json"])
def test_a_damaged_memory_is_forgotten(large, cache, taken, content):
    known_sha256(large)
    (memory,) = (cache / "known").iterdir()
    files.write_bytes(memory, content)
    assert known_sha256(large) == hashlib.sha256(LARGE).hexdigest()
    assert len(taken) == 2


def test_no_flipped_bit_of_the_memory_is_believed(large, cache):
    known_sha256(large)
    (memory,) = (cache / "known").iterdir()
    for flipped in flips(memory.read_bytes()):
        memory.write_bytes(flipped)
        assert known_sha256(large) == hashlib.sha256(LARGE).hexdigest()


def test_a_time_is_settled_when_it_is_neither_now_nor_just_before():
    now = time.time_ns()
    assert not is_settled(now)
    assert not is_settled(now - 10**9)
    assert is_settled(now - 10**10)
    # A clock that was wrong: whoever writes the file again will give it another time.
    assert is_settled(now + 10**12)


@pytest.mark.parametrize("change", ["write", "exchange", "remove"])
def test_a_file_that_changes_while_it_is_read_is_refused(path, change):
    before = [stamp(path)]
    check_unchanged([path], before)
    match change:
        case "write":
            os.utime(path, (1e9, 1e9))
        case "exchange":
            path.with_name("other").write_bytes(CONTENT)
            os.utime(path.with_name("other"), ns=(before[0][1], before[0][1]))
            path.with_name("other").rename(path)
        case "remove":
            path.unlink()
    with pytest.raises(DataError, match=r"a\.bin"):
        check_unchanged([path], before)
