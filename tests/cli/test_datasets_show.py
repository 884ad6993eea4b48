"""`unbraid datasets show`."""

import numpy as np
import pytest

import unbraid.cli.datasets as datasets_module
import unbraid.datasets
from tests.cli.dots import CONTENT, Dots
from tests.words import words
from unbraid.datasets.weights import ChenDesign

TINY = [*words("--resolution 8 --shapes heart,square --num-scales 2 --num-orientations 1 --num-positions 4")]


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    """A folder to work in."""
    monkeypatch.setattr(unbraid.datasets, "Dots", Dots, raising=False)
    monkeypatch.delenv("UNBRAID_DATA", raising=False)
    folder = tmp_path / "here"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder


@pytest.fixture
def drawn(monkeypatch):
    """What was asked of the picture, which is not drawn."""
    asked = []

    def remember(path, images, title, notes, maps, seed):
        asked.append((path, images, title, notes, maps, seed))

    monkeypatch.setattr("unbraid.show.datasets.write_dataset_page", remember)
    return asked


def test_a_picture_is_written_and_said_where(unbraid, here):
    outcome = unbraid("datasets", "show", "dsprites", *TINY)
    assert (outcome.code, outcome.err) == (0, "")
    assert outcome.out.endswith(f"The page is in {(here / 'dsprites.html').as_uri()}\n")
    assert "<h1>dsprites</h1>" in (here / "dsprites.html").read_text()


def test_a_picture_that_exists_is_kept_unless_forced(unbraid, here):
    (here / "dsprites.html").write_bytes(b"mine")
    outcome = unbraid("datasets", "show", "dsprites", *TINY)
    assert outcome.code == 2
    assert "dsprites.html, which exists" in outcome.err
    assert (here / "dsprites.html").read_bytes() == b"mine"
    assert unbraid("datasets", "show", "dsprites", *TINY, "--force").code == 0
    assert (here / "dsprites.html").read_bytes().startswith(b"<!doctype html>")


def test_the_fields_of_the_data_set_may_be_named_as_in_train(unbraid, drawn):
    assert unbraid("datasets", "show", "DSprites", *TINY).code == 0
    long = [word.replace("--", "--dataset.") for word in TINY]
    assert unbraid("datasets", "show", "dsprites", *long).code == 0
    assert [len(images) for _, images, *_ in drawn] == [64, 64]
    assert "737,280 black-and-white images" in drawn[0][3][0]
    assert drawn[0][3][1:] == [
        (
            "64 images, 8 x 8, gray, dsprites (resolution 8, shapes heart, square, number of scales 2, number of "
            "orientations 1, number of positions 4)"
        )
    ]


def test_a_subset_and_a_sampling_are_shown_as_training_would_have_them(unbraid, drawn):
    sampling = ["--sampling", "correlated", "--sampling.factors", "position_x,position_y", "--sampling.strength", "0.3"]
    subset = ["--subset", "chosen-values", "--subset.factor", "shape", "--subset.values", "1"]
    outcome = unbraid(
        "datasets", "show", "dsprites", *TINY, *sampling, *subset, "--joint", "scale,position_x", "--seed", 3
    )
    assert (outcome.code, outcome.err) == (0, "")
    ((path, images, title, notes, maps, seed),) = drawn
    assert (str(path), title, seed) == ("dsprites.html", "dsprites", 3)
    assert len(images) == 32
    assert images.values[:, 0].unique().tolist() == [1]
    assert float(images.weights.sum()) == pytest.approx(1)
    assert notes[2] == "Subset: chosen-values (factor shape, values 1)"
    asked, among = maps
    assert asked.title.endswith("correlated (factors position_x, position_y, strength 0.3)")
    assert among.table.shape == (2, 4)
    np.testing.assert_allclose(among.table.sum(dim=0), asked.table.sum(dim=1))


def test_several_designs_are_shown_side_by_side(unbraid, drawn):
    sampling = words("--sampling chen-design --sampling.factors position_x,position_y --sampling.design A,B,C,D")
    outcome = unbraid("datasets", "show", "dsprites", *TINY, *sampling)
    assert (outcome.code, outcome.err) == (0, "")
    ((_, images, _, _, maps, _),) = drawn
    assert images.weights is None
    assert [each.title for each in maps] == [
        f"Requested: chen-design (design {design}, factors position_x, position_y)" for design in "ABCD"
    ]
    for design, each in zip("ABCD", maps, strict=True):
        expected = ChenDesign(design, ("position_x", "position_y")).table((4, 4))
        np.testing.assert_allclose(each.table, expected)


def test_files_are_converted_first(unbraid, tmp_path, monkeypatch, here):
    monkeypatch.setenv("UNBRAID_CACHE", str(tmp_path / "cache"))
    (here / "dots.bin").write_bytes(CONTENT)
    assert unbraid("datasets", "show", "dots", "--root", here).code == 0
    assert Dots(root=str(here)).is_converted


def test_images_of_ones_own_need_their_file(unbraid, here):
    assert "--dataset.path" in unbraid("datasets", "show", "from-arrays").err
    np.savez(here / "own.npz", images=np.zeros((5, 6, 7), dtype=np.uint8), factors=np.arange(5.0)[:, None])
    assert unbraid("datasets", "show", "from-arrays", "--path", "own.npz").code == 0
    assert (here / "from-arrays.html").is_file()


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["dsprits"], "'dsprits'. Did you mean 'dsprites'?"),
        (["dsprites", "--out", "x.jpg"], ".html"),
        (["dsprites", "--out", "."], ".html"),
        (["dsprites", "--resolution", "7"], "resolution is 7"),
        (["mnist", "--num-scales", "2"], "--dataset is mnist"),
        (["mnist"], "Run `unbraid datasets fetch mnist`"),
        (["dsprites", "--joint", "shape"], "shape"),
        (["dsprites", "--joint", "shape,shape"], "shape, shape"),
        (["dsprites", "--joint", "shape,scal"], "Did you mean 'scale'?"),
        (["dsprites", "--sampling", "correlated"], "--sampling.factors"),
        (["dsprites", "--sampling", "uniform", "--sampling.factors", "hue"], "factor 'hue'"),
        (["dsprites", "--subset", "row-range", "--subset.start", "1000000"], "737280"),
        (words("dsprites --resolution 8,16"), "2 datasets"),
        (["dsprites", "--seed", "-1"], "--seed"),
        ([], "NAME"),
    ],
)
def test_a_mistake_is_told_in_a_line_and_nothing_is_drawn(unbraid, here, tmp_path, monkeypatch, arguments, complaint):
    monkeypatch.setenv("UNBRAID_CACHE", str(tmp_path / "cache"))
    outcome = unbraid("datasets", "show", *arguments)
    assert outcome.code == 2
    assert complaint in outcome.err
    assert "Traceback" not in outcome.err
    assert list(here.iterdir()) == []
    assert not (tmp_path / "cache").exists()


def test_no_short_flag_stands_for_two_things():
    own = {f"--{name}" for name in datasets_module._OWN_FLAGS}
    paths = vars(datasets_module.datasets_show)["config_flags"].flags()
    short = [name for path in paths if (name := datasets_module._short_name(path))]
    assert len(set(short)) == len(short)
    assert not own & set(short)


def test_the_help_lists_the_fields_of_what_is_named(unbraid):
    out = unbraid("datasets", "show", "dsprites", "--subset", "random-split", "--help").out
    assert "\n    unbraid datasets show dsprites\n" in out
    for flag in ("--dataset.resolution, --resolution", *words("--sampling --subset --subset.fraction --joint")):
        assert f"  {flag} " in out
    for flag in ("--dataset.split", "--sampling.strength", "--subset.start"):
        assert flag + " " not in out.partition("Options:")[2]
    out = unbraid("datasets", "show", "--help").out  # without a name, those of every dataset
    assert all(flag in out for flag in ("--dataset.split", "--dataset.resolution"))
