"""Published files get to their place whole and verified, or not at all."""

import errno
import hashlib
import json
import logging
import os
import stat
from pathlib import Path

import pytest

from tests.datasets.fetching.publications import CONTENT, SHA256, names, one_file, publication
from tests.datasets.flaky_server import Answer, FlakyServer
from unbraid._internal import files
from unbraid.datasets.fetching.fetch import fetch, fetched_folder
from unbraid.datasets.fetching.verification import PublishedFile, check_file, record_of
from unbraid.errors import DataError

# What comes of a fetch


def test_files_are_put_into_the_first_subfolder_of_the_cache_and_nothing_else_is_left(cache, caplog):
    caplog.set_level(logging.INFO)
    other = b"another file"
    with FlakyServer(CONTENT) as server, FlakyServer(other) as elsewhere:
        published = publication(
            PublishedFile("a.bin", server.url, 1_000_000, f"sha256:{SHA256}", "its owner"),
            PublishedFile("b.bin", elsewhere.url, checksum=f"md5:{hashlib.md5(other).hexdigest()}"),
        )
        paths = fetch(published)
    assert paths == (cache / "files" / "a-set" / "a.bin", cache / "files" / "a-set" / "b.bin")
    assert [path.read_bytes() for path in paths] == [CONTENT, other]
    assert fetched_folder(published) == cache / "files" / "a-set"
    assert names(cache) == [
        "files/a-set/.a.bin.lock",
        "files/a-set/.b.bin.lock",
        "files/a-set/a.bin",
        "files/a-set/b.bin",
    ]
    assert f"Fetched {paths[0]}: SHA-256 as published by its owner." in caplog.messages


def test_another_folder_can_be_named(tmp_path, cache, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with FlakyServer(CONTENT) as server:
        assert fetch(one_file(server), Path("mine")) == (tmp_path / "mine" / "a.bin",)
    assert names(tmp_path / "mine") == [".a.bin.lock", "a.bin"]
    assert not cache.exists()


def test_the_name_is_ours_whatever_the_server_calls_the_file(cache):
    headers = {"Content-Disposition": 'attachment; filename="../../escaped.bin"'}
    with FlakyServer(
        CONTENT, Answer(status=302, headers={"Location": "/..%2f..%2fescaped.bin", **headers}), Answer(headers=headers)
    ) as server:
        [path] = fetch(one_file(server))
    assert path.name == "a.bin"
    assert names(cache.parent) == ["cache/files/a-set/.a.bin.lock", "cache/files/a-set/a.bin"]


def test_the_bytes_reach_the_disk_before_the_name_and_the_name_before_the_end(monkeypatch):
    events = []
    replace_file = os.replace

    def fsync(descriptor):
        events.append("flush folder" if stat.S_ISDIR(os.fstat(descriptor).st_mode) else "flush file")

    def rename(source, target):
        events.append(f"rename to {Path(target).name}")
        replace_file(source, target)

    with FlakyServer(CONTENT) as server:
        monkeypatch.setattr(os, "fsync", fsync)
        monkeypatch.setattr(os, "replace", rename)
        fetch(one_file(server))
    about = ["flush file", "rename to a.bin.part.json", "flush folder"]
    assert events == [*about, "flush file", "rename to a.bin", "flush folder"]


def test_a_file_that_is_there_is_verified_and_not_asked_for(caplog):
    caplog.set_level(logging.INFO)
    with FlakyServer(CONTENT) as server:
        [path] = fetch(one_file(server))
        assert fetch(one_file(server)) == (path,)
        assert len(server.asked) == 1
    assert f"{path} is there: SHA-256 as published by its owner." in caplog.messages


def test_a_damaged_file_that_is_there_is_refused_and_left_for_its_owner_to_see(cache):
    with FlakyServer(CONTENT) as server:
        [path] = fetch(one_file(server))
        path.write_bytes(CONTENT[:-1] + b"?")
        with pytest.raises(DataError, match=rf"a-set/a\.bin has the SHA-256 \w+; expected {SHA256}, .*"):
            fetch(one_file(server))
        assert len(server.asked) == 1
        path.unlink()
        assert fetch(one_file(server)) == (path,)
    assert path.read_bytes() == CONTENT


def test_after_cuts_a_redirect_and_an_error_the_file_is_the_one_published():
    script = [
        Answer(cut_after=300_000),
        Answer(status=500),
        Answer(status=307, headers={"Location": "/mirror"}),
        Answer(cut_after=1),
    ]
    with FlakyServer(CONTENT, *script) as server:
        [path] = fetch(one_file(server))
    assert path.read_bytes() == CONTENT
    assert server.served == [300_000, 0, 0, 1, 699_999]


# Checksums


def test_a_wrong_checksum_is_refused_and_what_came_is_removed(cache):
    wrong = CONTENT[:-1] + b"?"
    found = hashlib.sha256(wrong).hexdigest()
    with FlakyServer(wrong) as server:
        with pytest.raises(
            DataError,
            match=rf"a\.bin, fetched from {server.url}, has the SHA-256 {found}; expected {SHA256}, .*were removed",
        ):
            fetch(one_file(server))
        assert len(server.asked) == 1
        assert names(cache) == ["files/a-set/.a.bin.lock"]
        server.content = CONTENT
        fetch(one_file(server))
        assert server.ranges == [None, None]


def test_two_ends_that_do_not_belong_together_are_fetched_anew_once(caplog):
    other = bytes(1_000_000)
    with FlakyServer(CONTENT, Answer(content=other, cut_after=400_000)) as server:
        [path] = fetch(one_file(server))
    assert path.read_bytes() == CONTENT
    assert server.served == [400_000, 600_000, 1_000_000]
    assert "Fetching the file again" in caplog.text


def test_and_not_twice(cache):
    with FlakyServer(CONTENT[::-1], Answer(cut_after=400_000), Answer(), Answer(cut_after=300_000)) as server:
        with pytest.raises(DataError, match=rf"expected {SHA256}"):
            fetch(one_file(server))
        assert server.served == [400_000, 600_000, 300_000, 700_000]
    assert names(cache) == ["files/a-set/.a.bin.lock"]


def test_where_no_checksum_is_published_the_first_one_is_recorded(cache, caplog):
    with FlakyServer(CONTENT) as server:
        unpublished = one_file(server, checksum=None)
        [path] = fetch(unpublished)
        record = json.loads(record_of(path).read_text())
        assert record.items() >= {"name": "a.bin", "url": server.url, "num_bytes": 1_000_000, "sha256": SHA256}.items()
        assert "a.bin. The SHA-256" in caplog.text
        assert (
            check_file(path, unpublished.files[0])
            == f"SHA-256 as recorded at the first fetch on {record['recorded'][:10]}"
        )
        # A second fetch compares, and so does one after the file is gone.
        path.unlink()
        assert fetch(unpublished) == (path,)
        assert json.loads(record_of(path).read_text()) == record


def test_a_file_that_is_no_longer_the_one_first_fetched_is_refused(cache):
    with FlakyServer(CONTENT) as server:
        unpublished = one_file(server, checksum=None)
        [path] = fetch(unpublished)
        path.unlink()
        server.content = CONTENT[::-1]
        with pytest.raises(
            DataError,
            match=(
                rf"expected {SHA256}, the SHA-256 as recorded at the first fetch on .*new version, delete "
                r".*-a\.bin\.json"
            ),
        ):
            fetch(unpublished)
        assert names(cache) == ["files/a-set/.a.bin.lock", f"files/seen/{record_of(path).name}"]
        record_of(path).unlink()
        fetch(unpublished)
    assert path.read_bytes() == CONTENT[::-1]


def test_a_failure_between_record_and_name_leaves_a_part_that_the_next_fetch_takes(cache, monkeypatch):
    with FlakyServer(CONTENT) as server:
        unpublished = one_file(server, checksum=None)
        with monkeypatch.context() as patch:
            patch.setattr(
                files, "put_in_place", lambda *_: (_ for _ in ()).throw(OSError(errno.EIO, "Input/output error"))
            )
            with pytest.raises(DataError, match=r"\(Input/output"):
                fetch(unpublished)
        [path] = fetch(unpublished)
        assert len(server.asked) == 1
    assert path.read_bytes() == CONTENT


# Files that are put there by hand

BY_HAND = PublishedFile("b.bin", None, num_bytes=3)


def test_a_file_without_an_address_is_asked_of_the_user_by_name_and_place(cache):
    told = "Ask for it at https://example.org/form."
    with pytest.raises(DataError) as refused:
        fetch(publication(BY_HAND, PublishedFile("c.bin", None), how_to_get=told))
    assert (
        str(refused.value)
        == f"A set: Ask for it at https://example.org/form. Save b.bin and c.bin in {cache}/files/a-set."
    )


def test_without_a_told_way_the_homepage_is_named(tmp_path):
    with pytest.raises(
        DataError,
        match=rf"A set: There is no direct download; see https://example\.org/set\. Save b\.bin in {tmp_path}/x\.",
    ):
        fetch(publication(BY_HAND), tmp_path / "x")


def test_what_can_be_downloaded_is_and_what_was_put_there_is_verified(cache):
    with FlakyServer(CONTENT) as server:
        both = publication(*one_file(server).files, BY_HAND)
        with pytest.raises(DataError, match=r"Save b\.bin in"):
            fetch(both)
        (fetched_folder(both) / "b.bin").write_bytes(b"four")
        with pytest.raises(DataError, match=r"b\.bin has 4"):
            fetch(both)
        (fetched_folder(both) / "b.bin").write_bytes(b"abc")
        assert [path.name for path in fetch(both)] == ["a.bin", "b.bin"]
        assert len(server.asked) == 1
