"""Fetching on full and read-only disks, by several processes at once, and after sudden ends."""

import errno
import http.client
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.datasets.fetching.publications import CONTENT, SHA256, names, one_file
from tests.datasets.flaky_server import FlakyServer
from unbraid._internal import files
from unbraid.datasets.fetching.fetch import fetch
from unbraid.errors import DataError

# Disks


def test_a_disk_without_room_is_told_with_what_to_do(monkeypatch, cache):
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=999_999))
    with FlakyServer(CONTENT) as server:
        reason = r"1,000,000 bytes .* 999,999 bytes .*"
        with pytest.raises(
            DataError,
            match=rf"a\.bin .* {cache}/files/a-set \({reason}\)\. .*UNBRAID_CACHE",
        ):
            fetch(one_file(server))
        monkeypatch.undo()
        monkeypatch.setenv("UNBRAID_CACHE", str(cache))
        fetch(one_file(server))


class FullDisk:
    """A stream onto a disk that has room for so many bytes."""

    def __init__(self, stream, room):
        self.stream, self.room = stream, room

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        self.stream.close()

    def write(self, content):
        self.stream.write(content[: self.room])
        if len(content) > self.room:
            raise OSError(errno.ENOSPC, "No space left on device")
        self.room -= len(content)


def test_a_disk_that_fills_up_keeps_what_came_for_when_there_is_room(monkeypatch, cache):
    open_file = files.opened

    def open_on_full_disk(path, mode="rb"):
        stream = open_file(path, mode)
        return FullDisk(stream, 600_000) if mode == "ab" else stream

    with FlakyServer(CONTENT) as server:
        with monkeypatch.context() as patch:
            patch.setattr(files, "opened", open_on_full_disk)
            with pytest.raises(
                DataError,
                match="set UNBRAID_CACHE",
            ):
                fetch(one_file(server))
        assert not (cache / "files" / "a-set" / "a.bin").exists()
        [path] = fetch(one_file(server))
        assert server.ranges == [None, "bytes=600000-"]
    assert path.read_bytes() == CONTENT


def make_read_only(folder, monkeypatch):
    """As root may write anywhere, the system's refusal is played."""
    folder.chmod(0o500)
    if os.geteuid() != 0:
        return
    open_file, make_folder = Path.open, Path.mkdir

    def refuse(do):
        def guarded(self, *args, **kwargs):
            writes = do is make_folder or any(letter in (args[0] if args else "r") for letter in "wax+")
            if writes and self.is_relative_to(folder) and not self.is_dir():
                raise PermissionError(errno.EACCES, "Permission denied")
            return do(self, *args, **kwargs)

        return guarded

    monkeypatch.setattr(Path, "open", refuse(open_file))
    monkeypatch.setattr(files, "opened", refuse(files.opened))
    monkeypatch.setattr(Path, "mkdir", refuse(make_folder))


def test_a_cache_that_cannot_be_written_to_is_told_before_anything_is_asked(cache, monkeypatch):
    cache.mkdir()
    make_read_only(cache, monkeypatch)
    with FlakyServer(CONTENT) as server:
        with pytest.raises(
            DataError,
            match=rf"a\.bin .* {cache}/files/a-set \(Permission denied\)\. .*UNBRAID_CACHE",
        ):
            fetch(one_file(server))
        assert server.asked == []


def test_a_cache_that_cannot_be_written_to_can_still_be_read(cache, monkeypatch):
    with FlakyServer(CONTENT) as server:
        [path] = fetch(one_file(server))
        make_read_only(path.parent, monkeypatch)
        assert fetch(one_file(server)) == (path,)
        path.parent.chmod(0o700)


# Several at once, and sudden ends

FETCHER = """
import logging, os, signal, sys, types

# The packages without what their __init__ imports: torch takes seconds, and fetching does without.
root = sys.argv[4]
for name, folder in (("unbraid", root), ("unbraid.datasets", f"{root}/datasets")):
    sys.modules[name] = types.ModuleType(name)
    sys.modules[name].__path__ = [folder]

from unbraid.datasets.fetching.fetch import fetch
from unbraid.datasets.fetching.verification import Publication, PublishedFile
from unbraid._internal.progress import listening

url, checksum, killed_after = sys.argv[1], sys.argv[2], int(sys.argv[3])
logging.basicConfig(level=logging.INFO, stream=sys.stdout, format="%(message)s")

def watch(event):
    if event.about.startswith("downloading") and event.done >= killed_after > 0:
        os.kill(os.getpid(), signal.SIGKILL)

with listening(watch):
    files = (PublishedFile("a.bin", url, checksum=checksum),)
    fetch(Publication("A set", "https://example.org", "CC0", files, ("a-set",)))
"""


def fetcher(server, killed_after=0):
    command = [
        sys.executable,
        "-c",
        FETCHER,
        server.url,
        f"sha256:{SHA256}",
        str(killed_after),
        str(Path(files.__file__).parents[1]),
    ]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def test_of_two_processes_that_ask_at_once_one_downloads_and_the_other_finds_it_whole(cache):
    with FlakyServer(CONTENT) as server:
        # Held until both are there.
        with files.locked(cache / "files" / "a-set" / ".a.bin.lock", wait=False, purpose="testing"):
            both = [fetcher(server), fetcher(server)]
            for process in both:
                assert process.stdout.readline() == "Waiting for another process, which is fetching a.bin.\n"
        said = [process.communicate()[0].splitlines()[-1] for process in both]
        assert [process.returncode for process in both] == [0, 0]
        path = cache / "files" / "a-set" / "a.bin"
        assert sorted(said) == sorted(
            [f"Fetched {path}: SHA-256 as published.", f"{path} is there: SHA-256 as published."]
        )
        assert server.served == [1_000_000]
    assert path.read_bytes() == CONTENT


def test_a_process_that_is_killed_leaves_a_part_that_the_next_one_goes_on_with(cache):
    with FlakyServer(CONTENT) as server:
        with fetcher(server, killed_after=400_000) as process:
            process.communicate()
        assert process.returncode == -signal.SIGKILL
        folder = cache / "files" / "a-set"
        assert names(folder) == [".a.bin.lock", "a.bin.part", "a.bin.part.json"]
        here = (folder / "a.bin.part").stat().st_size
        assert 0 < here < 1_000_000
        fetch(one_file(server))
        assert server.ranges == [None, f"bytes={here}-"]
        assert server.served[1] == 1_000_000 - here
    assert (folder / "a.bin").read_bytes() == CONTENT
    assert names(folder) == [".a.bin.lock", "a.bin"]


def test_an_interrupted_fetch_lets_go_and_can_be_taken_up(cache, monkeypatch):
    read = http.client.HTTPResponse.read1

    def interrupt(self, size):
        if (cache / "files" / "a-set" / "a.bin.part").stat().st_size > 0:
            raise KeyboardInterrupt
        return read(self, size)

    with FlakyServer(CONTENT) as server:
        with monkeypatch.context() as patch:
            patch.setattr(http.client.HTTPResponse, "read1", interrupt)
            with pytest.raises(KeyboardInterrupt):
                fetch(one_file(server))
        [path] = fetch(one_file(server))
        assert server.ranges[1] is not None
    assert path.read_bytes() == CONTENT
