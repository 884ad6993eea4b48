"""The decoder in JavaScript against torch, in Chromium: every architecture, and every layer by itself."""

from collections.abc import Callable
from functools import partial
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import pytest
import torch
from torch import nn

from tests.browser import OpenPage
from tests.models.nets import ARCHITECTURES, a_draw
from tests.show.explorer.decoders import NUM_INPUTS, decoder_of, disturbed, small
from unbraid import models
from unbraid.models.layers.initial_weights import seeded
from unbraid.show.explorer.decoder_graph import decoder_graph
from unbraid.show.explorer.packing import Packer

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = pytest.mark.browser

# Weights of half precision have 11 bits; sums of hundreds of them lose a little more.
HALF_TOLERANCE = 2e-3


@pytest.fixture
def page(open_page: OpenPage, tmp_path: Path) -> "Page":
    """A page that has the decoder and nothing else."""
    folder = resources.files("unbraid.show.explorer")
    scripts = "".join(folder.joinpath(name).read_text() for name in ("blobs.js", "decoder.js"))
    path = tmp_path / "page.html"
    path.write_text(f'<!doctype html><meta charset="utf-8"><link rel="icon" href="data:,"><script>{scripts}</script>')
    return open_page(path)


def largest_difference(decoder: nn.Module, page: "Page", precision: Literal["half", "int8"] = "half") -> float:
    """The largest difference between browser and torch, in units of the largest number if that is above 1."""
    codes = 2 * a_draw(6, NUM_INPUTS).float()
    packer = Packer()
    graph = decoder_graph(decoder, NUM_INPUTS).packed(precision, packer)
    expected = decoder(codes).flatten(1)
    numbers = page.evaluate(
        """async ([graph, packed, codes, size]) => {
          const decode = makeDecoder(graph, await tensorsOf(packed));
          return codes.map((code) => Array.from(decode(code).subarray(0, size)));
        }""",
        [graph, packer.packed(), codes.tolist(), expected.shape[1]],
    )
    found = torch.tensor(numbers)
    assert float(expected.std()) > 1e-3  # a picture in which nothing is to be seen would prove nothing
    return float((found - expected).abs().max() / max(1.0, float(expected.abs().max())))


@pytest.mark.parametrize("name", [cls.__name__ for cls in ARCHITECTURES])
def test_every_architecture_decodes_as_torch_does(name: str, page: "Page") -> None:
    differences = {
        shape: largest_difference(decoder_of(small(name), shape), page)
        for shape in [(1, 28, 28), (3, 32, 16), (3, 64, 64), (1, 128, 128)]
    }
    assert max(differences.values()) < HALF_TOLERANCE, differences


LAYERS: dict[str, Callable[[], list[nn.Module]]] = {
    "upsampling": lambda: [nn.Upsample(scale_factor=2), nn.Conv2d(2, 1, 3, padding=1)],
    "bilinear": lambda: [nn.Upsample(scale_factor=3, mode="bilinear"), nn.Conv2d(2, 3, 2, stride=2)],
    "bilinear corners": lambda: [nn.UpsamplingBilinear2d(size=(7, 9))],
    "dilation": lambda: [
        nn.ConvTranspose2d(2, 3, 3, stride=2, dilation=2, output_padding=1),
        nn.Conv2d(3, 1, 3, dilation=(2, 1), padding="same"),
    ],
    "odd sizes": lambda: [
        nn.ConvTranspose2d(2, 5, (3, 2), stride=(1, 3), padding=(1, 0)),
        nn.LeakyReLU(0.2),
        nn.Conv2d(5, 1, (1, 3), padding=(0, 1)),
    ],
    "pixel shuffle": lambda: [nn.Conv2d(2, 12, 1), nn.PixelShuffle(2), nn.BatchNorm2d(3)],
    "leaky": lambda: [nn.LeakyReLU(0.3)],
    "tanh": lambda: [nn.Tanh()],
    "sigmoid": lambda: [nn.Sigmoid()],
    "elu": lambda: [nn.ELU(0.7)],
    "gelu": lambda: [nn.GELU()],
    "gelu by tanh": lambda: [nn.GELU(approximate="tanh")],
    "batch norm": lambda: [nn.ReLU(), nn.BatchNorm2d(2)],
}


def test_every_layer_is_computed_as_torch_does(page: "Page") -> None:
    def decoder(name: str) -> nn.Module:
        first = nn.Linear(NUM_INPUTS, 18), nn.BatchNorm1d(18), nn.Unflatten(1, (2, 3, 3))
        return nn.Sequential(*first, *LAYERS[name]())

    differences = {name: largest_difference(disturbed(seeded(partial(decoder, name), 0)), page) for name in LAYERS}
    assert max(differences.values()) < HALF_TOLERANCE, differences


def test_int8_is_coarser_and_close_enough_to_look_at(page: "Page") -> None:
    decoder = nn.Sequential(decoder_of(models.MLP(decoder_hidden=(96, 96)), (1, 32, 32)), nn.Sigmoid())
    assert largest_difference(decoder, page, "half") < largest_difference(decoder, page, "int8") < 4 / 255
