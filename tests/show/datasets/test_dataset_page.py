"""A dataset on one page."""

import base64
import io
import re
from html.parser import HTMLParser

import numpy as np
import pytest
import torch
from PIL import Image

from tests.browser import OpenPage, overflow, texts_of_low_contrast
from tests.show.datasets.test_factor_sweeps import grid
from unbraid.datasets.dataset import Factor, FactorImages
from unbraid.datasets.weights import ChenDesign, UniformJoint
from unbraid.errors import DataError
from unbraid.show.datasets import write_dataset_page
from unbraid.show.datasets.joint_map import maps_of_joint
from unbraid.show.datasets.page import MAX_FACTORS, render_dataset


class Images(HTMLParser):
    """The pictures of a page by their descriptions, and its text."""

    def __init__(self, html):
        super().__init__()
        self.sheets, self.pieces, self.tags = {}, [], []
        self.feed(html)
        self.text = " ".join(" ".join(self.pieces).split())

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        if tag == "img":
            given = dict(attrs)
            self.sheets[given["alt"]] = base64.b64decode(given["src"].partition(";base64,")[2])

    def handle_data(self, data):
        self.pieces.append(data)


def colored(*sizes, side=16):
    """A grid whose images each have one color, which encodes the row."""
    rows = torch.cartesian_prod(*(torch.arange(size) for size in sizes)).reshape(-1, len(sizes))
    numbers = torch.arange(len(rows))
    colors = torch.stack([numbers % 200 + 20, numbers // 200 + 100, numbers * 0 + 77], dim=1).to(torch.uint8)
    table = tuple(Factor(f"factor_{place}", size) for place, size in enumerate(sizes))
    return FactorImages.from_table(colors[:, :, None, None].expand(-1, -1, side, side), rows, table)


def rows_of(sheet, side=16):
    """The rows of the images on a sheet, line by line."""
    pixels = np.asarray(Image.open(io.BytesIO(sheet))).astype(int)[:: side + 1, :: side + 1]
    return [int(r - 20 + 200 * (g - 100)) for r, g, b, opacity in pixels.reshape(-1, 4) if opacity]


def test_there_are_samples_and_a_row_for_each_factor():
    images = colored(3, 5, 20)
    page = Images(render_dataset(images, "title"))
    assert len(set(rows_of(page.sheets["samples"]))) == 36
    for place, count in enumerate((3, 5, 12)):
        blocks = {alt: rows_of(sheet) for alt, sheet in page.sheets.items() if alt.startswith(f"factor_{place} ")}
        assert len(blocks) == count
        factors = images.values[[row for (row,) in blocks.values()]]
        assert [f"factor_{place} {value}" for value in factors[:, place].tolist()] == list(blocks)
        for other in {0, 1, 2} - {place}:
            assert len(set(factors[:, other].tolist())) == 1


def test_images_of_each_value_stand_together_where_nothing_is_held_fixed():
    images = colored(4, 30)
    unlabeled = FactorImages.from_table(images.pixels, images.values[:, :1], images.factor_table[:1])
    sheets = Images(render_dataset(unlabeled, "title")).sheets
    for value in range(4):
        shown = rows_of(sheets[f"factor_0 {value}"])
        assert len(shown) == 9
        assert set(images.values[shown, 0].tolist()) == {value}


def test_the_same_seed_writes_the_same_page_and_another_does_not(tmp_path):
    images = colored(3, 40)
    maps = maps_of_joint(ChenDesign("D", ("factor_0", "factor_1")), images.factor_table, "a table")
    written = [
        write_dataset_page(tmp_path / f"{n}.html", images, "title", ["a note"], maps, seed)
        for n, seed in enumerate((1, 1, 2))
    ]
    first, again, other = (path.read_bytes() for path in written)
    assert first == again != other
    assert sorted(tmp_path.iterdir()) == sorted(written)


def test_names_values_notes_and_maps_are_on_the_page():
    images = grid(5, 40)
    maps = maps_of_joint(ChenDesign("D", ("factor_0", "factor_1")), images.factor_table, "a table")
    page = Images(render_dataset(images, "<b>grid</b>", ["200 images"], maps))
    for text in (
        "<b>grid</b>",
        "200 images",
        "drawn at random",
        "5 values",
        "12 of 40 values",
        "a table",
        "correlation",
    ):
        assert text in page.text
    assert "Other factors have the values of image" in page.text
    assert "ther factors vary" not in page.text
    assert "script" not in page.tags


def labeled(factors, table):
    return FactorImages.from_table(
        torch.zeros(len(factors), 1, 8, 8, dtype=torch.uint8), torch.as_tensor(factors), table
    )


@pytest.mark.parametrize(
    ("images", "texts"),
    [
        (labeled(np.zeros((5, 0), dtype=np.int64), ()), ["no factors that vary"]),
        (
            labeled([[0], [1], [0], [1]], (Factor("smile", 2),)),
            ["Other factors vary.", "2 values"],
        ),
        (labeled([[0.5], [-1.25]], (Factor("angle", 0),)), ["continuous", "-1.25", "0.5"]),
        (labeled([[0, 3], [1, 3]], (Factor("smile", 2), Factor("color", 4))), ["Constant factors: color."]),
        (
            labeled([[a, a, b] for a in range(3) for b in range(2)], tuple(Factor(n, 3) for n in "abc")),
            ["except in rows with a note", "other factors vary"],
        ),
        (
            FactorImages.from_table(
                *(grid(4).pixels, grid(4).values, grid(4).factor_table), torch.tensor([0.5, 0.5, 0, 0])
            ),
            ["drawn from p(n)"],
        ),
    ],
)
def test_the_text_names_what_the_rows_show(images, texts):
    shown = Images(render_dataset(images, "title")).text
    assert all(text in shown for text in texts)


def test_of_very_many_factors_the_first_are_shown():
    count = MAX_FACTORS + 5
    factors = np.random.default_rng(0).integers(0, 2, (40, count))
    page = Images(render_dataset(labeled(factors, tuple(Factor(f"a{place}", 2) for place in range(count))), "title"))
    assert any(alt.startswith(f"a{MAX_FACTORS - 1} ") for alt in page.sheets)
    assert not any(alt.startswith(f"a{MAX_FACTORS} ") for alt in page.sheets)
    assert f"The first {MAX_FACTORS} of {count} factors are shown." in page.text


def test_vectors_are_refused():
    vectors = FactorImages.from_table(torch.zeros(3, 1, 1, 4), torch.arange(3)[:, None], (Factor("a", 3),))
    with pytest.raises(DataError, match="vectors"):
        render_dataset(vectors, "title")


@pytest.mark.browser
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [420, 1600])
def test_it_reads_well_at_any_width(tmp_path, open_page: OpenPage, width: int, scheme: str):
    images = FactorImages.from_table(
        torch.full((12, 3, 28, 64), 9, dtype=torch.uint8),
        torch.cartesian_prod(torch.arange(3), torch.arange(4)),
        (Factor("a" * 60, 3), Factor("b", 4)),
    )
    maps = maps_of_joint(UniformJoint(("a" * 60, "b")), images.factor_table, "a table")
    page = open_page(
        write_dataset_page(tmp_path / "page.html", images, "t" * 300, ["word " * 100], maps), width=width, scheme=scheme
    )
    assert overflow(page) == 0
    assert not texts_of_low_contrast(page)
    sizes = page.evaluate("[...document.images].map((each) => each.naturalWidth)")
    assert min(sizes) > 0
    assert re.search("a table", page.locator(".maps").inner_text())
