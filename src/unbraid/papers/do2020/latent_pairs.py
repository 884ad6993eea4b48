"""Table 5, figures 11, 15 and 20: pairs of latents, informative ones and those of noise."""

import functools
from collections.abc import Callable, Mapping, Sequence

import torch

from unbraid.evaluation import Scoring
from unbraid.evaluation.usage import UNUSED, informativeness
from unbraid.metrics import MISJED, Correlations, Metric, RankedPairs
from unbraid.metrics.estimators import Quantised
from unbraid.papers.do2020.faces import (
    CELEBA,
    FAMILIES,
    NEEDS,
    THIRDS,
    THREE,
    Labels,
    as_controls,
    celeba,
    choices_of_photographs,
    on_photographs_and_drawn,
    setting_on,
)
from unbraid.papers.do2020.pictures import misjed_maps, some_rows
from unbraid.papers.do2020.runs import (
    AAE_50,
    BINS,
    Names,
    Question,
    above,
    as_printed,
    bars,
    beta,
    examined,
    gamma,
    named,
    points,
)
from unbraid.papers.examination import Numbers, of_each
from unbraid.papers.item import Item, Printed, Scale
from unbraid.recipes import text_of
from unbraid.runs.run import Run
from unbraid.studies.claims import Claim, Difference, RatioWithin

_PRINTED_PAIRS = {
    "FactorVAE": (0.008, 0.009, 2.476, 2.443, 4.858, 4.892),
    "beta-VAE": (0.113, 0.131, 3.413, 3.401, 6.661, 6.739),
    "AAE": (0.022, 0.023, 0.022, 0.021, 0.021, 0.020),
}
_RANKS = ("1,2", "1,3", "1,-1", "1,-2", "-1,-2", "-1,-3")


def _pairs(labels: Labels, names: Names) -> Sequence[Claim]:
    top, mixed, bottom = (named(names, f"pairs:{pair}") for pair in ("1,2", "1,-1", "-1,-2"))
    return (
        Difference("Pairs with a latent of noise score higher than informative ones.", mixed, top, labels[:2], low=0.0),
        RatioWithin(
            "Pairs with a latent of noise score more than five times as high as informative ones.",
            mixed,
            top,
            labels[:2],
            5.0,
        ),
        Difference("Pairs of two latents of noise score highest.", bottom, mixed, labels[:2], low=0.0),
        above("FactorVAE has a lower MISJED of informative latents than beta-VAE.", top, labels[1], labels[0]),
        Difference("AAE's pairs are all alike.", bottom, top, labels[2:], -0.1, 0.1),
    )


def _printed_pairs(names: Names, key: str = "pairs") -> list[Printed]:
    return [
        Printed(FAMILIES[family], named(names, f"{key}:{pair}"), value)
        for family, values in _PRINTED_PAIRS.items()
        for pair, value in zip(_RANKS, values, strict=True)
    ]


def _printed_in_bins(names: Names) -> list[Claim]:
    return [
        as_printed(_printed_pairs(names), 5e-4, "The 18 printed numbers are such as one more seed might have."),
        as_printed(
            _printed_pairs(names, "pairs, fewer bins"),
            5e-4,
            "In 50 bins, as stated, they are such as one more seed might have.",
            is_control=True,
        ),
    ]


def _in_two_bins(scale: Scale) -> Mapping[str, Metric]:
    many, few = (5, 4) if scale == "smoke" else (100, 50)
    return {
        "pairs": RankedPairs(Quantised(many, masses="rectangle")),
        "pairs, fewer bins": RankedPairs(Quantised(few, masses="rectangle")),
    }


TABLE5, TABLE5_FACES = on_photographs_and_drawn(
    "table5",
    "MISJED of the most and the least informative latents",
    "FactorVAE has the lowest MISJED among informative latents; pairs with latents of noise score higher, pairs of two "
    "of them highest; those of AAE are all alike.",
    _in_two_bins,
    _pairs,
    panels={"two informative": "pairs:1,2", "one of noise": "pairs:1,-1", "two of noise": "pairs:-1,-2"},
    printed=_printed_pairs,
    printed_claims=_printed_in_bins,
    notes=(
        "The caption has 50 bins and a tenth of the data, the script 100 bins and all. Two latents of noise have at "
        "most 6.503 nats in 50 bins, and 6.739 is printed: the table is probably of 100."
    ),
)

GROUPS = "misjed-of-pairs"
_INFORMATIVE, _MIXED, _NOISE = (f"{GROUPS}:{group}" for group in ("informative", "mixed", "noise"))
_OF_GROUPS = {"two informative": _INFORMATIVE, "one of noise": _MIXED, "two of noise": _NOISE}


def misjed_of_groups(run: Run, metric: Metric, fraction: float = 1.0) -> Numbers:
    """Returns the mean normalised MISJED of all pairs of latents, of those in which both, one or none says anything of
    the image, and of those among the upper and among the lower half of latents by what they say.
    """
    table = run.named_scores(Scoring(fraction=fraction))[text_of(metric)].tables["misjed_normalised"].double()
    told = informativeness(some_rows(run.codes())).to(table.device)
    row, column = torch.triu_indices(len(table), len(table), offset=1, device=table.device)
    pairs, num_dead = table[row, column], (told <= UNUSED).long()[row] + (told <= UNUSED).long()[column]
    is_upper = told >= told.median()
    chosen = {
        "informative": num_dead == 0,
        "mixed": num_dead == 1,
        "noise": num_dead == 2,
        "upper half": is_upper[row] & is_upper[column],
        "lower half": ~is_upper[row] & ~is_upper[column],
    }
    means = {f"{GROUPS}:{name}": float(pairs[which].mean()) for name, which in chosen.items() if bool(which.any())}
    return {GROUPS: float(pairs.mean()), **means}


def _of_groups(labels: Labels) -> list[Claim]:
    """Returns claims about a FactorVAE and a beta-VAE."""
    return [
        Difference(f"{label}: pairs {words}, on average.", higher, lower, (label,), low=0.0)
        for label in labels[:2]
        for words, higher, lower in (
            ("with a latent of noise score higher than informative ones", _MIXED, _INFORMATIVE),
            ("of two latents of noise score highest", _NOISE, _MIXED),
        )
    ]


def _is_flat(labels: Labels) -> list[Claim]:
    upper, lower = f"{GROUPS}:upper half", f"{GROUPS}:lower half"
    # 0.1 nats of 2 log 50.
    return [Difference("AAE's pairs are all alike.", upper, lower, labels[2:], -0.013, 0.013)]


def _fifty_bins(scale: Scale) -> Metric:
    return MISJED(Quantised(4 if scale == "smoke" else 50, masses="rectangle"))


def _in_groups(item: Item, metric: Callable[[Scale], Metric], claims: Sequence[Claim], fraction: float = 1.0) -> Item:
    """Returns the item with the means of groups of pairs, and claims about these."""
    return examined(
        item,
        {GROUPS: False},
        lambda scale: of_each(functools.partial(misjed_of_groups, metric=metric(scale), fraction=fraction)),
        claims,
    )


def _figure11_items() -> tuple[Item, Item]:
    original, stand_in = on_photographs_and_drawn(
        "figure11",
        "MISJED of every two latents",
        "Sorted by informativeness, pairs of informative latents have low MISJED, pairs of latents of noise a high "
        "one; those of AAE are all alike.",
        lambda scale: {"misjed": _fifty_bins(scale)},
        lambda labels, names: (),
        panels=_OF_GROUPS,
        notes="50 bins and a tenth of the images, as the caption of table 5 says, which is probably this figure's.",
        fraction=0.1,
        pictures=functools.partial(misjed_maps, num_bins=50, fraction=0.1),
    )
    claims = [*_of_groups(THREE), *_is_flat(THREE)]
    return (
        _in_groups(original, _fifty_bins, claims, 0.1),
        _in_groups(stand_in, _fifty_bins, [*claims, *as_controls(_of_groups(THIRDS))], 0.1),
    )


FIGURE11, FIGURE11_FACES = _figure11_items()

_ON_SPRITES: Labels = (gamma(10), beta(50), AAE_50)
FIGURE15 = _in_groups(
    Question("figure15", _ON_SPRITES, lambda scale: {"misjed": MISJED(BINS)}, lambda names: ()).item(
        "MISJED of pairs of latents, dSprites",
        "Sorted by informativeness, pairs of informative latents have low MISJED, pairs of latents of noise a high "
        "one.",
        draw=bars(_OF_GROUPS),
        pictures=functools.partial(misjed_maps, num_bins=100),
        notes="Two latents of noise, N(0, 1), have .857: above the .7 at which the colours of the paper end.",
    ),
    lambda scale: MISJED(BINS),
    _of_groups(_ON_SPRITES),
)

_MISJUDGED = (
    "Correlations of the means misjudge how independent the latents of FactorVAE and beta-VAE are; AAE's two agree."
)
EXCESS = "correlation-of-means-less-draws"


def excess_of_means(run: Run) -> Numbers:
    """Returns by how much |correlation| of means is above that of draws, the mean over all pairs of latents, over those
    with a latent that says nothing of the image, and over the others.
    """
    tables = run.named_scores()[text_of(Correlations())].tables
    excess = tables["deterministic"].double().abs() - tables["stochastic"].double().abs()
    is_dead = (informativeness(some_rows(run.codes())) <= UNUSED).to(excess.device)
    row, column = torch.triu_indices(len(excess), len(excess), offset=1, device=excess.device)
    pairs, with_dead = excess[row, column], is_dead[row] | is_dead[column]
    chosen = {"with a dead latent": with_dead, "of live latents": ~with_dead}
    means = {f"{EXCESS}:{name}": float(pairs[which].mean()) for name, which in chosen.items() if bool(which.any())}
    return {EXCESS: float(pairs.mean()), **means}


def _with_excess(item: Item, labels: Labels) -> Item:
    """Returns the item with where the excess sits, and claims about it."""
    claims = [
        Difference(
            f"The difference of {label} sits in pairs with a dead latent.",
            f"{EXCESS}:with a dead latent",
            f"{EXCESS}:of live latents",
            (label,),
            low=0.0,
        )
        for label in labels[:2]
    ]
    return examined(item, {EXCESS: None}, lambda scale: of_each(excess_of_means), claims)


def _correlations(labels: Labels) -> Callable[[Names], Sequence[Claim]]:
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


FIGURE20 = _with_excess(
    Question(
        "figure20", THREE, lambda scale: {"correlations": Correlations()}, _correlations(THREE), make=setting_on(celeba)
    ).item(
        "Correlations of means and of draws",
        _MISJUDGED,
        draw=points({"each model": ("correlations", "correlations:stochastic")}),
        shared=choices_of_photographs(),
        data=CELEBA,
        needs=NEEDS,
        stand_in="do2020/figure20-dsprites",
    ),
    THREE,
)

FIGURE20_SPRITES = _with_excess(
    Question(
        "figure20-dsprites", _ON_SPRITES, lambda scale: {"correlations": Correlations()}, _correlations(_ON_SPRITES)
    ).item(
        "Correlations of means and of draws, on dSprites",
        _MISJUDGED,
        draw=points({"each model": ("correlations", "correlations:stochastic")}),
        notes="Means of dead latents are tiny, and may correlate all the same; draws of them do not.",
        stands_in_for="do2020/figure20",
    ),
    _ON_SPRITES,
)
