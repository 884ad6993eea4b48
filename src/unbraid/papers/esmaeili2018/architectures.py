"""Tables 3 to 5: the nets."""

import itertools
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import final

import torch

from unbraid.distributions import BernoulliLatents, ConcreteLatents, GaussianLatents, GroupedLatents
from unbraid.distributions.posteriors.latents import Latents
from unbraid.models import EsmaeiliCelebA, EsmaeiliDSprites, EsmaeiliMNIST
from unbraid.models.architecture import Architecture
from unbraid.papers.calculation import Calculation
from unbraid.papers.item import Item
from unbraid.studies.claims import Within


@final
@dataclass(frozen=True)
class _Nets:
    """Holds the nets of a table, and how many weights its layers have by our count of them."""

    net: Architecture
    latents: Latents
    image_shape: tuple[int, int, int]
    num_inputs: int
    encoder: int
    decoder: int


def _branched(pixels: int, hidden: tuple[int, ...], branch: int, categories: int) -> int:
    """Returns the weights of an encoder: layers, then a branch for means, one for log-variances, and logits."""
    layers = sum(_dense(*each) for each in itertools.pairwise((pixels, *hidden)))
    return layers + 2 * (_dense(hidden[-1], branch) + _dense(branch, 10)) + _dense(hidden[-1], categories)


def _convolutions(channels: tuple[int, ...], *, normalised: int) -> int:
    """Returns the weights of 4 x 4 convolutions; the first `normalised` have BatchNorm, the others a bias."""
    pairs = list(itertools.pairwise(channels))
    kernels = sum(16 * inputs * outputs for inputs, outputs in pairs)
    return kernels + sum(2 * outputs if place < normalised else outputs for place, (_, outputs) in enumerate(pairs))


def _dense(inputs: int, outputs: int) -> int:
    return inputs * outputs + outputs


_TABLES = {
    "table3": _Nets(
        EsmaeiliMNIST(),
        GroupedLatents((GaussianLatents(10), ConcreteLatents(10))),
        (1, 28, 28),
        20,
        _branched(784, (400,), 200, 10),
        _dense(20, 200) + _dense(200, 400) + _dense(400, 784),
    ),
    "table4": _Nets(
        EsmaeiliDSprites(),
        GroupedLatents((GaussianLatents(10), ConcreteLatents(3))),
        (1, 64, 64),
        13,
        _branched(4096, (1200, 1200), 400, 3),
        _dense(13, 400) + _dense(400, 1200) + _dense(1200, 1200) + _dense(1200, 4096),
    ),
    "table5": _Nets(
        EsmaeiliCelebA(),
        GroupedLatents((GaussianLatents(20), BernoulliLatents(2))),
        (3, 64, 64),
        22,
        _convolutions((3, 32, 32, 64, 64), normalised=4) + 2 * (_dense(1024, 256) + _dense(256, 20)) + _dense(1024, 2),
        _dense(22, 256) + _dense(256, 1024) + _convolutions((64, 64, 32, 32, 3), normalised=3),
    ),
}


def _work(name: str) -> Callable[[], Calculation]:
    nets = _TABLES[name]

    def compute(label: str, seed: int) -> Mapping[str, float]:
        with torch.device("meta"):  # weights are counted, not made
            made = (
                nets.net.make_encoder(nets.image_shape, nets.latents)
                if label == "encoder"
                else nets.net.make_decoder(nets.num_inputs, nets.image_shape)
            )
        return {"weights": sum(parameter.numel() for parameter in made.parameters())}

    def work() -> Calculation:
        return Calculation(
            name=f"esmaeili2018-{name}",
            cases={"encoder": (0,), "decoder": (0,)},
            metrics={"weights": None},
            compute=compute,
            claims=tuple(
                Within(f"The {net} has the weights of the layers printed.", "weights", (net,), count, count)
                for net, count in (("encoder", nets.encoder), ("decoder", nets.decoder))
            ),
        )

    return work


def _item(name: str, data: str, notes: str) -> Item:
    return Item(
        id=f"esmaeili2018/{name}",
        title=f"The nets for {data}",
        claim=f"The layers of encoder and decoder for {data}.",
        work={"smoke": _work(name), "paper": _work(name)},
        data="none",
        seconds={"paper": 1},
        trains=False,
        notes=notes,
    )


TABLE3 = _item(
    "table3",
    "MNIST and Fashion-MNIST",
    "The text says images of 32 by 32, the table 28 by 28, which is taken. Whether the heads of the style read the "
    "category is not shown; here they do not.",
)
TABLE4 = _item("table4", "dSprites", "The layers are counted from the table: two of 1200, branches of 400.")
TABLE5 = _item(
    "table5",
    "CelebA",
    "The table has a ReLU on the means, which would forbid negative ones: a slip, and they are linear here. Section 6 "
    "says two Bernoulli latents, appendix B one of categories for every data set; two are taken.",
)
