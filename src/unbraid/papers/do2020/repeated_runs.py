"""Figures 22 and 26 to 28: other numbers of latents, and whether runs learn the same again."""

from collections.abc import Mapping
from pathlib import Path

from unbraid.codes import Codes
from unbraid.papers.do2020.face_models import pair
from unbraid.papers.do2020.pictures import BY_INFORMATION, ENDS, first_runs, in_file_name, some_rows
from unbraid.papers.do2020.runs import AAE_50, Question, above, bars, beta, examined, gamma
from unbraid.papers.examination import Numbers, of_all, of_each
from unbraid.papers.item import Choice
from unbraid.papers.work import Work
from unbraid.runs.run import Run
from unbraid.studies.claims import Difference, Equivalent, Near, Reaches
from unbraid.studies.latent_agreement import METRIC as AGREEMENT
from unbraid.studies.latent_agreement import agreement_of_seeds

WIDTH, COUNT = "std-of-means", "narrow-posteriors"
_NARROW = 0.4  # the mean std of the posteriors of a latent that the authors' code calls informative


def spread_of_means(run: Run) -> Numbers:
    """Returns the std of the means of a latent, the median over latents, and its extremes."""
    std = run.codes().mean.double().std(dim=0, correction=0)
    return {WIDTH: float(std.median()), f"{WIDTH}:least": float(std.min()), f"{WIDTH}:greatest": float(std.max())}


def agreement(runs: Mapping[int, Run]) -> dict[int, Numbers]:
    """Returns, for each run of a setting, how its latents agree with those of the others, in what order they come, and
    how many have narrow posteriors. At most 10,000 images are compared.
    """
    codes = {seed: some_rows(run.codes()) for seed, run in runs.items()}
    found = agreement_of_seeds(codes)
    return {
        seed: {
            AGREEMENT: each.value,
            f"{AGREEMENT}:informativeness_order": each.informativeness_order,
            f"{AGREEMENT}:variance_order": each.variance_order,
            COUNT: _num_narrow(codes[seed]),
        }
        for seed, each in found.items()
    }


def _num_narrow(codes: Codes) -> float:
    assert codes.std is not None
    return float((codes.std.mean(dim=0) < _NARROW).sum())


def _grids(work: Work, folder: Path) -> Mapping[str, bytes]:
    """Returns a picture over the first two latents of a run of each setting."""
    return {
        in_file_name(label): run.traverse(grid=(0, 1), range=(-ENDS, ENDS), num_frames=7).png()
        for label, run in first_runs(work, folder).items()
    }


_SIZES = (AAE_50, f"{AAE_50}, latents 100", f"{AAE_50}, latents 200")
FIGURE22, FIGURE22_FACES = pair(
    "figure22",
    "Means of AAE with 65, 100 and 200 latents",
    "The means of a latent of AAE are spread alike with 65 and 100 latents, and narrower with 200.",
    _SIZES,
    {WIDTH: None},
    lambda scale: of_each(spread_of_means),
    [
        above("With 200 latents means are narrower than with 65.", WIDTH, _SIZES[0], _SIZES[2]),
        Equivalent("With 100 they are as with 65.", WIDTH, _SIZES[1], _SIZES[0], 0.1),
    ],
    panels={"std of means": WIDTH},
    choices=(Choice("judged by", "histograms of one latent", "std of the means of each latent, the median of all"),),
    notes="The objective asks for q(z) = N(0, I) whatever the number of latents: where means narrow, the critic fails.",
)

_SPRITE_SIZES = (f"{AAE_50}, latents 5", AAE_50, f"{AAE_50}, latents 20", f"{AAE_50}, latents 40")
FIGURE22_SPRITES = examined(
    Question(
        "figure22-dsprites", _SPRITE_SIZES, lambda scale: {"informativeness": BY_INFORMATION}, lambda names: ()
    ).item(
        "Means of AAE with 5, 10, 20 and 40 latents, on dSprites",
        "The means of a latent of AAE are narrower the more latents there are.",
        draw=bars({"std of means": WIDTH}),
        notes="Five factors need no more than five latents: here most of them have nothing to hold.",
        stands_in_for="do2020/figure22",
    ),
    {WIDTH: None},
    lambda scale: of_each(spread_of_means),
    [above("With 40 latents means are narrower than with 10.", WIDTH, _SPRITE_SIZES[1], _SPRITE_SIZES[3])],
)

_VAE_TOO = "If a VAE agrees as much, the order of what varies in the data explains it, not the objective."
_THREE_LATENTS = tuple(f"{name}, latents 3" for name in (gamma(50), gamma(10), beta(1)))
FIGURE26, FIGURE26_FACES = pair(
    "figure26",
    "FactorVAE with three latents, run again and again",
    "Up to order and sign, runs of FactorVAE learn the same three latents.",
    _THREE_LATENTS,
    {AGREEMENT: True, COUNT: None},
    lambda scale: of_all(agreement),
    [
        *(
            Reaches(f"Matched latents of {label} agree by 0.9.", AGREEMENT, label, 0.9, surely=0.8, statistic="mean")
            for label in _THREE_LATENTS[:2]
        ),
        *(
            above(f"Those of {label} agree more than a VAE's.", AGREEMENT, label, _THREE_LATENTS[2])
            for label in _THREE_LATENTS[:2]
        ),
    ],
    panels={"agreement of latents": AGREEMENT},
    pictures=_grids,
    num_seeds=8,
    smallest=2,
    choices=(
        Choice("measure of success", "pictures", "mean |correlation| of means of matched latents, a VAE as control"),
    ),
    notes=_VAE_TOO,
    stand_in_notes=_VAE_TOO,
)

_ORDERS = (gamma(10), gamma(50), f"{gamma(50)}, latents 100", f"{gamma(50)}, latents 200")
_BY_RANK, _BY_VARIANCE = f"{AGREEMENT}:informativeness_order", f"{AGREEMENT}:variance_order"
FIGURE27, FIGURE27_FACES = pair(
    "figure27",
    "The order of latents of repeated runs",
    "Sorted by informativeness, runs show the same latents in nearly the same order; by the variance of means less so.",
    _ORDERS,
    {AGREEMENT: True, COUNT: None},
    lambda scale: of_all(agreement),
    [
        Difference(f"Places of {label} agree more by informativeness.", _BY_RANK, _BY_VARIANCE, (label,), low=0.0)
        for label in _ORDERS
    ],
    panels={"by informativeness": _BY_RANK, "by variance of means": _BY_VARIANCE},
    smallest=2,
    choices=(Choice("measure of success", "pictures", "rank correlation of the places of matched latents"),),
)

_SAME = [
    Equivalent("The number of informative latents stays from 65 latents to 200.", COUNT, _ORDERS[3], _ORDERS[1], 3)
]
FIGURE28, FIGURE28_FACES = pair(
    "figure28",
    "The number of informative latents of repeated runs",
    "38 to 43 latents are informative, whatever the number of latents.",
    _ORDERS,
    {AGREEMENT: True, COUNT: None},
    lambda scale: of_all(agreement),
    _SAME,
    own_claims=[*_SAME, *(Near(f"{label} has 38 to 43.", COUNT, label, 40.5, 4.5) for label in _ORDERS)],
    panels={"informative latents": COUNT},
    smallest=2,
    choices=(Choice("informative", "not stated", "a mean std of the posteriors below 0.4, as in the authors' code"),),
)
