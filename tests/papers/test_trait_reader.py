"""A reader learns what can be seen, and latents that change one trait alone are pure."""

import math
from types import SimpleNamespace

import pytest
import torch
from torch import nn

from unbraid.codes import Codes
from unbraid.data.dataset import Factor, FactorImages
from unbraid.models import MLP
from unbraid.papers.chen2018 import purity
from unbraid.papers.chen2018.trait_reader import TaughtReader, TraitReader, purities

TWO = (Factor("brightness", 0), Factor("nothing", 0))
READER = TraitReader(MLP((16,), (16,)), num_steps=60, batch_size=32, learning_rate=1e-2)


class Painter(nn.Module):
    """Two pixels: the first latent paints the left one, the second the right one, the third both, the last none."""

    def __init__(self):
        super().__init__()
        self.scale = nn.Parameter(torch.ones(()))

    def decode(self, z):
        return torch.stack([z[:, 0] + z[:, 2], z[:, 1] + z[:, 2]], dim=1)[:, None, None] * self.scale


@pytest.fixture(scope="module")
def images():
    generator = torch.Generator().manual_seed(0)
    bytes_ = torch.randint(0, 256, (200, 1, 1, 1), generator=generator, dtype=torch.uint8).expand(-1, 1, 8, 8)
    nothing = torch.randn(200, generator=generator)
    values = torch.stack([bytes_[:, 0, 0, 0].float(), nothing], dim=1)
    return FactorImages.of_table(bytes_.contiguous(), values, TWO)


def test_it_counts_what_it_can_read(images) -> None:
    taught = READER.taught(images)
    assert taught.counted.tolist() == [True, False]
    seen, brightness = taught.read(images.batch(slice(0, 100)))[:, 0], images.values[:100, 0]
    assert float(torch.corrcoef(torch.stack([seen, brightness]))[0, 1]) > 0.9


def test_the_same_seed_teaches_the_same_reader(images) -> None:
    short = TraitReader(MLP((4,), (4,)), num_steps=2, batch_size=8)
    one, other = (short.taught(images).read(images.batch(slice(0, 5))) for _ in range(2))
    assert torch.equal(one, other)
    assert bool(short.taught(images).counted.all())  # it reads none, so that all are counted


def test_a_latent_that_changes_one_trait_is_pure() -> None:
    reader = TaughtReader(lambda x: x[:, 0, 0], ("left", "right"), torch.tensor([True, True]))
    codes = Codes.from_arrays(mean=torch.randn(20, 4, generator=torch.Generator().manual_seed(0)))
    found = purities(Painter(), codes, reader, [0, 1, 2, 3], 2.0, 5)
    shares = [share for _, share in found]
    assert [trait for trait, _ in found[:2]] == ["left", "right"]
    assert shares[:3] == pytest.approx([1.0, 1.0, 0.5])
    assert math.isnan(shares[3])  # nothing changes
    alone = TaughtReader(reader.read, reader.names, torch.tensor([False, True]))
    assert purities(Painter(), codes, alone, [2], 2.0, 5) == [("right", pytest.approx(1.0))]


def test_it_is_taught_on_the_device_of_the_work_and_not_on_a_gpu_that_happens_to_be_there(monkeypatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    asked: list[torch.device] = []

    class Images:
        def open(self):
            return self

        def to(self, device):
            asked.append(device)

    class Reader:
        def taught(self, images):
            return "taught"

    assert purity._taught(Reader(), Images(), torch.device("cpu")) == "taught"
    assert asked == [torch.device("cpu")]
    work = purity.FIGURE1_PURITY.at("smoke")
    monkeypatch.setattr(purity, "_taught", lambda reader, dataset, device: asked.append(device))
    monkeypatch.setattr(purity, "purities", lambda *given: [("age", 1.0)])
    dead = Codes.from_arrays(mean=torch.zeros(3, 2))
    run = SimpleNamespace(codes=lambda: dead, model=lambda: None, spec=SimpleNamespace(dataset=None))
    assert work.examine({7: run}, torch.device("meta"))[7]["purity"] == 1.0
    assert asked[1:] == [torch.device("meta")]
