"""Text and frames on a picture."""

import numpy as np
import pytest
import torch
from PIL import Image

from unbraid.report import drawing


def inked(picture):
    """Where the picture is not white."""
    return np.asarray(picture.convert("L")) < 250


@pytest.mark.parametrize(
    ("size", "shown"),
    [
        ((64, 64), (128, 128)),
        ((28, 28), (112, 112)),
        ((8, 8), (128, 128)),
        ((1, 1), (128, 128)),
        ((96, 96), (96, 96)),
        ((128, 128), (128, 128)),
        ((150, 100), (150, 100)),
        ((40, 64), (80, 128)),
        ((192, 192), (192, 192)),
        ((200, 100), (128, 64)),
        ((1000, 1), (128, 1)),
    ],
)
def test_an_image_is_shown_as_a_whole_multiple_of_itself_or_made_smaller(size, shown):
    assert drawing.frame_size(*size) == shown


def test_pixels_are_shown_as_squares():
    frame = np.asarray(drawing.frame(torch.tensor([[[0, 255], [255, 0]]], dtype=torch.uint8)))
    assert frame.shape == (128, 128, 3)
    np.testing.assert_array_equal(frame[..., 0], np.kron([[0, 255], [255, 0]], np.ones((64, 64))))


def test_colours_stay_colours_and_other_channels_are_averaged():
    colour = torch.tensor([10, 20, 30], dtype=torch.uint8)[:, None, None].expand(3, 64, 64)
    assert np.asarray(drawing.frame(colour))[5, 5].tolist() == [10, 20, 30]
    two = torch.tensor([10, 20], dtype=torch.uint8)[:, None, None].expand(2, 64, 64)
    assert np.asarray(drawing.frame(two))[5, 5].tolist() == [15, 15, 15]


def test_a_large_image_is_averaged():
    chequers = ((torch.arange(256)[:, None] + torch.arange(256)) % 2 * 255).to(torch.uint8)
    assert np.asarray(drawing.frame(chequers[None])) == pytest.approx(127.5, abs=1)


def test_a_white_image_has_an_edge():
    picture = drawing.blank(20, 20)
    drawing.paste_framed(picture, (5, 5), drawing.blank(10, 10))
    dark = inked(picture)
    assert dark[3:5, 3:17].all()
    assert dark[15:17, 3:17].all()
    assert not dark[5:15, 5:15].any()
    assert not dark[:3].any()


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("position_x", "position_x"),
        ("64 × 64", "64 x 64"),
        ("Größe", "Gro?e"),
        ("Träuble, 1–2", "Trauble, 1-2"),
        ("色", "?"),
        ("cut…", "cut…"),
        ("a\tb", "a?b"),
    ],
)
def test_letters_that_the_font_lacks_are_replaced(text, written):
    assert drawing.writable(text) == written


def test_text_that_has_no_room_is_cut():
    assert drawing.fitting("short", 500) == "short"
    cut = drawing.fitting("a very long name of a factor", 120)
    assert cut.endswith("…")
    assert drawing.text_width(cut) <= 120
    assert drawing.fitting("anything", 0) == "…"


def test_lines_have_room_and_lose_no_word():
    text = "one two three four five six seven eight nine ten"
    lines = drawing.wrapped(text, 150)
    assert len(lines) > 1
    assert all(drawing.text_width(line) <= 150 for line in lines)
    assert " ".join(lines) == text


def test_a_paragraph_is_as_high_as_its_lines_and_may_be_empty():
    assert drawing.paragraph("", 100).height == drawing.paragraph("word", 100).height
    assert drawing.paragraph("word word", 80).height == 2 * drawing.paragraph("word", 80).height


@pytest.mark.parametrize(("anchor", "left", "right"), [("la", 100, 200), ("ma", 50, 150), ("ra", 0, 100)])
def test_text_stands_where_its_anchor_says(anchor, left, right):
    picture = drawing.blank(200, 40)
    drawing.write(picture, (100, 2), "text", anchor=anchor)
    columns = inked(picture).any(axis=0).nonzero()[0]
    assert left <= columns.min() <= columns.max() <= right


def test_text_may_run_upwards():
    picture = drawing.blank(100, 300)
    drawing.write_upwards(picture, (50, 150), "elevation")
    rows, columns = inked(picture).nonzero()
    assert np.ptp(rows) > 3 * np.ptp(columns)
    assert (rows.min() + rows.max()) / 2 == pytest.approx(150, abs=4)


def test_shares_run_from_white_to_dark_blue():
    assert drawing.heat(0.0) == (255, 255, 255)
    assert drawing.heat(1.0) == drawing.heat(7.0) == (6, 55, 112)
    assert drawing.heat(0.5) == (130, 155, 184)


def test_pictures_are_put_together():
    first, second = Image.new("RGB", (3, 5), "black"), Image.new("RGB", (4, 2), "black")
    across, down = inked(drawing.beside([first, second], 10)), inked(drawing.stacked([first, second], 10))
    assert across.shape == (5, 17)
    assert across[:2, 13:].all()
    assert not across[2:, 13:].any()
    assert down.shape == (17, 4)
    assert down[15:].all()
    assert not down[:, 3][:15].any()
    assert inked(drawing.with_margin(first, 2)).sum() == 15
    assert drawing.with_margin(first, 2).size == (7, 9)
