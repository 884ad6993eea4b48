import pytest

from tests.datasets.mutants import assert_damaged_are_read_or_refused
from unbraid.datasets.published import celeba
from unbraid.datasets.published.celeba import ATTRIBUTES, read_attributes, read_partition
from unbraid.errors import DataError

HEAD = "2\n" + " ".join(ATTRIBUTES) + " \n"
LINES = "000001.jpg" + " -1  1" * 20 + "\n000002.jpg  1" + " -1" * 39 + "\n"


@pytest.fixture
def path(tmp_path):
    return tmp_path / "list_attr_celeba.txt"


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_attributes_are_one_or_zero_by_name(path, end):
    path.write_bytes((HEAD + LINES).replace("\n", end).encode())
    assert read_attributes(path) == {"000001.jpg": bytes([0, 1] * 20), "000002.jpg": bytes([1] + [0] * 39)}


def test_the_official_names_are_forty_in_alphabetical_order():
    assert len(set(ATTRIBUTES)) == 40
    assert list(ATTRIBUTES) == sorted(ATTRIBUTES)


@pytest.mark.parametrize(
    ("content", "match"),
    [
        ("", "2.*0.*40"),
        (HEAD.replace("Young", "Old") + LINES, r"line 2 has 40"),
        (HEAD.replace("Young", "") + LINES, r"line 2 has 39"),
        (HEAD + LINES[:-3], "4.*40"),
        (HEAD + LINES.replace("-1", "0", 1), "3.*40"),
        (HEAD + LINES + LINES, r"5.*000001\.jpg"),
        (HEAD + LINES.replace("000002", "f\u00e4ce"), r"4.*000001\.jpg"),
    ],
)
def test_a_damaged_list_is_refused_with_its_line(path, content, match):
    path.write_text(content)
    with pytest.raises(DataError, match=match) as error:
        read_attributes(path)
    assert str(path) in str(error.value)


def test_parts_are_read_by_name(path):
    path.write_text("000002.jpg 1\n000001.jpg 0\n000009.jpg 2\n")
    assert read_partition(path) == {"000001.jpg": b"\0", "000002.jpg": b"\1", "000009.jpg": b"\2"}


@pytest.mark.parametrize(
    ("content", "match"), [("a.jpg 3\n", "line 1"), ("a.jpg 1\na.jpg", "line 2"), ("a.jpg 1\na.jpg 1", "second time")]
)
def test_a_damaged_partition_is_refused_with_its_line(path, content, match):
    path.write_text(content)
    with pytest.raises(DataError, match=match):
        read_partition(path)


def test_a_list_far_too_long_is_refused_before_it_is_read(path, monkeypatch):
    monkeypatch.setattr(celeba, "_MAX_BYTES", 100)
    path.write_text(HEAD + LINES)
    with pytest.raises(DataError, match="most 100"):
        read_attributes(path)


def test_a_list_that_is_not_there_is_named(path):
    with pytest.raises(DataError, match=r"list_attr_celeba\.txt cannot"):
        read_attributes(path)


def test_damaged_lists_are_read_or_refused(tmp_path):
    partition = "".join(f"{number:06}.jpg {number % 3}\n" for number in range(40)).encode()

    def parse(path):
        if path.read_bytes()[:6].startswith(b"0000"):
            read_partition(path)
        else:
            read_attributes(path)

    assert_damaged_are_read_or_refused(parse, [(HEAD + LINES).encode(), partition], tmp_path, "list.txt", 2**20)
