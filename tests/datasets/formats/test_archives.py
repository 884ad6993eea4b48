import gzip
import io
import os
import tarfile
import zipfile

import pytest

from tests.datasets.mutants import assert_damaged_are_read_or_refused
from unbraid.datasets.formats import archives
from unbraid.datasets.formats.archives import ArchiveMember, Folder, Tar, Zip
from unbraid.errors import DataError

FILES = {"top/b.txt": b"second", "top/a.txt": b"first" * 100, "top/deep/c.bin": bytes(range(256)) * 4, "readme": b""}


def zipped(files):
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.mkdir("top")
        for name, content in files.items():
            archive.writestr(name, content)
    return stream.getvalue()


def tarred(files, **options):
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w", **options) as archive:
        folder = tarfile.TarInfo("top")
        folder.type = tarfile.DIRTYPE
        archive.addfile(folder)
        for name, content in files.items():
            about = tarfile.TarInfo(name)
            about.size = len(content)
            archive.addfile(about, io.BytesIO(content))
    return stream.getvalue()


@pytest.fixture
def path(tmp_path):
    return tmp_path / "some.archive"


@pytest.mark.parametrize(
    ("content", "opened"),
    [
        (zipped(FILES), Zip),
        (tarred(FILES), Tar),
        (tarred(FILES, format=tarfile.GNU_FORMAT), Tar),
        (tarred(dict(reversed(FILES.items()))), Tar),
        (gzip.compress(tarred(FILES)), lambda path: Tar(path, is_gzipped=True)),
    ],
    ids=["zip", "tar", "old tar", "tar in another order", "gzipped tar"],
)
def test_files_come_by_name_and_hold_what_was_put_there(path, content, opened):
    path.write_bytes(content)
    source = opened(path)
    members = source.members()
    assert [member.name for member in members] == ["readme", "top/a.txt", "top/b.txt", "top/deep/c.bin"]
    assert [member.num_bytes for member in members] == [0, 500, 6, 1024]
    assert list(source.contents(members)) == [FILES[member.name] for member in members]
    assert list(source.contents(members[::-1])) == [FILES[member.name] for member in members[::-1]]
    assert source.named(ArchiveMember("a.txt", 1)) == f"a.txt in {path}"


def test_a_folder_is_read_like_an_archive(tmp_path):
    for name, content in FILES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(content)
    (tmp_path / "top" / "link.txt").symlink_to(tmp_path / "readme")
    os.mkfifo(tmp_path / "pipe")
    source = Folder(tmp_path)
    members = source.members()
    assert [member.name for member in members] == ["readme", "top/a.txt", "top/b.txt", "top/deep/c.bin", "top/link.txt"]
    assert list(source.contents(members)) == [*(FILES[member.name] for member in members[:-1]), b""]
    assert source.named(members[1]) == str(tmp_path / "top/a.txt")


@pytest.mark.parametrize(
    "name", ["../up", "top/../../up", "/etc/passwd", "top\\a", "..\\up", "top/\nb", "..", "top/.."]
)
def test_names_that_lead_elsewhere_are_refused(path, name):
    path.write_bytes(tarred({"fine": b"", name: b"escaped"}))
    with pytest.raises(DataError, match="relative path") as error:
        Tar(path).members()
    assert str(path) in str(error.value)
    assert ascii(name) in str(error.value)


def test_a_dot_and_doubled_slashes_lead_nowhere_else(path):
    path.write_bytes(tarred({"./top//a": b"here"}))
    (member,) = Tar(path).members()
    assert member.name == "top/a"
    assert list(Tar(path).contents([member])) == [b"here"]


def test_two_files_of_one_name_are_refused(path):
    path.write_bytes(tarred({"top/a": b"one", "./top/a": b"two"}))
    with pytest.raises(DataError, match="top/a twice"):
        Tar(path).members()


@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.CHRTYPE, tarfile.BLKTYPE, tarfile.FIFOTYPE])
def test_links_and_devices_are_refused(path, kind):
    about = tarfile.TarInfo("top/odd")
    about.type, about.linkname = kind, "/etc/passwd"
    with tarfile.open(path, "w") as archive:
        archive.addfile(about)
    with pytest.raises(DataError, match=r"some\.archive contains 'top/odd'"):
        Tar(path).members()


def test_a_member_larger_than_asked_for_is_refused_before_it_is_read(path, monkeypatch):
    monkeypatch.setattr(archives, "MAX_MEMBER_BYTES", 1000)
    path.write_bytes(tarred(FILES))
    with pytest.raises(DataError, match=r"some\.archive has 1,024"):
        list(Tar(path).contents(Tar(path).members()))


def test_a_file_larger_than_asked_for_is_refused_before_it_is_read(tmp_path):
    (tmp_path / "a").write_bytes(bytes(1001))
    source = Folder(tmp_path, max_member_bytes=1000)
    with pytest.raises(DataError, match="has 1,001 bytes"):
        list(source.contents(source.members()))


def test_a_tar_header_of_any_size_is_not_believed(path):
    # A pax header that promises eight gigabytes of records.
    header = bytearray(tarfile.TarInfo("x").tobuf(tarfile.USTAR_FORMAT))
    header[124:136] = b"77777777777\0"
    header[156:157] = tarfile.XHDTYPE
    header[148:156] = b"%06o\0 " % (sum(header[:148]) + 8 * 32 + sum(header[156:]))
    path.write_bytes(bytes(header) + bytes(2048))
    with pytest.raises(DataError, match="header at"):
        Tar(path).members()


def test_a_tar_that_is_cut_short_is_refused(path):
    content = tarred(FILES)
    # A tar goes on with zeros, which nobody misses.
    for end in range(0, len(content.rstrip(b"\0")), 97):
        path.write_bytes(content[:end])
        with pytest.raises(DataError, match=r"some\.archive"):
            list(Tar(path).contents(Tar(path).members()))


def test_a_damaged_header_in_a_tar_is_not_the_end(path):
    content = bytearray(tarred(FILES))
    content[content.index(b"top/a.txt")] ^= 1
    path.write_bytes(content)
    with pytest.raises(DataError, match="neither a header"):
        Tar(path).members()


@pytest.mark.parametrize("content", [b"", b"neither", None])
def test_what_is_no_tar_is_refused(path, content):
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(DataError, match=r"some\.archive"):
        Tar(path).members()


def test_a_file_that_goes_or_changes_while_the_folder_is_read_is_named(tmp_path):
    (tmp_path / "a").write_bytes(b"1")
    source = Folder(tmp_path)
    members = source.members()
    (tmp_path / "a").write_bytes(b"12")
    with pytest.raises(DataError, match="/a .* 1 bytes"):
        list(source.contents(members))
    (tmp_path / "a").unlink()
    with pytest.raises(DataError, match="/a cannot"):
        list(source.contents(members))
    (tmp_path / "a").symlink_to("nowhere")
    with pytest.raises(DataError, match="/a cannot"):
        source.members()


def test_damaged_tars_are_read_or_refused(tmp_path):
    def parse(path):
        members = Tar(path).members()
        assert sum(map(len, Tar(path).contents(members))) == sum(member.num_bytes for member in members)

    few = {"top/a": b"first" * 20, "b": bytes(range(256))}
    with_comment = tarred(few, format=tarfile.PAX_FORMAT, pax_headers={"comment": "x" * 600})
    with_long_name = tarred({"long" * 60: b"name", **few}, format=tarfile.GNU_FORMAT)
    some = [tarred(few), with_comment, with_long_name]
    assert_damaged_are_read_or_refused(parse, some, tmp_path, "some.archive", 2**22)
