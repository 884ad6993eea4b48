"""A data set at a glance."""

import numpy as np
import pytest
import torch
from PIL import Image

from tests.report.test_factor_sweeps import grid
from unbraid.data.dataset import Factor, FactorImages
from unbraid.report import drawing
from unbraid.report.dataset_sheet import MAX_FACTORS, draw_dataset_sheet, write_dataset_sheet
from unbraid.report.joint_map import maps_of_joint
from unbraid.sampling import ChenDesign


def coloured(*sizes, side=16):
    """A grid whose images are each of one colour of their own, which tells the row."""
    rows = torch.cartesian_prod(*(torch.arange(size) for size in sizes)).reshape(-1, len(sizes))
    numbers = torch.arange(len(rows))
    colours = torch.stack([numbers % 200 + 20, numbers // 200 + 100, numbers * 0 + 77], dim=1).to(torch.uint8)
    table = tuple(Factor(f"factor_{place}", size) for place, size in enumerate(sizes))
    return FactorImages.of_table(colours[:, :, None, None].expand(-1, -1, side, side), rows, table)


def rows_shown(picture):
    """The rows of the images in the picture, from top to bottom and from left to right, line by line."""
    pixels = np.asarray(picture).astype(int)
    is_image = pixels[:, :, 2] == 77
    lines, y = [], 0
    while y < len(pixels):
        if is_image[y].sum() >= 100:
            xs = [x for x in range(1, pixels.shape[1]) if is_image[y, x] and not is_image[y, x - 1]]
            lines.append([int(pixels[y, x, 0] - 20 + 200 * (pixels[y, x, 1] - 100)) for x in xs])
            y += 128
        y += 1
    return lines


def test_there_are_lines_of_samples_and_a_line_for_each_factor():
    images = coloured(3, 5, 20)
    lines = rows_shown(draw_dataset_sheet(images, "title"))
    assert [len(line) for line in lines] == [12, 12, 12, 3, 5, 12]
    assert len({row for line in lines[:3] for row in line}) == 36
    for place, line in enumerate(lines[3:]):
        factors = images.values[line]
        assert factors[:, place].tolist() == sorted(set(factors[:, place].tolist()))
        for other in {0, 1, 2} - {place}:
            assert len(set(factors[:, other].tolist())) == 1


def test_images_of_each_value_stand_in_lines_where_nothing_is_held_fixed():
    images = coloured(4, 30)
    unlabelled = FactorImages.of_table(images.pixels, images.values[:, :1], images.factor_table[:1])
    lines = rows_shown(draw_dataset_sheet(unlabelled, "title"))[3:]
    assert [[int(images.values[row, 0]) for row in line] for line in lines] == [
        [0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 3]
    ] * 3


def test_the_same_seed_draws_the_same_picture_and_another_does_not(tmp_path):
    images = coloured(3, 40)
    written = [
        write_dataset_sheet(tmp_path / f"{n}.png", images, "title", ["a note"], seed=seed)
        for n, seed in enumerate((1, 1, 2))
    ]
    first, again, other = (path.read_bytes() for path in written)
    assert first == again != other
    with Image.open(written[0]) as picture:
        assert picture.format == "PNG"
    assert sorted(tmp_path.iterdir()) == sorted(written)


def test_maps_stand_beside_the_lines():
    images = grid(5, 4)
    alone = draw_dataset_sheet(images, "title")
    maps = maps_of_joint(ChenDesign("D", ("factor_0", "factor_1")), images.factor_table, "asked for")
    together = draw_dataset_sheet(images, "title", maps=maps)
    assert together.width > alone.width + 720
    np.testing.assert_array_equal(
        np.asarray(together)[: alone.height // 2, : alone.width - 100], np.asarray(alone)[: alone.height // 2, :-100]
    )


def words(monkeypatch):
    """All that is written on a picture."""
    said = []
    write = drawing.write
    monkeypatch.setattr(
        drawing, "write", lambda picture, place, text, *rest: (said.append(text), write(picture, place, text, *rest))
    )
    return said


def test_names_values_and_numbers_of_values_are_written(monkeypatch):
    said = words(monkeypatch)
    draw_dataset_sheet(grid(3, 40), "grid", ["120 images"])
    for text in (
        "grid",
        "120 images",
        "samples",
        "drawn at random",
        "factor_0",
        "3 values",
        "factor_1",
        "12 of 40 values",
        "0",
        "39",
    ):
        assert text in said
    assert any(text.startswith("One factor at a time: the others stay as they are in image") for text in said)
    assert "all else varies" not in said


def labelled(factors, table):
    return FactorImages.of_table(torch.zeros(len(factors), 1, 8, 8, dtype=torch.uint8), torch.as_tensor(factors), table)


@pytest.mark.parametrize(
    ("images", "said"),
    [
        (labelled(np.zeros((5, 0), dtype=np.int64), ()), ["No factors are known that vary in these images."]),
        (
            labelled([[0], [1], [0], [1]], (Factor("smile", 2),)),
            ["Images for each value of a factor: all else varies.", "2 values"],
        ),
        (labelled([[0.5], [-1.25]], (Factor("angle", 0),)), ["continuous", "-1.25", "0.5"]),
        (labelled([[0, 3], [1, 3]], (Factor("smile", 2), Factor("colour", 4))), ["The same in all images: colour."]),
        (
            labelled([[a, a, b] for a in range(3) for b in range(2)], tuple(Factor(n, 3) for n in "abc")),
            ["unless a line says", "all else varies"],
        ),
    ],
)
def test_what_the_lines_show_is_said(monkeypatch, images, said):
    written = words(monkeypatch)
    draw_dataset_sheet(images, "title")
    together = " ".join(written)
    assert all(text in together for text in said)


def test_weights_are_told(monkeypatch):
    said = words(monkeypatch)
    images = grid(4)
    draw_dataset_sheet(
        FactorImages.of_table(images.pixels, images.values, images.factor_table, torch.tensor([0.5, 0.5, 0.0, 0.0])),
        "title",
    )
    assert "drawn from p(n)" in said


def test_of_very_many_factors_the_first_are_shown(monkeypatch):
    said = words(monkeypatch)
    count = MAX_FACTORS + 5
    factors = np.random.default_rng(0).integers(0, 2, (40, count))
    draw_dataset_sheet(labelled(factors, tuple(Factor(f"a{place}", 2) for place in range(count))), "title")
    assert f"a{MAX_FACTORS - 1}" in said
    assert f"a{MAX_FACTORS}" not in said
    assert f"The first {MAX_FACTORS} of {count} factors are shown." in " ".join(said)


@pytest.mark.parametrize("shape", [(1, 1, 1), (3, 28, 28), (1, 300, 20), (2, 5, 9), (4, 64, 64)])
def test_images_of_any_shape_have_room(shape):
    images = FactorImages.of_table(
        torch.full((3, *shape), 9, dtype=torch.uint8), torch.arange(3)[:, None], (Factor("a" * 60, 3),)
    )
    picture = draw_dataset_sheet(images, "t" * 300, ["word " * 100])
    assert np.asarray(picture)[:, :60].min() == 255  # the margin is kept
    assert np.asarray(picture)[:, -60:].min() == 255
