"""Figures 9, 11, 13, 15 and 20, tables 5 to 7: faces, and what stands in for them."""

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from unbraid.data import CelebA, ShadedFaces
from unbraid.data.dataset import FactorDataset
from unbraid.distributions import LaplaceLikelihood
from unbraid.metrics import JEMMIG, RMIG, Correlations, Metric, RankedLatents, RankedPairs
from unbraid.metrics.estimators import Quantised
from unbraid.models import DoTranCelebA
from unbraid.papers.do2020.pictures import misjed_maps
from unbraid.papers.do2020.runs import AAE_50, BINS, Names, Question, bars, beta, gamma, named, points, spec
from unbraid.papers.item import Choice, Item, Printed, Scale
from unbraid.papers.work import Work
from unbraid.studies.claims import Claim, Difference, Higher, Near
from unbraid.studies.study import Setting

_FAMILIES = {"FactorVAE": gamma(50), "beta-VAE": beta(50), "AAE": AAE_50}
THREE = tuple(_FAMILIES.values())
_OURS, _OTHERS = gamma(50), (beta(50), AAE_50)
_NUM_LATENTS, _MIDDLE = 65, 33
_STEPS: Mapping[Scale, int] = {"smoke": 2, "quick": 76_290, "long": 228_870, "paper": 762_900}
_NUM_SEEDS = 4
_ATTRIBUTES = ("Bangs", "Black_Hair", "Eyeglasses", "Goatee", "Male", "Smiling")
_RMIG = {
    "FactorVAE": (0.1742, 0.0430, 0.0409, 0.0343, 0.0060, 0.0962),
    "beta-VAE": (0.0176, 0.0223, 0.0045, 0.0325, 0.0094, 0.0184),
    "AAE": (0.0035, 0.0276, 0.0018, 0.0069, 0.0060, 0.0099),
}
_JEMMIG = {
    "FactorVAE": (0.6118, 0.6334, 0.6041, 0.6616, 0.6875, 0.6150),
    "beta-VAE": (0.8632, 0.8620, 0.8602, 0.8600, 0.8690, 0.8699),
    "AAE": (0.8463, 0.8613, 0.8423, 0.8496, 0.8644, 0.8575),
}
NEEDS = "the faces, attributes and partition of CelebA"
CELEBA, FACES = "CelebA, the training part", "shaded faces, drawn"


def celeba(scale: Scale) -> FactorDataset:
    return CelebA(split="train", crop=None)


def faces(scale: Scale) -> FactorDataset:
    if scale == "smoke":
        return ShadedFaces(num_identities=2, num_azimuths=3, num_elevations=2, num_lightings=2, resolution=32)
    return ShadedFaces()


def setting_on(
    images: Callable[[Scale], FactorDataset],
    num_seeds: int = _NUM_SEEDS,
    smallest: int = 1,
    *,
    all_latents: bool = False,
) -> Callable[[Scale, str], Setting]:
    """Returns what makes the settings on these images, with so many seeds, and so many at the smallest scale. A label
    may end with the number of latents: ", latents 100". At the smallest scale there is a tenth of many latents, unless
    `all_latents` are asked for.
    """

    def made(scale: Scale, label: str) -> Setting:
        tiny = scale == "smoke"
        net = DoTranCelebA((4, 4, 4, 4), hidden=8) if tiny else DoTranCelebA(init="truncated_normal")
        likelihood = LaplaceLikelihood(sigmoid=True)
        name, _, latents = label.partition(", latents ")
        size = int(latents or _NUM_LATENTS)
        size = size // 10 if tiny and size >= _NUM_LATENTS and not all_latents else size
        plain = spec(scale, name, size, images=images(scale), net=net, likelihood=likelihood)
        seeds = tuple(range(smallest if tiny else num_seeds))
        return Setting(label, replace(plain, num_steps=_STEPS[scale]), seeds, family=name.rpartition(" ")[0])

    return made


CHOICES = (
    Choice("image", "64 by 64", "the whole photograph squeezed to a square, as in the authors' code"),
    Choice("likelihood", "not stated", "L1 on a sigmoid, as in the authors' code"),
    Choice("scored part", "not stated", "that which was trained on, as in the authors' code"),
    Choice("length", "300 epochs of batch 64", "paper: 762,900 steps; long: 228,870; quick: 76,290"),
    Choice("seeds", "not stated", "4"),
)


def _pair(
    key: str,
    title: str,
    claim: str,
    metrics: Callable[[Scale], Mapping[str, Metric]],
    claims: Callable[[Names], Sequence[Claim]],
    stand_in_claims: Callable[[Names], Sequence[Claim]],
    *,
    panels: Mapping[str, str],
    printed: Callable[[Names], Sequence[Printed]] | None = None,
    notes: str = "",
    fraction: float = 1.0,
    pictures: Callable[[Work, Path], Mapping[str, bytes]] | None = None,
    all_latents: bool = False,
) -> tuple[Item, Item]:
    """Returns the item on CelebA, and the one that stands in for it on drawn faces. With `all_latents` the smallest
    models have as many as the others: claims are about the last of them.
    """
    photographs, drawn = (setting_on(images, all_latents=all_latents) for images in (celeba, faces))
    original = Question(key, THREE, metrics, claims, make=photographs, fraction=fraction).item(
        title,
        claim,
        printed=printed,
        draw=bars(panels),
        choices=CHOICES,
        data=CELEBA,
        notes=notes,
        needs=NEEDS,
        stand_in=f"do2020/{key}-faces",
        pictures=pictures,
    )
    stand_in = Question(f"{key}-faces", THREE, metrics, stand_in_claims, make=drawn, fraction=fraction).item(
        f"{title}, on drawn faces",
        claim,
        draw=bars(panels),
        choices=CHOICES,
        data=FACES,
        notes="Faces of four factors do not fill 65 latents, as photographs may.",
        stands_in_for=f"do2020/{key}",
        pictures=pictures,
    )
    return original, stand_in


def _ranked(names: Names) -> Sequence[Claim]:
    first, middle, last = (named(names, f"ranked:{rank}") for rank in (1, _MIDDLE, _NUM_LATENTS))
    return (
        Difference("All latents of AAE say about as much.", first, last, (AAE_50,), high=0.1),
        *(Near(f"{label} has latents that say nothing.", last, label, 0.0, 0.01) for label in (_OURS, beta(50))),
        *(
            Higher(f"The middle latent of AAE says more than that of {o}.", middle, AAE_50, o)
            for o in (_OURS, beta(50))
        ),
    )


FIGURE9, FIGURE9_FACES = _pair(
    "figure9",
    "Informativeness of 65 latents, sorted",
    "AAE's latents are equally and highly informative; those of FactorVAE and beta-VAE drop to 0 at some latent.",
    lambda scale: {"ranked": RankedLatents(estimator=BINS)},
    _ranked,
    _ranked,
    panels={"largest": "ranked:1", "middle": f"ranked:{_MIDDLE}", "smallest": f"ranked:{_NUM_LATENTS}"},
    all_latents=True,
)


def _printed(key: str, table: Mapping[str, tuple[float, ...]]) -> Callable[[Names], Sequence[Printed]]:
    return lambda names: [
        Printed(_FAMILIES[family], named(names, f"{key}:{attribute}"), value)
        for family, values in table.items()
        for attribute, value in zip(_ATTRIBUTES, values, strict=True)
    ]


def _higher_rmig(metric: str, words: str) -> list[Claim]:
    return [Higher(f"FactorVAE has a higher RMIG {words} than {other}.", metric, _OURS, other) for other in _OTHERS]


def _lower_jemmig(metric: str, words: str) -> list[Claim]:
    return [Higher(f"FactorVAE has a lower JEMMIG {words} than {other}.", metric, other, _OURS) for other in _OTHERS]


TABLE6, TABLE6_FACES = _pair(
    "table6",
    "RMIG of six attributes",
    "FactorVAE fits most attributes better than beta-VAE and AAE; all are far from ideal.",
    lambda scale: {"rmig": RMIG(BINS)},
    lambda names: [c for a in ("Bangs", "Smiling") for c in _higher_rmig(named(names, f"rmig:{a}"), f"of {a}")],
    lambda names: _higher_rmig(names["rmig"], "on average"),
    panels={"RMIG": "rmig"},
    printed=_printed("rmig", _RMIG),
    notes="One exception is in print: beta-VAE has the higher RMIG of Male.",
)

TABLE7, TABLE7_FACES = _pair(
    "table7",
    "JEMMIG of six attributes",
    "FactorVAE has the lowest JEMMIG of all six attributes.",
    lambda scale: {"jemmig": JEMMIG(BINS)},
    lambda names: [c for a in _ATTRIBUTES for c in _lower_jemmig(named(names, f"jemmig:{a}"), f"of {a}")],
    lambda names: _lower_jemmig(names["jemmig"], "on average"),
    panels={"JEMMIG": "jemmig"},
    printed=_printed("jemmig", _JEMMIG),
    notes=(
        "JEMMIG rewards narrow latents: one of noise, N(0, 1), scores .864 to .875 whatever the attribute, where "
        "beta-VAE is. FactorVAE's printed lead is nearly all the width of q(z), not what is told of the attribute."
    ),
)

_PRINTED_PAIRS = {
    "FactorVAE": (0.008, 0.009, 2.476, 2.443, 4.858, 4.892),
    "beta-VAE": (0.113, 0.131, 3.413, 3.401, 6.661, 6.739),
    "AAE": (0.022, 0.023, 0.022, 0.021, 0.021, 0.020),
}
_RANKS = ("1,2", "1,3", "1,-1", "1,-2", "-1,-2", "-1,-3")


def _pairs(labels: tuple[str, str, str]) -> Callable[[Names], Sequence[Claim]]:
    """Returns claims about a FactorVAE, a beta-VAE and an AAE."""

    def claims(names: Names) -> Sequence[Claim]:
        top, mixed, bottom = (named(names, f"pairs:{pair}") for pair in ("1,2", "1,-1", "-1,-2"))
        return (
            Difference("Pairs with a latent of noise score higher.", mixed, top, labels[:2], low=0.0),
            Difference("Pairs of two such latents score highest.", bottom, mixed, labels[:2], low=0.0),
            Higher("FactorVAE has the lowest MISJED of informative latents.", top, labels[1], labels[0]),
            Difference("AAE's pairs are all alike.", bottom, top, labels[2:], -0.1, 0.1),
        )

    return claims


def _in_two_bins(scale: Scale) -> Mapping[str, Metric]:
    many, few = (5, 4) if scale == "smoke" else (100, 50)
    return {
        "pairs": RankedPairs(Quantised(many, masses="rectangle")),
        "pairs, fewer bins": RankedPairs(Quantised(few, masses="rectangle")),
    }


TABLE5, TABLE5_FACES = _pair(
    "table5",
    "MISJED of the most and the least informative latents",
    "FactorVAE has the lowest MISJED among informative latents; pairs with latents of noise score higher, pairs of two "
    "of them highest; those of AAE are all alike.",
    _in_two_bins,
    _pairs((_OURS, *_OTHERS)),
    _pairs((_OURS, *_OTHERS)),
    panels={"two informative": "pairs:1,2", "one of noise": "pairs:1,-1", "two of noise": "pairs:-1,-2"},
    printed=lambda names: [
        Printed(_FAMILIES[family], named(names, f"pairs:{pair}"), value)
        for family, values in _PRINTED_PAIRS.items()
        for pair, value in zip(_RANKS, values, strict=True)
    ],
    notes=(
        "The caption has 50 bins and a tenth of the data, the script 100 bins and all. Two latents of noise have at "
        "most 6.503 nats in 50 bins, and 6.739 is printed: the table is probably of 100."
    ),
)

_GROUPS = {"two informative": "pairs:1,2", "one of noise": "pairs:1,-1", "two of noise": "pairs:-1,-2"}
FIGURE11, FIGURE11_FACES = _pair(
    "figure11",
    "MISJED of every two latents",
    "Sorted by informativeness, pairs of informative latents have low MISJED, pairs of latents of noise a high one; "
    "those of AAE are all alike.",
    lambda scale: {"pairs": RankedPairs(Quantised(4 if scale == "smoke" else 50, masses="rectangle"))},
    _pairs((_OURS, *_OTHERS)),
    _pairs((_OURS, *_OTHERS)),
    panels=_GROUPS,
    notes="50 bins and a tenth of the images, as the caption of table 5 says, which is probably this figure's.",
    fraction=0.1,
    pictures=functools.partial(misjed_maps, num_bins=50, fraction=0.1),
)

FIGURE15 = Question(
    "figure15",
    (gamma(10), beta(50), AAE_50),
    lambda scale: {"pairs": RankedPairs(BINS)},
    _pairs((gamma(10), beta(50), AAE_50)),
).item(
    "MISJED of pairs of latents, dSprites",
    "Sorted by informativeness, pairs of informative latents have low MISJED, pairs of latents of noise a high one.",
    draw=bars(_GROUPS),
    pictures=functools.partial(misjed_maps, num_bins=100),
)

FIGURE13 = Question(
    "figure13",
    THREE,
    lambda scale: {"rmig": RMIG(BINS), "jemmig": JEMMIG(BINS)},
    lambda names: [*_higher_rmig(names["rmig"], "on average"), *_lower_jemmig(names["jemmig"], "on average")],
    make=setting_on(celeba),
).item(
    "JEMMIG and RMIG of all 40 attributes",
    "In general FactorVAE agrees better with the attributes.",
    draw=points({"each model": ("jemmig", "rmig")}),
    choices=CHOICES,
    data=CELEBA,
    needs=NEEDS,
)


def _correlations(labels: tuple[str, ...]) -> Callable[[Names], Sequence[Claim]]:
    def claims(names: Names) -> Sequence[Claim]:
        means, samples = names["correlations"], named(names, "correlations:stochastic")
        return (
            *(
                Difference(f"Means of {label} seem more correlated than draws.", means, samples, (label,), low=0.0)
                for label in labels[:2]
            ),
            Difference("AAE's means are as correlated as its draws.", means, samples, labels[2:], -0.02, 0.02),
        )

    return claims


FIGURE20 = Question(
    "figure20",
    THREE,
    lambda scale: {"correlations": Correlations()},
    _correlations(THREE),
    make=setting_on(celeba),
).item(
    "Correlations of means and of draws",
    "Correlations of the means misjudge how independent the latents of FactorVAE and beta-VAE are; AAE's two agree.",
    draw=points({"each model": ("correlations", "correlations:stochastic")}),
    choices=CHOICES,
    data=CELEBA,
    needs=NEEDS,
    stand_in="do2020/figure20-dsprites",
)

FIGURE20_SPRITES = Question(
    "figure20-dsprites",
    (gamma(10), beta(50), AAE_50),
    lambda scale: {"correlations": Correlations()},
    _correlations((gamma(10), beta(50), AAE_50)),
).item(
    "Correlations of means and of draws, on dSprites",
    "Correlations of the means misjudge how independent the latents of FactorVAE and beta-VAE are; AAE's two agree.",
    draw=points({"each model": ("correlations", "correlations:stochastic")}),
    notes="Means of dead latents are tiny, and may correlate all the same; draws of them do not.",
    stands_in_for="do2020/figure20",
)
