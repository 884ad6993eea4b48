"""Tables 2 to 4: data sets and nets, counted."""

from collections.abc import Mapping

import torch
from torch import nn

from unbraid.data import CelebA, DSprites
from unbraid.data.grid import grid_rows
from unbraid.distributions import GaussianLatents
from unbraid.models import Conv, Critic, DoTranCelebA
from unbraid.models.architecture import Architecture
from unbraid.papers.calculation import Calculation
from unbraid.papers.item import Choice, Item, Printed
from unbraid.studies.claims import Within

_SPRITES, _FACES = "dSprites", "CelebA, train"
_ENTROPIES = {
    _SPRITES: {"shape": 1.0986, "scale": 1.7918, "orientation": 3.6889, "position_x": 3.4657, "position_y": 3.4657},
    _FACES: {
        "Bangs": 0.4256,
        "Black_Hair": 0.5500,
        "Eyeglasses": 0.2395,
        "Goatee": 0.2365,
        "Male": 0.6801,
        "Smiling": 0.6923,
    },
}
_IMAGES = {_SPRITES: 737_280, _FACES: 162_770}
_ROUNDING = 5e-5  # of four printed digits


def _entropy(values: torch.Tensor) -> float:
    shares = torch.bincount(values.long()).double() / len(values)
    return float(-torch.xlogy(shares, shares).sum())


def _of_data(label: str, seed: int) -> Mapping[str, float]:
    """Returns the number of images, their size, and the entropy of each factor in nats."""
    dataset = DSprites() if label == _SPRITES else CelebA(split="train")
    values = torch.from_numpy(grid_rows(dataset.factors)) if label == _SPRITES else dataset.open().values.cpu()
    names = [factor.name for factor in dataset.factors]
    channels, height, _ = dataset.image_shape
    return {
        "images": len(values),
        "pixels": height,
        "channels": channels,
        **{f"entropy:{name}": _entropy(values[:, names.index(name)]) for name in _ENTROPIES[label]},
    }


def _data_work(label: str) -> Calculation:
    claims = [
        Within(f"{label} has {_IMAGES[label]:,} images.", "images", (label,), _IMAGES[label], _IMAGES[label]),
        Within("They are 64 pixels high.", "pixels", (label,), 64, 64),
    ]
    claims += [
        Within(
            f"The entropy of {name} is {entropy} nats.",
            f"entropy:{name}",
            (label,),
            round(entropy - _ROUNDING, 5),
            round(entropy + _ROUNDING, 5),
        )
        for name, entropy in _ENTROPIES[label].items()
    ]
    return Calculation(
        name=f"do2020-table2-{'dsprites' if label == _SPRITES else 'celeba'}",
        cases={label: (0,)},
        metrics={"images": None, "pixels": None, "channels": None, "entropy": None},
        compute=_of_data,
        claims=tuple(claims),
    )


def _printed(label: str) -> tuple[Printed, ...]:
    entropies = (Printed(label, f"entropy:{name}", value) for name, value in _ENTROPIES[label].items())
    return (Printed(label, "images", _IMAGES[label]), *entropies)


TABLE2 = Item(
    id="do2020/table2",
    title="The data sets: dSprites",
    claim="737,280 images of 64 by 64 pixels, none set apart for tests.",
    work={"smoke": lambda: _data_work(_SPRITES), "paper": lambda: _data_work(_SPRITES)},
    data="dSprites, drawn",
    seconds={"paper": 5},
    printed=_printed(_SPRITES),
    trains=False,
    notes="The entropies are printed with the figures of the appendix. Colour, which never varies, is dropped.",
)

TABLE2_CELEBA = Item(
    id="do2020/table2-celeba",
    title="The data sets: CelebA",
    claim="162,770 images for training and 19,962 for tests, 64 by 64 pixels in colour.",
    work={"smoke": lambda: _data_work(_FACES), "paper": lambda: _data_work(_FACES)},
    data="CelebA",
    seconds={"paper": 300},
    printed=_printed(_FACES),
    needs="the faces, attributes and partition of CelebA",
    trains=False,
    notes="The test part is named in the paper and never used: scores are on the images that were trained on.",
)

_CELEBA_NET, _SPRITES_NET = "nets for CelebA, 65 latents", "nets for dSprites, 10 latents"
_COUNTS: Mapping[str, Mapping[str, int]] = {
    _CELEBA_NET: {"encoder": 412_226, "decoder": 395_459},
    _SPRITES_NET: {"encoder": 249_172, "decoder": 248_833},
}
_CRITICS = {_CELEBA_NET: 65, _SPRITES_NET: 10}


def _num_weights(net: nn.Module) -> int:
    return sum(weight.numel() for weight in net.parameters())


def _of_nets(label: str, seed: int) -> Mapping[str, float]:
    """Returns how many weights encoder, decoder and critic have, and how many layers with weights."""
    nets: dict[str, tuple[Architecture, tuple[int, int, int], int]] = {
        _CELEBA_NET: (DoTranCelebA(init="truncated_normal"), (3, 64, 64), 65),
        _SPRITES_NET: (Conv(init="truncated_normal"), (1, 64, 64), 10),
    }
    net, shape, num_latents = nets[label]
    with torch.device("meta"):
        encoder, decoder = net.make_encoder(shape, GaussianLatents(num_latents)), net.make_decoder(num_latents, shape)
        critic = Critic(init="truncated_normal").for_codes(num_latents, 1)
    layers = [len([w for w in module.parameters() if w.ndim > 1]) for module in (encoder, decoder, critic)]
    return {
        "weights:encoder": _num_weights(encoder),
        "weights:decoder": _num_weights(decoder),
        "weights:critic": _num_weights(critic),
        "layers:encoder": layers[0],
        "layers:decoder": layers[1],
        "layers:critic": layers[2],
        "weights": _num_weights(encoder) + _num_weights(decoder),
        "layers": sum(layers),
    }


def _critic_weights(num_latents: int) -> int:
    """Returns the weights of five layers of 1000 units and one of one, written out."""
    return (num_latents + 1) * 1000 + 4 * 1001 * 1000 + 1001


def _net_work(label: str) -> Calculation:
    counts = {**_COUNTS[label], "critic": _critic_weights(_CRITICS[label])}
    claims = [
        Within(f"The {part} has {count:,} weights.", f"weights:{part}", (label,), count, count)
        for part, count in counts.items()
    ]
    claims += [
        Within(f"The {part} has six layers.", f"layers:{part}", (label,), 6, 6) for part in ("encoder", "decoder")
    ]
    claims.append(Within("The critic has six layers.", "layers:critic", (label,), 6, 6))
    return Calculation(
        name=f"do2020-{'table3' if label == _CELEBA_NET else 'table4'}",
        cases={label: (0,)},
        metrics={"weights": None, "layers": None},
        compute=_of_nets,
        claims=tuple(claims),
    )


_SLIPS = Choice(
    "ReLU after the last deconvolution", "printed", "none, as in the authors' code: an image of logits has both signs"
)
_CRITIC_CHOICE = Choice("outputs of the critic", "1", "1 counted here; two for FactorVAE, as in the authors' code")

TABLE3 = Item(
    id="do2020/table3",
    title="The nets for CelebA",
    claim="Convolutions of 32, 32, 64 and 64 channels, one of 256 over the whole map, 65 latents; and its mirror.",
    work={"smoke": lambda: _net_work(_CELEBA_NET), "paper": lambda: _net_work(_CELEBA_NET)},
    data="none",
    seconds={"paper": 1},
    choices=(_SLIPS, _CRITIC_CHOICE),
    trains=False,
    notes="The paper prints layers; the numbers of weights follow from them, and are those of the authors' layers.",
)

TABLE4 = Item(
    id="do2020/table4",
    title="The nets for dSprites",
    claim="Convolutions of 32, 32, 64 and 64 channels, a layer of 128 units, 10 latents; and its mirror.",
    work={"smoke": lambda: _net_work(_SPRITES_NET), "paper": lambda: _net_work(_SPRITES_NET)},
    data="none",
    seconds={"paper": 1},
    choices=(_SLIPS, _CRITIC_CHOICE),
    trains=False,
    notes="The paper prints layers; the numbers of weights follow from them, and are those of the authors' layers.",
)
