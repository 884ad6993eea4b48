import sys
from xml.etree import ElementTree

import numpy as np
import pytest
import torch
from PIL import Image

from unbraid.errors import CodesError, UnbraidError
from unbraid.figures.traversal import Strip, Traversal

GRAYS = torch.linspace(0, 1, 3).reshape(3, 1, 1, 1).expand(3, 1, 4, 4)
MOVING = Strip("z0  1.93", 0, 0, (-2.0, 0.0, 2.0), False, GRAYS)
OF_TWO = Strip("z1  0.50", 1, 0, (0.0, 1.0), True, GRAYS[::2])


def test_the_array_is_row_by_column_by_image():
    assert Traversal((MOVING, MOVING)).array().shape == (2, 3, 1, 4, 4)
    assert (Traversal((MOVING,)).array()[0] == GRAYS.numpy()).all()


def test_a_shorter_row_ends_in_nan():
    array = Traversal((MOVING, OF_TWO)).array()
    assert np.isnan(array[1, 2]).all()
    assert not np.isnan(array[1, :2]).any()


def test_columns_are_named_by_the_positions_that_continuous_rows_share():
    assert Traversal((MOVING, OF_TWO)).positions == (-2.0, 0.0, 2.0)
    assert Traversal((OF_TWO,)).positions == (0.0, 1.0)
    elsewhere = Strip("z2", 2, 0, (-4.0, 0.0, 4.0), False, GRAYS)
    assert Traversal((MOVING, elsewhere)).positions == ()


def test_a_picture_can_do_without_labels():
    traversal = Traversal((MOVING,), "informativeness")
    assert traversal.image(labels=False).size == (3 * 64 + 4, 64)
    assert traversal.image().width > 3 * 64 + 4


def test_what_is_printed_is_short():
    assert len(repr(Traversal((MOVING, OF_TWO)))) < 300


def test_a_png_holds_what_is_shown(tmp_path):
    traversal = Traversal((MOVING, OF_TWO), "informativeness")
    saved = np.asarray(Image.open(traversal.save(tmp_path / "x.png")))
    assert (saved == np.asarray(traversal.image())).all()
    assert (tmp_path / "x.png").read_bytes() == traversal._repr_png_()


def test_an_animation_goes_there_and_back_for_ever(tmp_path):
    path = Traversal((MOVING, OF_TWO)).save(str(tmp_path / "x.gif"))
    with Image.open(path) as gif:
        assert (gif.n_frames, gif.info["loop"]) == (4, 0)
        shown = []
        for number in range(4):
            gif.seek(number)
            pixels = np.asarray(gif.convert("L"))
            shown.append((pixels[-70, -5], pixels[-5, -5]))
    gray = round(255 / 2)
    assert shown == [(0, 0), (gray, 0), (255, 255), (gray, 0)]


def test_an_svg_has_the_labels_as_text(tmp_path):
    pytest.importorskip("matplotlib")
    root = ElementTree.parse(Traversal((MOVING,), "more <scale> & more").save(tmp_path / "x.SVG")).getroot()
    texts = {each.text for each in root.iter("{http://www.w3.org/2000/svg}text")}
    assert {"z0  1.93", "more <scale> & more", "-2"} <= texts


def test_another_ending_is_refused(tmp_path):
    with pytest.raises(CodesError, match=r"\.png, \.gif, \.svg.*x\.jpg"):
        Traversal((MOVING,)).save(tmp_path / "x.jpg")
    assert not list(tmp_path.iterdir())


def test_what_is_no_image_can_be_read_and_not_drawn():
    numbers = Traversal((Strip("z0", 0, 0, (0.0, 1.0), False, torch.zeros(2, 2, 3, 4, 7)),))
    assert numbers.array().shape == (1, 2, 2, 3, 4, 7)
    with pytest.raises(CodesError, match=r"\(2, 3, 4, 7\)"):
        numbers.image()


def test_images_may_lack_channels():
    assert Traversal((Strip("z0", 0, 0, (0.0, 1.0), False, torch.zeros(2, 64, 64)),)).image(labels=False).height == 64


def test_without_matplotlib_a_figure_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(UnbraidError, match="pip install"):
        Traversal((MOVING,)).figure()


def test_a_figure_has_the_frames_and_the_labels(tmp_path):
    pytest.importorskip("matplotlib")
    figure = Traversal((MOVING, OF_TWO), "informativeness").figure()
    (axes,) = figure.axes
    assert [label.get_text() for label in axes.get_yticklabels()] == ["z0  1.93", "z1  0.50"]
    assert [label.get_text() for label in axes.get_xticklabels()] == ["-2", "0", "2"]
    assert axes.get_ylabel() == "informativeness"
    assert axes.images[0].get_array().shape == (9, 14, 4)
    figure.savefig(tmp_path / "x.pdf")
    assert (tmp_path / "x.pdf").stat().st_size > 0
