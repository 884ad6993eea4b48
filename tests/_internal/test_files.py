"""A file is the old one or the new one, never a half; a lock has one holder."""

import errno
import json
import math
import os
import signal
import socket
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from unbraid._internal import files
from unbraid.errors import SpecError


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_a_path_is_made_absolute(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", "/home/me")
    monkeypatch.chdir(tmp_path)
    assert files.absolute("~/data") == "/home/me/data"
    assert files.absolute("data") == str(tmp_path / "data")
    assert files.absolute("/data") == "/data"


def test_the_home_of_nobody_is_a_folder_with_an_odd_name(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert files.absolute("~nobody-of-that-name/data") == str(tmp_path / "~nobody-of-that-name" / "data")


# Writing


def test_a_written_file_is_all_there(tmp_path):
    path = tmp_path / "new" / "folders" / "a.bin"
    with files.atomic_writer(path) as stream:
        stream.write(b"one")
        stream.write(b"two")
        assert not path.exists()
    assert path.read_bytes() == b"onetwo"
    assert names(path.parent) == ["a.bin"]


def test_until_the_block_ends_the_old_file_stands(tmp_path):
    path = tmp_path / "a.txt"
    files.write_text(path, "old")
    with files.atomic_writer(path) as stream:
        stream.write(b"new")
        assert path.read_text() == "old"
    assert path.read_text() == "new"


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_an_error_leaves_the_old_file_and_nothing_else(tmp_path, error):
    path = tmp_path / "a.txt"
    files.write_text(path, "old")
    with pytest.raises(error), files.atomic_writer(path) as stream:  # noqa: PT012 - the block is what is tested
        stream.write(b"half")
        raise error
    assert path.read_text() == "old"
    assert names(tmp_path) == ["a.txt"]


def test_bytes_reach_the_disk_before_the_name_and_the_name_before_the_end(tmp_path, monkeypatch):
    events = []

    def fsync(descriptor):
        events.append("flush folder" if stat.S_ISDIR(os.fstat(descriptor).st_mode) else "flush file")

    def rename(source, target):
        events.append("rename")
        Path(source).rename(target)

    monkeypatch.setattr(os, "fsync", fsync)
    monkeypatch.setattr(os, "replace", rename)
    files.write_text(tmp_path / "a.txt", "text")
    assert events == ["flush file", "rename", "flush folder"]


def test_a_name_that_cannot_be_taken_leaves_nothing(tmp_path):
    (tmp_path / "taken").mkdir()
    (tmp_path / "taken" / "inside").touch()
    with pytest.raises(OSError):
        files.write_text(tmp_path / "taken", "new")
    assert names(tmp_path) == ["taken"]


@pytest.mark.parametrize(
    ("name", "complaint"),
    [
        ("folder", "is a folder"),
        ("x" * 305 + ".json", "name too long"),
        ("a.txt/b.json", "cannot be written"),
        ("\0", "null"),
    ],
)
def test_a_place_that_cannot_be_written_is_told_beforehand(tmp_path, name, complaint):
    (tmp_path / "folder").mkdir()
    (tmp_path / "a.txt").touch()
    with pytest.raises(SpecError, match=f"(?i){complaint}"):
        files.check_writable(tmp_path / name)
    assert names(tmp_path) == ["a.txt", "folder"]


def test_a_folder_that_takes_no_files_is_told_beforehand(tmp_path, monkeypatch):
    files.check_writable(tmp_path / "new" / "a.txt")
    assert names(tmp_path) == []

    def refuse(path, *args, **kwargs):
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(Path, "touch", refuse)
    with pytest.raises(
        SpecError,
        match=r"a\.txt cannot",
    ):
        files.check_writable(tmp_path / "a.txt")


def test_a_name_as_long_as_the_system_allows_is_written(tmp_path):
    files.check_writable(tmp_path / ("x" * 255))
    files.write_text(tmp_path / ("x" * 255), "text")
    assert names(tmp_path) == ["x" * 255]


def test_two_writers_of_one_file_do_not_mix(tmp_path):
    path = tmp_path / "a.txt"
    with files.atomic_writer(path) as one, files.atomic_writer(path) as two:
        one.write(b"one one one")
        two.write(b"two")
    assert path.read_bytes() == b"one one one"  # the outer block ends last
    assert names(tmp_path) == ["a.txt"]


@pytest.mark.parametrize(("umask", "mode"), [(0o022, 0o644), (0o077, 0o600), (0o002, 0o664)])
def test_a_file_may_be_read_by_whom_the_umask_lets(tmp_path, umask, mode):
    before = os.umask(umask)
    try:
        files.write_text(tmp_path / "a.txt", "text")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "a.txt").stat().st_mode) == mode


def test_the_umask_is_left_alone_even_for_a_moment(tmp_path, monkeypatch):
    # It belongs to the process: in that moment another thread's new files would be open to all.
    monkeypatch.setattr(os, "umask", lambda mask: pytest.fail("changed the umask"))
    files.write_text(tmp_path / "a.txt", "text")


def test_text_is_utf8_whatever_the_locale(tmp_path):
    files.write_text(tmp_path / "a.txt", "β-VAE")
    assert (tmp_path / "a.txt").read_bytes() == "β-VAE".encode()


def test_json_is_read_back_bit_for_bit(tmp_path):
    content = {"name": "β", "numbers": [0.1, 1e-300, -0.0, 5], "nothing": None}
    files.write_json(tmp_path / "a.json", content)
    assert json.loads((tmp_path / "a.json").read_text()) == content


@pytest.mark.parametrize("number", [math.nan, math.inf, -math.inf])
def test_json_refuses_what_json_lacks_and_keeps_the_old_file(tmp_path, number):
    path = tmp_path / "a.json"
    files.write_json(path, {"value": 1})
    with pytest.raises(ValueError, match="not JSON compliant"):
        files.write_json(path, {"value": number})
    assert json.loads(path.read_text()) == {"value": 1}


def test_sha256_is_the_published_one(tmp_path):
    # FIPS 180-2, appendix B.1.
    files.write_bytes(tmp_path / "a", b"abc")
    assert files.sha256(tmp_path / "a") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"


# What the dead have left

WRITER = """
import sys, time
from pathlib import Path
from unbraid._internal import files
with files.atomic_writer(Path(sys.argv[1])) as stream:
    stream.write(b"half")
    stream.flush()
    print("writing", flush=True)
    time.sleep(60)
"""


def test_what_a_killed_writer_has_left_is_removed_by_the_next_and_what_a_living_one_writes_is_not(tmp_path):
    path = tmp_path / "a.txt"
    files.write_text(path, "old")
    with subprocess.Popen([sys.executable, "-c", WRITER, str(path)], stdout=subprocess.PIPE, text=True) as writer:
        try:
            assert writer.stdout.readline() == "writing\n"
            assert len(names(tmp_path)) == 2
            files.write_text(path, "new")
            files.sweep(tmp_path)
            assert len(names(tmp_path)) == 2
        finally:
            writer.send_signal(signal.SIGKILL)
    assert len(names(tmp_path)) == 2
    files._swept.clear()  # as in another process
    files.write_text(tmp_path / "b.txt", "another file of the folder")
    assert names(tmp_path) == ["a.txt", "b.txt"]
    assert path.read_text() == "new"


def test_a_writer_whose_new_file_is_swept_before_it_holds_it_makes_another(tmp_path, monkeypatch):
    swept, lock = [], files.lock_descriptor

    def sweep_first(descriptor, **options):
        if not swept:
            swept.append(names(tmp_path))
            files.sweep(tmp_path)
            assert names(tmp_path) == []
        return lock(descriptor, **options)

    monkeypatch.setattr(files, "lock_descriptor", sweep_first)
    files.write_text(tmp_path / "a.txt", "text")
    assert len(swept[0]) == 1
    assert names(tmp_path) == ["a.txt"]
    assert (tmp_path / "a.txt").read_text() == "text"


def test_where_there_are_no_locks_files_are_written_and_nothing_is_swept(tmp_path, monkeypatch):
    def refuse(descriptor, **options):
        raise OSError(errno.ENOLCK, "No locks available")

    left = tmp_path / f".a.txt.{'0' * 32}.part"
    left.touch()
    monkeypatch.setattr(files, "lock_descriptor", refuse)
    files.write_text(tmp_path / "a.txt", "text")
    assert names(tmp_path) == [left.name, "a.txt"]


def test_a_folder_is_looked_through_once_and_not_before_each_write(tmp_path, monkeypatch):
    looked, iterdir = [], Path.iterdir
    monkeypatch.setattr(Path, "iterdir", lambda folder: looked.append(folder) or iterdir(folder))
    for number in range(5):
        files.write_text(tmp_path / f"{number}.txt", "text")
    assert looked == [tmp_path]


def test_only_what_is_named_like_ours_is_swept(tmp_path):
    others = ["data.zip.part", "images.part", ".mine.part", f"a.{'0' * 32}.part", f".a.{'0' * 31}.part"]
    for name in others:
        (tmp_path / name).touch()
    files.write_text(tmp_path / "a.txt", "text")
    assert names(tmp_path) == sorted(["a.txt", *others])


# Disks that are full


def test_a_write_that_fails_says_which_file_it_was(tmp_path):
    with pytest.raises(OSError, match="No space left") as caught, files.atomic_writer(tmp_path / "a.txt"):
        raise OSError(errno.ENOSPC, "No space left on device")  # as `write` does: without a name
    assert caught.value.filename == str(tmp_path / "a.txt")
    assert names(tmp_path) == []


def test_an_error_that_names_another_file_keeps_its_name(tmp_path):
    with pytest.raises(FileNotFoundError) as caught, files.atomic_writer(tmp_path / "a.txt"):
        (tmp_path / "b.txt").open()
    assert caught.value.filename == str(tmp_path / "b.txt")


def test_that_the_half_cannot_be_removed_does_not_hide_why_it_is_a_half(tmp_path, monkeypatch):
    def refuse(path, *args, **kwargs):
        raise OSError(errno.EROFS, "Read-only file system", str(path))

    monkeypatch.setattr(Path, "unlink", refuse)
    with pytest.raises(OSError, match="Input/output error"), files.atomic_writer(tmp_path / "a.txt"):
        raise OSError(errno.EIO, "Input/output error")


# ---- reading


def special(path, kind):
    match kind:
        case "pipe":
            os.mkfifo(path)
        case "device":
            path.symlink_to("/dev/zero")
        case "socket":
            with socket.socket(socket.AF_UNIX) as server:
                server.bind(str(path))
    return path


@pytest.mark.parametrize("mode", ["rb", "r", "ab", "rb+", "wb"])
@pytest.mark.parametrize("kind", ["pipe", "device", "socket"])
def test_only_regular_files_are_opened(tmp_path, monkeypatch, kind, mode):
    monkeypatch.chdir(tmp_path)  # the name of a socket must be short
    with pytest.raises(OSError, match="file: 'file'"):
        files.opened(special(Path("file"), kind), mode)


def test_a_folder_is_refused_as_ever_and_what_is_not_there_too(tmp_path):
    with pytest.raises(IsADirectoryError):
        files.opened(tmp_path)
    with pytest.raises(FileNotFoundError):
        files.opened(tmp_path / "absent")


def test_a_link_to_a_file_is_followed_and_a_new_file_has_the_usual_mode(tmp_path):
    with files.opened(tmp_path / "file", "wb") as stream:
        stream.write(b"content")
    (tmp_path / "plain").touch()
    assert (tmp_path / "file").stat().st_mode == (tmp_path / "plain").stat().st_mode
    (tmp_path / "link").symlink_to(tmp_path / "file")
    assert files.read_bytes(files.regular(tmp_path / "link")) == b"content"


@pytest.mark.parametrize("text", ["", "{", "[" * 100_000, "\udcff", "9" * 5_000])
def test_what_is_no_json_is_a_value_error(tmp_path, text):
    (tmp_path / "a.json").write_bytes(text.encode(errors="surrogateescape"))
    with pytest.raises(ValueError, match=r"."):
        files.read_json(tmp_path / "a.json")


def test_a_sealed_record_is_read_back_and_one_that_was_changed_is_not(tmp_path):
    record = {"name": "β", "sizes": [1, 2.5, None], "inner": {"a": True}}
    files.write_sealed(path := tmp_path / "record.json", record)
    assert files.read_sealed(path) == record
    for changed in ('{"name": "b"}', "[]", "null", path.read_text().replace("2.5", "2.25")):
        path.write_text(changed)
        with pytest.raises(ValueError, match="SHA-256"):
            files.read_sealed(path)


@pytest.mark.parametrize("name", ["a\0b", "\ud800"])
def test_a_name_that_no_file_can_have_is_one_that_is_not_there(name):
    with pytest.raises(FileNotFoundError, match="file can"):
        files.opened(Path(name))
