import hashlib

from unbraid.datasets.formats.hashed_stream import HashedStream


def test_the_checksum_is_that_of_all_that_was_written():
    stream = HashedStream(None)
    assert stream.write(b"one ") == 4
    stream.write(memoryview(b"two"))
    assert stream.sha256 == hashlib.sha256(b"one two").hexdigest()


def test_what_is_written_reaches_the_stream(tmp_path):
    with (tmp_path / "file").open("wb") as target:
        stream = HashedStream(target)
        stream.write(b"one two")
    assert (tmp_path / "file").read_bytes() == b"one two"
    assert stream.sha256 == hashlib.sha256(b"one two").hexdigest()
