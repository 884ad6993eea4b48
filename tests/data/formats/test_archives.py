import gzip
import io
import os
import stat
import struct
import tarfile
import zipfile
import zlib

import pytest

from tests.data.mutants import mutants, num_read
from unbraid.data.formats import archives
from unbraid.data.formats.archives import Archive, Folder, Member, container
from unbraid.errors import DataError

FILES = {"top/b.txt": b"second", "top/a.txt": b"first" * 100, "top/deep/c.bin": bytes(range(256)) * 4, "readme": b""}


def zipped(files, method=zipfile.ZIP_DEFLATED):
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", method) as archive:
        archive.mkdir("top")
        for name, content in files.items():
            archive.writestr(zipfile.ZipInfo(name), content, method)
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


FORMS = {
    "deflated zip": zipped,
    "stored zip": lambda files: zipped(files, zipfile.ZIP_STORED),
    "tar": tarred,
    "old tar": lambda files: tarred(files, format=tarfile.GNU_FORMAT),
    "gzipped tar": lambda files: gzip.compress(tarred(files)),
}
every_form = pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "some.archive"


@every_form
def test_files_come_by_name_and_hold_what_was_put_there(path, form):
    path.write_bytes(form(FILES))
    source = container(path)
    members = source.members()
    assert [member.name for member in members] == ["readme", "top/a.txt", "top/b.txt", "top/deep/c.bin"]
    assert [member.num_bytes for member in members] == [0, 500, 6, 1024]
    assert list(source.contents(members)) == [FILES[member.name] for member in members]
    assert list(source.contents(members[::-1])) == [FILES[member.name] for member in members[::-1]]


def test_a_folder_is_read_like_an_archive(tmp_path):
    for name, content in FILES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(content)
    (tmp_path / "top" / "link.txt").symlink_to(tmp_path / "readme")
    os.mkfifo(tmp_path / "pipe")
    source = container(tmp_path)
    members = source.members()
    assert [member.name for member in members] == ["readme", "top/a.txt", "top/b.txt", "top/deep/c.bin", "top/link.txt"]
    assert list(source.contents(members)) == [*(FILES[member.name] for member in members[:-1]), b""]
    assert source.named(members[1]) == str(tmp_path / "top/a.txt")


def test_members_of_an_archive_are_named_with_it(path):
    assert Archive(path).named(Member("a.txt", 1)) == f"a.txt in {path}"


@every_form
def test_the_same_files_are_listed_alike_in_whatever_order_they_were_added(path, form):
    path.write_bytes(form(FILES))
    names = [member.name for member in Archive(path).members()]
    path.write_bytes(form(dict(reversed(FILES.items()))))
    assert [member.name for member in Archive(path).members()] == names


@pytest.mark.parametrize(
    "name", ["../up", "top/../../up", "/etc/passwd", "top\\a", "..\\up", "C:up", "c:/up", "top/\nb", "..", "top/.."]
)
@every_form
def test_names_that_lead_elsewhere_are_refused(path, form, name):
    path.write_bytes(form({"fine": b"", name: b"escaped"}))
    with pytest.raises(DataError, match="not a plain name") as error:
        Archive(path).members()
    assert str(path) in str(error.value)
    assert ascii(name).strip("'") in str(error.value)


@every_form
def test_a_dot_and_doubled_slashes_lead_nowhere_else(path, form):
    path.write_bytes(form({"./top//a": b"here"}))
    (member,) = Archive(path).members()
    assert member.name == "top/a"
    assert list(Archive(path).contents([member])) == [b"here"]


@every_form
@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_two_files_of_one_name_are_refused(path, form):
    path.write_bytes(form({"top/a": b"one", "./top/a": b"two"}))
    with pytest.raises(DataError, match="top/a twice"):
        Archive(path).members()


@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.CHRTYPE, tarfile.BLKTYPE, tarfile.FIFOTYPE])
def test_links_and_devices_in_a_tar_are_refused(path, kind):
    about = tarfile.TarInfo("top/odd")
    about.type, about.linkname = kind, "/etc/passwd"
    with tarfile.open(path, "w") as archive:
        archive.addfile(about)
    with pytest.raises(DataError, match=r"some\.archive holds top/odd, which is a link"):
        Archive(path).members()


@pytest.mark.parametrize("kind", [stat.S_IFLNK, stat.S_IFCHR, stat.S_IFIFO])
def test_links_and_devices_in_a_zip_are_refused(path, kind):
    about = zipfile.ZipInfo("top/odd")
    about.external_attr = (kind | 0o777) << 16
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(about, "/etc/passwd")
    with pytest.raises(DataError, match=r"some\.archive holds top/odd, which is a link"):
        Archive(path).members()


def test_an_encrypted_member_is_refused(path):
    content = bytearray(zipped({"secret": b"?"}))
    content[content.rindex(b"PK\x01\x02") + 8] |= 1
    path.write_bytes(content)
    with pytest.raises(DataError, match="secret, which is encrypted"):
        Archive(path).members()


@pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_other_packings_are_refused(path, method):
    path.write_bytes(zipped({"a": b"1"}, method))
    with pytest.raises(DataError, match=f"method {method}"):
        Archive(path).members()


def test_a_member_that_grows_like_a_bomb_is_refused_before_it_is_unpacked(path, monkeypatch):
    path.write_bytes(zipped({"bomb": bytes(2**24)}))
    (member,) = Archive(path).members()
    monkeypatch.setattr(zlib, "decompressobj", lambda *_: pytest.fail("it was unpacked"))
    with pytest.raises(DataError, match=r"bomb in .*some\.archive grows to more than 200 times"):
        list(Archive(path).contents([member]))


def test_a_gzipped_tar_that_grows_like_a_bomb_is_refused_on_the_way(path):
    path.write_bytes(gzip.compress(tarred({"bomb": bytes(2**24)})))
    with pytest.raises(DataError, match=r"some\.archive is not a readable.*more than 200 times"):
        Archive(path).members()


@every_form
def test_a_member_larger_than_asked_for_is_refused_before_it_is_read(path, form):
    path.write_bytes(form(FILES))
    source = Archive(path, max_member_bytes=1000)
    assert len(source.members()) == len(FILES)
    with pytest.raises(DataError, match=r"top/deep/c\.bin in .*some\.archive takes 1,02[0-9] bytes; at most 1,000"):
        list(source.contents(source.members()))


def test_a_file_larger_than_asked_for_is_refused_before_it_is_read(tmp_path):
    (tmp_path / "a").write_bytes(bytes(1001))
    source = Folder(tmp_path, max_member_bytes=1000)
    with pytest.raises(DataError, match="takes 1,001 bytes"):
        list(source.contents(source.members()))


def test_members_that_share_their_packed_bytes_are_refused(path):
    content = zipped({"a": b"x" * 400}, zipfile.ZIP_STORED)
    start = content.index(b"PK\x01\x02", content.index(b"xxx"))
    entry = content[start : content.index(b"PK\x05\x06")]
    second = entry.replace(b"a", b"b", 1) if b"a" in entry else pytest.fail("no name")
    end = struct.pack("<4s4H2IH", b"PK\x05\x06", 0, 0, 2, 2, 2 * len(entry), start, 0)
    path.write_bytes(content[:start] + entry + second + end)
    with pytest.raises(DataError, match="take more bytes than it has"):
        Archive(path).members()


def test_a_tar_header_of_any_size_is_not_believed(path):
    # A pax header that promises eight gigabytes of records.
    header = bytearray(tarfile.TarInfo("x").tobuf(tarfile.USTAR_FORMAT))
    header[124:136] = b"77777777777\0"
    header[156:157] = tarfile.XHDTYPE
    header[148:156] = b"%06o\0 " % (sum(header[:148]) + 8 * 32 + sum(header[156:]))
    path.write_bytes(bytes(header) + bytes(2048))
    with pytest.raises(DataError, match="header of .* bytes is promised"):
        Archive(path).members()


@every_form
def test_an_archive_that_is_cut_short_is_refused(path, form):
    content = form(FILES)
    # A tar goes on with zeros, which nobody misses.
    for end in range(0, len(content.rstrip(b"\0")), 97):
        path.write_bytes(content[:end])
        with pytest.raises(DataError, match=r"some\.archive"):
            list(Archive(path).contents(Archive(path).members()))


def test_a_tar_that_ends_between_two_members_is_refused(path):
    content = tarred(FILES)
    path.write_bytes(content[: content.index(b"top/a.txt")])
    with pytest.raises(DataError, match="mark of the end"):
        Archive(path).members()


def test_a_damaged_header_in_a_tar_is_not_the_end(path):
    content = bytearray(tarred(FILES))
    content[content.index(b"top/a.txt")] ^= 1
    path.write_bytes(content)
    with pytest.raises(DataError, match="neither a header nor the mark"):
        Archive(path).members()


@pytest.mark.parametrize("form", [FORMS["deflated zip"], FORMS["stored zip"], FORMS["gzipped tar"]])
def test_a_flipped_bit_is_noticed(path, form):
    content = bytearray(form({"a": os.urandom(1000)}))
    content[500] ^= 1
    path.write_bytes(content)
    with pytest.raises(DataError, match=r"some\.archive"):
        list(Archive(path).contents(Archive(path).members()))


@pytest.mark.parametrize("content", [b"", b"neither", b"PK\x03\x04 no more", b"\x1f\x8b no more"])
def test_what_is_no_archive_is_refused(path, content):
    path.write_bytes(content)
    with pytest.raises(DataError, match=r"some\.archive is not a readable zip or tar"):
        Archive(path).members()


def test_a_missing_file_is_named(path):
    with pytest.raises(DataError, match=r"no file .*some\.archive"):
        container(path).members()


def test_a_file_that_goes_or_changes_while_the_folder_is_read_is_named(tmp_path):
    (tmp_path / "a").write_bytes(b"1")
    source = Folder(tmp_path)
    members = source.members()
    (tmp_path / "a").write_bytes(b"12")
    with pytest.raises(DataError, match=r"/a had 1 bytes"):
        list(source.contents(members))
    (tmp_path / "a").unlink()
    with pytest.raises(DataError, match=r"/a cannot be read \(No such file"):
        list(source.contents(members))
    (tmp_path / "a").symlink_to("nowhere")
    with pytest.raises(DataError, match=r"/a cannot be read \(No such file"):
        source.members()


def test_more_members_than_any_data_set_has_are_refused(path, monkeypatch):
    monkeypatch.setattr(archives, "_MAX_MEMBERS", 3)
    path.write_bytes(zipped(FILES))
    with pytest.raises(DataError, match="more than 3 files"):
        Archive(path).members()


def test_two_thousand_damaged_archives_are_read_or_refused(tmp_path):
    def parse(path):
        source = Archive(path)
        members = source.members()
        assert sum(map(len, source.contents(members))) == sum(member.num_bytes for member in members)

    few = {"top/a": b"first" * 20, "b": bytes(range(256))}
    deflated, stored, plain = zipped(few), zipped(few, zipfile.ZIP_STORED), tarred(few)
    with_comment = tarred(few, format=tarfile.PAX_FORMAT, pax_headers={"comment": "x" * 600})
    with_long_name = tarred({"long" * 60: b"name", **few}, format=tarfile.GNU_FORMAT)
    makers = [
        lambda damage: damage(deflated),
        lambda damage: damage(stored),
        lambda damage: damage(with_comment),
        lambda damage: damage(with_long_name),
        lambda damage: damage(gzip.compress(plain, 1)),
        lambda damage: gzip.compress(damage(plain), 1),
    ]
    # Some edits fall on the content of a tar, which has no checksum, or behind the end.
    assert 100 < num_read(parse, mutants(makers, seed=0), tmp_path / "mutants", "some.archive", 2**22) < 1_900
