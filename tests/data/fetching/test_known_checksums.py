import hashlib
import os
import time

import pytest

from tests.data.mutants import flips
from unbraid import files
from unbraid.data.fetching import known_checksums
from unbraid.data.fetching.known_checksums import is_settled, known_sha256

CONTENT = b"a large file"


@pytest.fixture
def path(tmp_path, monkeypatch):
    """A file that is large, and old."""
    monkeypatch.setattr(known_checksums, "ALWAYS_VERIFIED_BYTES", 3)
    path = tmp_path / "file"
    path.write_bytes(CONTENT)
    os.utime(path, (1e9, 1e9))
    return path


@pytest.fixture
def taken(monkeypatch):
    """The files of which the checksum is taken."""
    seen, sha256 = [], files.sha256
    monkeypatch.setattr(files, "sha256", lambda path: (seen.append(path), sha256(path))[1])
    return seen


def test_a_checksum_is_taken_once(path, taken):
    assert known_sha256(path) == known_sha256(path) == hashlib.sha256(CONTENT).hexdigest()
    assert len(taken) == 1


def test_it_is_taken_anew_when_asked(path, taken):
    known_sha256(path)
    # As it was, by size and time: a disk that forgets.
    path.write_bytes(CONTENT[::-1])
    os.utime(path, (1e9, 1e9))
    assert known_sha256(path) == hashlib.sha256(CONTENT).hexdigest()
    assert known_sha256(path, anew=True) == known_sha256(path) == hashlib.sha256(CONTENT[::-1]).hexdigest()
    assert len(taken) == 2


@pytest.mark.parametrize("change", ["time", "size", "file"])
def test_it_is_taken_anew_when_the_file_was_written(path, taken, change):
    known_sha256(path)
    if change == "file":
        (path.parent / "other").write_bytes(CONTENT[::-1])
        (path.parent / "other").rename(path)
    else:
        path.write_bytes(CONTENT[::-1] if change == "time" else CONTENT + b"!")
    os.utime(path, (1e9, 1e9 + 5 * (change == "time")))
    assert known_sha256(path) == hashlib.sha256(path.read_bytes()).hexdigest()
    assert len(taken) == 2


def test_that_of_a_file_that_was_just_written_is_not_remembered(path, taken):
    os.utime(path)
    known_sha256(path)
    known_sha256(path)
    assert len(taken) == 2


def test_that_of_a_small_file_is_always_taken(path, taken, monkeypatch):
    monkeypatch.setattr(known_checksums, "ALWAYS_VERIFIED_BYTES", 1000)
    known_sha256(path)
    known_sha256(path)
    assert len(taken) == 2


def test_a_cache_that_cannot_be_written_to_remembers_nothing(path, cache, taken):
    cache.write_text("in the way")
    assert known_sha256(path) == known_sha256(path)
    assert len(taken) == 2


@pytest.mark.parametrize("content", [b"", b"[]", b"{}", b"not json"])
def test_a_damaged_memory_is_forgotten(path, cache, taken, content):
    known_sha256(path)
    (memory,) = (cache / "checksums").iterdir()
    files.write_bytes(memory, content)
    assert known_sha256(path) == hashlib.sha256(CONTENT).hexdigest()
    assert len(taken) == 2


def test_no_flipped_bit_of_the_memory_is_believed(path, cache):
    known_sha256(path)
    (memory,) = (cache / "checksums").iterdir()
    for flipped in flips(memory.read_bytes()):
        memory.write_bytes(flipped)
        assert known_sha256(path) == hashlib.sha256(CONTENT).hexdigest()


def test_a_time_is_settled_when_it_is_neither_now_nor_just_before():
    now = time.time_ns()
    assert not is_settled(now)
    assert not is_settled(now - 10**9)
    assert is_settled(now - 10**10)
    # A clock that was wrong: whoever writes the file again will give it another time.
    assert is_settled(now + 10**12)
