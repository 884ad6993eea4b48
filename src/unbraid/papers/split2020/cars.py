"""Figures 6, 7, 8 and 10: the split encoder on Cars3D, and on faces in the same grid, which stand in for it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from unbraid.papers.item import Choice, Item, Printed, Scale
from unbraid.papers.split2020.figure2 import draw_violins
from unbraid.papers.split2020.nets import BASELINE, SPLIT
from unbraid.papers.split2020.pictures import best_models
from unbraid.papers.split2020.runs import (
    CARS,
    DISTORTION,
    EXACT_MIG,
    FACES,
    FACTOR_SCORE,
    FACTOR_VAE,
    MIG_OF_MEANS,
    RATE,
    SHARED_CHOICES,
    SIZES,
    VAE_,
    label,
)
from unbraid.papers.split2020.split_encoder import Comparison, best, draw_planes, gain, gains, unrelated
from unbraid.papers.work import Work
from unbraid.studies.claims import Claim, Higher, Interaction

_ON_CARS, _ON_FACES = Comparison(CARS), Comparison(FACES)
_BEST = {(VAE_, BASELINE): 0.138, (VAE_, SPLIT): 0.087, (FACTOR_VAE, BASELINE): 0.126, (FACTOR_VAE, SPLIT): 0.136}
_FILE = "the archive of Cars3D, nips2015-analogy-data.tar.gz"
_CHOICES = (
    *SHARED_CHOICES,
    Choice(
        "images", "199 models, 128 x 128", "the 183 models that the file holds, made 64 x 64 as in disentanglement_lib"
    ),
)
_STAND_IN_NOTE = (
    "Invented faces in the grid of Cars3D: 183 people, 24 turns of the head, 4 heights, 17,568 images, grey. No "
    "number of the paper may be compared with these. "
)


def _figure6(scale: Scale) -> Sequence[Claim]:
    claims: list[Claim] = [
        Higher("The split encoder lowers the MIG of a VAE.", MIG_OF_MEANS, label(VAE_, BASELINE), label(VAE_, SPLIT)),
        *gains(FACTOR_VAE, MIG_OF_MEANS, "MIG"),
    ]
    return [*claims, *_best_of(scale)] if scale == "paper" else claims


def _best_of(scale: Scale) -> Sequence[Claim]:
    return [best(*pair, value, 0.05, SIZES[scale].num_seeds) for pair, value in _BEST.items()]


def _interaction(scale: Scale) -> Sequence[Claim]:
    pairs = [label(objective, encoder) for objective in (FACTOR_VAE, VAE_) for encoder in (SPLIT, BASELINE)]
    return [Interaction("The split encoder gains more MIG in a FactorVAE than in a VAE.", MIG_OF_MEANS, *pairs)]


def _figure7(scale: Scale) -> Sequence[Claim]:
    return [
        *(claim for name in (VAE_, FACTOR_VAE) for claim in gains(name, DISTORTION, "distortion", falls=True)),
        *(claim for name in (VAE_, FACTOR_VAE) for claim in gain(name, RATE, "KL")),
    ]


FIGURE6 = Item(
    id="split2020/figure6",
    title="MIG of the split encoder on Cars3D",
    claim="The split encoder lowers the MIG of a VAE and raises that of a FactorVAE.",
    work=_ON_CARS.work("figure6", _figure6),
    data="Cars3D",
    seconds=_ON_CARS.seconds(),
    choices=_CHOICES,
    printed=tuple(Printed(label(*pair), MIG_OF_MEANS, value) for pair, value in _BEST.items()),
    draw=lambda scores: draw_violins(scores, MIG_OF_MEANS, "MIG (20 bins of means) ↑"),
    columns=(MIG_OF_MEANS, EXACT_MIG),
    needs=_FILE,
    stand_in="split2020/figure6-stand-in",
    notes=(
        "The printed numbers are those of the best models (figure 8). With an identity of 183 values and 20 bins, MIG "
        "is low by construction: that factor's share is at most log 20 / log 183 = 0.575. A printed violin reaches "
        "below 0, which MIG cannot: it is the tail of a kernel. The abstract speaks of a significant improvement, and "
        "the VAE gets worse here, which the paper explains afterwards by a penalty that is too weak."
    ),
)

FIGURE7 = Item(
    id="split2020/figure7",
    title="KL against reconstruction of the split encoder on Cars3D",
    claim="The split encoder reconstructs better and has a larger KL, in a VAE and in a FactorVAE.",
    work=_ON_CARS.work("figure7", _figure7),
    data="Cars3D",
    seconds=_ON_CARS.seconds(),
    choices=_CHOICES,
    draw=draw_planes,
    columns=(DISTORTION, RATE),
    needs=_FILE,
    stand_in="split2020/figure7-stand-in",
    notes=(
        "Runs of figure 6. The printed axes reach from 1490 to 1510 nats of distortion in one panel and from 1420 to "
        "1480 in the other, with a KL of 22 to 34; which panel is which cannot be read. The cross-entropy of colour "
        "images has their own entropy as its floor, so only differences are judged."
    ),
)

FIGURE8 = Item(
    id="split2020/figure8",
    title="Reconstructions and traversals of the best models on Cars3D",
    claim="The best model of each setting reconstructs well, and its latents change one property each.",
    work=_ON_CARS.work("figure8", lambda scale: _best_of(scale) if scale == "paper" else _figure6(scale)),
    data="Cars3D",
    seconds=_ON_CARS.seconds(),
    choices=_CHOICES,
    printed=FIGURE6.printed,
    pictures=best_models([label(*pair) for pair in _BEST]),
    columns=(MIG_OF_MEANS, DISTORTION),
    needs=_FILE,
    stand_in="split2020/figure8-stand-in",
    notes=(
        "Runs of figure 6. What is judged are the printed MIGs, at the scale paper (those of FactorVAEs once their "
        "weight is calibrated); at quick, their order."
    ),
)

FIGURE10 = Item(
    id="split2020/figure10",
    title="FactorVAE score of the split encoder on Cars3D",
    claim="The FactorVAE score is reported for completeness, and does not go well with MIG.",
    work=_ON_CARS.work("figure10", lambda scale: [unrelated(_ON_CARS)]),
    data="Cars3D",
    seconds=_ON_CARS.seconds(),
    choices=_CHOICES,
    draw=lambda scores: draw_violins(scores, FACTOR_SCORE, "FactorVAE score ↑"),
    columns=(FACTOR_SCORE, MIG_OF_MEANS),
    needs=_FILE,
    stand_in="split2020/figure10-stand-in",
    notes="Runs of figure 6. No tick of the printed figure can be read.",
)


def _stand_in(item: Item, work: Mapping[Scale, Callable[[], Work]], notes: str) -> Item:
    """Returns the stand-in of an item: the same on faces, with nothing printed."""
    return replace(
        item,
        id=f"{item.id}-stand-in",
        title=item.title.replace("Cars3D", "faces in the grid of Cars3D"),
        work=work,
        data="shaded faces, 183 x 24 x 4",
        seconds=_ON_FACES.seconds(),
        choices=SHARED_CHOICES,
        printed=(),
        needs="",
        stand_in="",
        stands_in_for=item.id,
        notes=_STAND_IN_NOTE + notes,
    )


FIGURE6_STAND_IN = _stand_in(
    FIGURE6,
    _ON_FACES.work("figure6-stand-in", _interaction),
    "What is judged is whether the split encoder gains more in a FactorVAE than in a VAE.",
)
FIGURE7_STAND_IN = _stand_in(FIGURE7, _ON_FACES.work("figure7-stand-in", _figure7), "Runs of figure6-stand-in.")
FIGURE8_STAND_IN = _stand_in(
    FIGURE8, _ON_FACES.work("figure8-stand-in", _interaction), "Runs of figure6-stand-in, and its verdict."
)
FIGURE10_STAND_IN = _stand_in(
    FIGURE10, _ON_FACES.work("figure10-stand-in", lambda scale: [unrelated(_ON_FACES)]), "Runs of figure6-stand-in."
)
