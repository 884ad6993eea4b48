import base64
import io
import re
from xml.etree import ElementTree

import numpy as np
import torch
from PIL import Image

from unbraid.figures.labeled_sheet import LabeledSheet, stack

FRAMES = torch.linspace(0, 1, 6).reshape(2, 3, 1, 1, 1).expand(2, 3, 1, 4, 4)


def test_small_frames_are_drawn_with_square_pixels():
    pixels = np.asarray(LabeledSheet(FRAMES).image())
    assert pixels.shape == (2 * 64 + 2, 3 * 64 + 2 * 2, 3)
    assert (pixels[:64, :64] == 0).all()
    assert (pixels[66:, 132:] == 255).all()


def test_large_frames_stay_as_they_are():
    assert LabeledSheet(torch.zeros(1, 1, 3, 100, 80)).image().size == (80, 100)


def test_labels_have_room_of_their_own():
    plain = np.asarray(LabeledSheet(FRAMES).image())
    labeled = np.asarray(LabeledSheet(FRAMES, ["z0", "z1"], ["-2", "0", "2"], "MIG").image())
    height, width, _ = plain.shape
    assert (labeled[-height:, -width:] == plain).all()
    margins = labeled[: -height or None], labeled[-height:, :-width]
    assert all((margin < 128).any() for margin in margins)


def test_missing_frames_are_left_white():
    sheet = LabeledSheet(stack([torch.zeros(2, 1, 4, 4), torch.zeros(1, 1, 4, 4)]))
    pixels = np.asarray(sheet.image())
    assert (pixels[66:, 66:] == 255).all()
    assert (pixels[:64, 66:] == 0).all()


def test_an_svg_holds_the_pixels_and_the_labels_as_text():
    sheet = LabeledSheet(FRAMES, ["z0 <scale> & more", "z1"], ["-2", "0", "2"])
    root = ElementTree.fromstring(sheet.svg())
    texts = [each.text for each in root.iter("{http://www.w3.org/2000/svg}text")]
    assert texts == ["z0 <scale> & more", "z1", "-2", "0", "2"]
    (address,) = re.findall(r"base64,([^\"]+)", sheet.svg())
    picture = np.asarray(Image.open(io.BytesIO(base64.b64decode(address))).convert("L"))
    assert picture.shape == (130, 196)
    assert picture[0, 0] == 0
