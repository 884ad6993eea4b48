"""`unbraid datasets fetch`."""

import hashlib
from dataclasses import replace

import pytest

import unbraid.datasets
from tests.cli.dots import CONTENT, Dots
from tests.datasets.flaky_server import Answer, FlakyServer
from unbraid.datasets.fetching.verification import PublishedFile

MD5 = f"md5:{hashlib.md5(CONTENT).hexdigest()}"


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("UNBRAID_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("UNBRAID_DATA", raising=False)
    monkeypatch.setattr(unbraid.datasets, "Dots", Dots, raising=False)
    return tmp_path / "cache"


@pytest.fixture
def publish(monkeypatch):
    """Give the dots out as these files."""

    def give_out(*files, **changes):
        monkeypatch.setattr(Dots, "publication", replace(Dots.publication, files=files, **changes))

    return give_out


def test_the_license_comes_first_then_the_file_how_it_was_verified_and_what_to_do_next(unbraid, publish, cache):
    with FlakyServer(CONTENT) as server:
        publish(PublishedFile("dots.bin", server.url, len(CONTENT), MD5, "their owner"))
        outcome = unbraid("datasets", "fetch", "dots")
    folder = cache / "files" / "dots"
    assert (outcome.code, outcome.err) == (0, "")
    assert outcome.out.splitlines() == [
        "A dozen dots",
        "From: https://example.org/dots",
        "License: CC0. Dots are free.",
        "To download: 1 file, 48 bytes.",
        f"Fetching dots.bin from {server.url} into {folder}.",
        f"Fetched {folder / 'dots.bin'}: md5 as published by their owner.",
        f"1 file is in {folder}.",
        "Show the images: unbraid datasets show dots",
    ]
    assert (folder / "dots.bin").read_bytes() == CONTENT


def test_what_was_fetched_can_be_shown(unbraid, publish, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with FlakyServer(CONTENT) as server:
        publish(PublishedFile("dots.bin", server.url, checksum=MD5))
        assert unbraid("datasets", "fetch", "dots").code == 0
    assert unbraid("datasets", "show", "dots").code == 0
    assert (tmp_path / "dots.html").is_file()


def test_a_second_fetch_only_verifies(unbraid, publish, cache):
    with FlakyServer(CONTENT) as server:
        publish(PublishedFile("dots.bin", server.url, len(CONTENT), MD5, "their owner"))
        unbraid("datasets", "fetch", "dots")
        outcome = unbraid("datasets", "fetch", "dots")
        assert len(server.asked) == 1
    assert f"{cache / 'files' / 'dots' / 'dots.bin'} is there: md5 as published by their owner.\n" in outcome.out


def test_a_checksum_that_nobody_publishes_is_recorded_and_that_is_noted(unbraid, publish):
    with FlakyServer(CONTENT) as server:
        publish(PublishedFile("dots.bin", server.url))
        outcome = unbraid("datasets", "fetch", "dots")
    assert outcome.code == 0
    assert "download: 1" in outcome.out
    assert "dots.bin." in outcome.err
    assert "SHA-256 recorded" in outcome.out


def test_a_wrong_checksum_is_told_and_nothing_is_left(unbraid, publish, cache):
    with FlakyServer(b"something else") as server:
        publish(PublishedFile("dots.bin", server.url, checksum=MD5))
        outcome = unbraid("datasets", "fetch", "dots")
    assert outcome.code == 2
    assert outcome.err.startswith("Error: dots.bin, fetched from ")
    assert not (cache / "files" / "dots" / "dots.bin").exists()


def test_a_refusal_of_the_server_is_told_in_a_line(unbraid, publish):
    with FlakyServer(CONTENT, always=Answer(status=404)) as server:
        publish(PublishedFile("dots.bin", server.url))
        outcome = unbraid("datasets", "fetch", "dots")
    assert outcome.code == 2
    assert "404" in outcome.err
    assert "Traceback" not in outcome.err


def test_without_a_direct_download_one_learns_which_file_to_put_where(unbraid, publish, cache):
    publish(PublishedFile("dots.bin", None), how_to_get="Write to dots@example.org.")
    outcome = unbraid("datasets", "fetch", "dots")
    assert outcome.code == 2
    assert outcome.out.splitlines() == [
        "A dozen dots",
        "From: https://example.org/dots",
        "License: CC0. Dots are free.",
    ]
    assert (
        outcome.err == f"Error: A dozen dots: Write to dots@example.org. Save dots.bin in {cache / 'files' / 'dots'}.\n"
    )


def test_a_file_put_there_by_hand_is_taken(unbraid, publish, cache):
    publish(
        PublishedFile("dots.bin", None, checksum=MD5, checksum_source="their owner"),
        how_to_get="Write to dots@example.org.",
    )
    (cache / "files" / "dots").mkdir(parents=True)
    (cache / "files" / "dots" / "dots.bin").write_bytes(CONTENT)
    outcome = unbraid("datasets", "fetch", "dots")
    assert outcome.code == 0
    assert "md5" in outcome.out


def test_files_that_are_in_a_folder_of_the_users_are_not_fetched_again(unbraid, tmp_path, monkeypatch):
    (tmp_path / "Dots" / "raw").mkdir(parents=True)
    (tmp_path / "Dots" / "raw" / "dots.bin").write_bytes(CONTENT)
    monkeypatch.setenv("UNBRAID_DATA", str(tmp_path))
    outcome = unbraid("datasets", "fetch", "dots")
    assert outcome.code == 0
    assert str(tmp_path / "Dots" / "raw") in outcome.out


def test_the_files_go_into_a_subfolder_of_a_data_folder(unbraid, publish, tmp_path):
    with FlakyServer(CONTENT) as server:
        publish(PublishedFile("dots.bin", server.url, checksum=MD5))
        outcome = unbraid("datasets", "fetch", "dots", "--out", tmp_path / "data")
    assert (tmp_path / "data" / "dots" / "dots.bin").read_bytes() == CONTENT
    assert outcome.out.endswith(f"unbraid datasets show dots --dataset.root {tmp_path / 'data'}\n")
    assert (
        unbraid("datasets", "show", "dots", "--dataset.root", tmp_path / "data", "--out", tmp_path / "dots.html").code
        == 0
    )


def test_a_file_is_no_data_folder(unbraid, tmp_path):
    (tmp_path / "file").touch()
    outcome = unbraid("datasets", "fetch", "dots", "--out", tmp_path / "file")
    assert outcome.code == 2
    assert str(tmp_path / "file") in outcome.err


@pytest.mark.parametrize(
    ("name", "next_step"), [("dsprites", "datasets show dsprites"), ("from_arrays", "--dataset.path")]
)
def test_what_is_drawn_or_ones_own_needs_no_fetching(unbraid, name, next_step):
    outcome = unbraid("datasets", "fetch", name)
    assert outcome.code == 0
    assert next_step in outcome.out


def test_a_misspelt_name_gets_a_suggestion(unbraid):
    outcome = unbraid("datasets", "fetch", "mnits")
    assert outcome.code == 2
    assert "'mnits'. Did you mean 'mnist'? Valid: " in outcome.err


def test_the_help_shows_an_example_that_can_be_copied(unbraid):
    out = unbraid("datasets", "fetch", "--help").out
    assert "\n    unbraid datasets fetch mnist\n" in out
    assert "license" in out


def test_of_several_files_one_can_be_chosen(unbraid, publish, cache):
    with FlakyServer(CONTENT) as server:
        publish(*(PublishedFile(name, server.url, len(CONTENT), MD5) for name in ("dots.bin", "more.bin")))
        assert unbraid("datasets", "fetch", "dots", "--only", "more.bin").code == 0
    assert [path.name for path in (cache / "files" / "dots").glob("*.bin")] == ["more.bin"]


def test_a_file_that_is_not_published_is_refused_with_those_that_are(unbraid):
    outcome = unbraid("datasets", "fetch", "dots", "--only", "dots.bim")
    assert outcome.code == 2
    assert "'dots.bim'" in outcome.err


def test_a_missing_version_is_told_with_the_one_file_to_fetch(unbraid):
    outcome = unbraid("datasets", "show", "mpi3d", "--version", "toy")
    assert "mpi3d --only mpi3d_toy.npz" in outcome.err
