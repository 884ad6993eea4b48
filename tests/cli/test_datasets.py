"""`unbraid datasets`."""

import sys
from dataclasses import replace

import pytest

import unbraid.datasets
from tests.cli.dots import CONTENT, Dots
from unbraid.config.annotations import choices
from unbraid.datasets import Factor, FactorDataset
from unbraid.datasets.fetching.verification import PublishedFile


@pytest.fixture(autouse=True)
def _folders(tmp_path, monkeypatch):
    monkeypatch.setenv("UNBRAID_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("UNBRAID_DATA", raising=False)
    monkeypatch.setattr(unbraid.datasets, "Dots", Dots, raising=False)


def rows(out):
    """The lines of each dataset, by its name."""
    found, name = {}, ""
    for line in out.splitlines()[1:-2]:
        name = line.split()[0] if line[0] != " " else name
        found.setdefault(name, []).append(" ".join(line.split()))
    return found


def test_every_data_set_is_listed(unbraid):
    outcome = unbraid("datasets")
    assert (outcome.code, outcome.err) == (0, "")
    assert list(rows(outcome.out)) == list(choices(FactorDataset))


def test_a_drawn_set_is_told_with_its_factors_and_license(unbraid):
    assert rows(unbraid("datasets").out)["dsprites"] == [
        "dsprites 737,280 images, 64 x 64, gray drawn here",
        "shape(3), scale(6), orientation(40), position_x(32), position_y(32) Apache-2.0",
    ]


def test_a_stand_in_is_named_as_one(unbraid):
    told = " ".join(rows(unbraid("datasets").out)["shaded-faces"])
    assert "drawn here" in told
    assert "stand-in for basel-faces" in told


def test_images_of_ones_own_may_be_anything(unbraid):
    assert rows(unbraid("datasets").out)["from-arrays"] == ["from-arrays any images your files", "any factors yours"]


def where(unbraid):
    first, second = rows(unbraid("datasets").out)["dots"]
    assert second == "brightness(3), place(4) CC0"
    return first.removeprefix("dots 12 images, 2 x 2, gray ")


def test_a_published_set_is_first_to_be_fetched_then_found_then_cached(unbraid, tmp_path, monkeypatch):
    assert where(unbraid) == "to be fetched"
    (tmp_path / "data" / "dots").mkdir(parents=True)
    (tmp_path / "data" / "dots" / "dots.bin").write_bytes(CONTENT)
    monkeypatch.setenv("UNBRAID_DATA", str(tmp_path / "data"))
    assert where(unbraid) == "files found"
    Dots().open()
    assert where(unbraid) == "cached"
    monkeypatch.delenv("UNBRAID_DATA")
    assert where(unbraid) == "cached"


def test_a_set_without_a_direct_download_sends_to_its_owner(unbraid, monkeypatch):
    files = (*Dots.publication.files, PublishedFile("labels.txt", None))
    monkeypatch.setattr(Dots, "publication", replace(Dots.publication, files=files))
    assert where(unbraid) == "ask the owner"


def test_a_folder_that_cannot_be_read_does_not_keep_the_others_from_being_listed(unbraid, monkeypatch):
    def refuse(self, folder):
        raise PermissionError("no")

    monkeypatch.setattr(Dots, "sources", refuse)
    assert where(unbraid) == "files cannot be read"


def test_listing_converts_nothing_and_needs_no_extra(unbraid, tmp_path, monkeypatch):
    for name in ("h5py", "datasets"):
        monkeypatch.setitem(sys.modules, name, None)  # importing it is an error
    assert unbraid("datasets").code == 0
    assert not (tmp_path / "cache").exists()


@pytest.mark.parametrize("width", [80, 120])
def test_the_table_fits_and_breaks_no_factor_in_two(unbraid, monkeypatch, width):
    run = unbraid
    monkeypatch.setenv("COLUMNS", str(width))
    out = run("datasets").out
    assert max(map(len, out.splitlines())) <= width
    assert all(line.count("(") == line.count(")") for line in out.splitlines())
    assert "737,280 images, 64" in out


def test_of_many_factors_the_first_are_named(unbraid, monkeypatch):
    many = tuple(Factor(f"attribute_{number}", 2) for number in range(10))
    monkeypatch.setattr(Dots, "factors", property(lambda self: many))
    told = " ".join(rows(unbraid("datasets").out)["dots"])
    assert "attribute_6(2), +3" in told


def test_a_flag_or_a_command_that_does_not_exist_is_refused(unbraid):
    assert unbraid("datasets", "--resolution", "32").code == 2
    outcome = unbraid("datasets", "shwo")
    assert outcome.code == 2
    assert "show" in outcome.err


def test_the_help_explains_the_words_of_the_table(unbraid):
    out = unbraid("datasets", "list", "--help").out
    for word in ("drawn here", "cached", "files found", "to be fetched", "ask the owner", "your files"):
        assert f"  {word}  " in out
    assert max(map(len, out.splitlines())) <= 80


def test_the_help_lists_the_commands(unbraid):
    out = unbraid("datasets", "--help").out
    assert [line.strip() for line in out.partition("Commands:")[2].splitlines() if line] == [
        "list   List the datasets.",
        "show   Write a page about a dataset.",
        "fetch  Download the files of a dataset.",
    ]


def test_to_list_is_what_is_done_without_a_command(unbraid):
    assert unbraid("datasets", "list").out == unbraid("datasets").out
