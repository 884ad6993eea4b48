"""A file is the published one, or the one that was seen first, or it is refused."""

import contextlib
import hashlib
import json
import logging

import pytest

from tests.datasets.mutants import flips
from tests.told import told_to
from unbraid._internal import files
from unbraid.datasets.fetching.verification import (
    PublishedFile,
    check_file,
    record_of,
)
from unbraid.errors import DataError

CONTENT = b"abc"
# RFC 1321, appendix A.5, and FIPS 180-2, appendix B.1.
MD5 = "900150983cd24fb0d6963f7d28e17f72"
SHA256 = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
UNPUBLISHED = PublishedFile("a.bin", None)


@pytest.fixture
def path(tmp_path):
    folder = tmp_path / "mine"
    folder.mkdir()
    (folder / "a.bin").write_bytes(CONTENT)
    return folder / "a.bin"


def records(cache):
    return list((cache / "files" / "seen").iterdir())


@pytest.mark.parametrize(
    ("checksum", "source", "phrase"),
    [
        (f"md5:{MD5}", "torchvision", "md5 as published by torchvision"),
        (f"sha256:{SHA256}", "its owner", "SHA-256 as published by its owner"),
        (f"sha256:{SHA256.upper()}", "", "SHA-256 as published"),
    ],
)
def test_a_file_with_the_published_checksum_passes_and_nothing_is_written(path, cache, checksum, source, phrase):
    assert (
        check_file(path, PublishedFile("a.bin", None, num_bytes=3, checksum=checksum, checksum_source=source)) == phrase
    )
    assert [found.name for found in path.parent.iterdir()] == ["a.bin"]
    assert not cache.exists()


def test_another_checksum_is_refused_with_what_was_expected_and_found(path):
    path.write_bytes(b"abd")
    found = hashlib.md5(b"abd").hexdigest()
    with pytest.raises(
        DataError,
        match=rf"mine/a\.bin .* md5 {found}; expected {MD5}, .* X\.",
    ):
        check_file(path, PublishedFile("a.bin", None, checksum=f"md5:{MD5}", checksum_source="X"))


def test_another_length_is_refused_before_anything_is_read(path, monkeypatch):
    monkeypatch.setattr(hashlib, "new", lambda *_, **__: pytest.fail("took a checksum"))
    with pytest.raises(DataError, match=r"a\.bin has 3"):
        check_file(path, PublishedFile("a.bin", None, num_bytes=1234, checksum=f"md5:{MD5}"))


def test_where_none_is_published_the_first_one_is_recorded_in_the_cache_and_the_log_says_so(path, cache, caplog):
    assert check_file(path, UNPUBLISHED) == "SHA-256 recorded now, because no checksum is published"
    [record] = records(cache)
    content = json.loads(record.read_text())
    assert content.items() >= {"name": "a.bin", "url": None, "num_bytes": 3, "sha256": SHA256}.items()
    assert content["recorded"].endswith("+00:00")
    [said] = [entry for entry in caplog.records if entry.levelno >= logging.WARNING]
    assert said.getMessage() == (
        f"No checksum is published for a.bin. The SHA-256 of the file, {SHA256}, is recorded in {record} to verify the "
        "file in future."
    )
    # The user's folder is not ours to write to.
    assert [found.name for found in path.parent.iterdir()] == ["a.bin"]

    assert check_file(path, UNPUBLISHED) == f"SHA-256 as recorded when it was first seen on {content['recorded'][:10]}"


def test_a_file_that_is_no_longer_the_recorded_one_is_refused_until_the_record_is_deleted(path, cache):
    check_file(path, UNPUBLISHED)
    path.write_bytes(b"abd")
    [record] = records(cache)
    with pytest.raises(DataError, match=rf"expected {SHA256}, the SHA-256 as recorded when .*.* delete {record}"):
        check_file(path, UNPUBLISHED)
    record.unlink()
    assert check_file(path, UNPUBLISHED) == "SHA-256 recorded now, because no checksum is published"


def test_files_of_one_name_in_two_folders_have_a_record_each(path, tmp_path, cache):
    (tmp_path / "a.bin").write_bytes(b"another")
    check_file(path, UNPUBLISHED)
    check_file(tmp_path / "a.bin", UNPUBLISHED)
    assert len(records(cache)) == 2


@pytest.mark.parametrize("content", ["", "[]", "{}", "null", '{"sha256": "0"}', "\x00", "[" * 100_000])
def test_a_record_that_cannot_be_read_is_not_taken_for_none(path, content):
    files.write_text(record_of(path), content)
    with pytest.raises(DataError, match=r"a\.bin\.json"):
        check_file(path, UNPUBLISHED)


def test_with_a_flipped_bit_in_its_record_a_file_is_refused_or_what_it_was(path, cache):
    check_file(path, UNPUBLISHED)
    [record] = records(cache)
    for flipped in flips(record.read_bytes()):
        record.write_bytes(flipped)
        with contextlib.suppress(DataError):
            assert check_file(path, UNPUBLISHED).startswith("SHA-256 as recorded")


def test_a_cache_that_cannot_be_written_to_keeps_nobody_from_reading(path, monkeypatch, caplog):
    def refuse(*_):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(files, "write_json", refuse)
    assert check_file(path, UNPUBLISHED).startswith("not verified: no checksum is published, and ")
    assert "denied)" in caplog.text


@pytest.mark.parametrize(
    "published",
    [UNPUBLISHED, PublishedFile("a.bin", None, num_bytes=3), PublishedFile("a.bin", None, checksum="md5:0")],
)
@pytest.mark.parametrize("kind", ["missing", "folder"])
def test_what_cannot_be_read_is_refused_by_name(path, published, kind):
    path.unlink()
    if kind == "folder":
        path.mkdir()
    with pytest.raises(DataError, match=r"mine/a\.bin"):
        check_file(path, published)


def test_hashing_tells_how_far_it_is(path):
    seen = []
    path.write_bytes(bytes(2**22 + 1))
    with told_to(seen):
        check_file(path, UNPUBLISHED)
    assert seen == [("verifying a.bin", done, 2**22 + 1, "bytes") for done in (2**22, 2**22 + 1)]


# ---- has it changed?
