"""Models of faces: photographs, what stands in for them, and items that ask something of both."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from unbraid.data import CelebA, ShadedFaces
from unbraid.data.dataset import FactorDataset
from unbraid.distributions import LaplaceLikelihood
from unbraid.metrics import Metric
from unbraid.models import DoTranCelebA
from unbraid.papers.do2020.runs import (
    AAE_50,
    COMMON_CHOICES,
    STATED_OPTIMISER,
    Names,
    Question,
    bars,
    beta,
    gamma,
    spec,
)
from unbraid.papers.item import Choice, Item, Printed, Scale
from unbraid.papers.work import Work
from unbraid.studies.claims import Claim
from unbraid.studies.study import Setting

THREE = (gamma(50), beta(50), AAE_50)
FAMILIES = dict(zip(("FactorVAE", "beta-VAE", "AAE"), THREE, strict=True))
# One channel in place of three makes the distortion of drawn faces about a third: a third of the weights beside them.
THIRDS = (gamma(16.7), beta(16.7), AAE_50)
NUM_LATENTS = 65
_STEPS: Mapping[Scale, int] = {"smoke": 2, "quick": 76_290, "long": 228_870, "paper": 762_900}
_STEPS_OF_DRAWN: Mapping[Scale, int] = {"smoke": 2, "quick": 19_850, "long": 59_550, "paper": 198_500}
_NUM_SEEDS = 8
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
        size = int(latents or NUM_LATENTS)
        size = size // 10 if tiny and size >= NUM_LATENTS and not all_latents else size
        of_images = images(scale)
        plain = spec(scale, name, size, images=of_images, net=net, likelihood=likelihood, optimiser=STATED_OPTIMISER)
        steps = _STEPS_OF_DRAWN if isinstance(of_images, ShadedFaces) else _STEPS
        seeds = tuple(range(smallest if tiny else num_seeds))
        return Setting(label, replace(plain, num_steps=steps[scale]), seeds, family=name.rpartition(" ")[0])

    return made


def _choices(seeds: int, *own: Choice) -> tuple[Choice, ...]:
    return (
        *own,
        Choice("learning rate, Adam", "1e-3; 0.5 and 0.99", "as stated"),
        Choice("likelihood", "not stated", "L1 on a sigmoid, as in the authors' code"),
        Choice("scored part", "not stated", "that which was trained on, as in the authors' code"),
        Choice("seeds", "not stated", str(seeds)),
        *COMMON_CHOICES,
    )


def choices_of_photographs(num_seeds: int = _NUM_SEEDS) -> tuple[Choice, ...]:
    """Returns what all models of CelebA have in common."""
    return _choices(
        num_seeds,
        Choice("image", "64 by 64", "the whole photograph squeezed to a square, as in the authors' code"),
        Choice("length", "300 epochs of batch 64", "paper: 762,900 steps; long: 228,870; quick: 76,290"),
    )


def choices_of_drawn_faces(num_seeds: int = _NUM_SEEDS) -> tuple[Choice, ...]:
    """Returns what all models of drawn faces have in common."""
    return _choices(
        num_seeds,
        Choice("images", "CelebA, 64 by 64 in colour", "127,050 faces of four factors, drawn, 64 by 64 in grey"),
        Choice("length", "300 epochs of batch 64", "paper: 100 epochs (198,500 steps); long: 30; quick: 10"),
    )


Labels = tuple[str, str, str]
"""A FactorVAE, a beta-VAE and an AAE."""
ClaimsOf = Callable[[Labels, Names], Sequence[Claim]]
_THIRD_CHOICE = Choice("gamma and beta", "50", "50; beside it 16.7, since grey images have a third of the distortion")
MANY_LATENTS = "Faces of four factors do not fill 65 latents, as photographs may."


def as_controls(claims: Sequence[Claim]) -> list[Claim]:
    """Returns the claims about a third of the weights, those about AAE alone left out: these are made already."""
    return [
        replace(claim, sentence=f"{claim.sentence[:-1]}, with a third of the weights.", is_control=True)
        for claim in claims
        if set(claim.subjects()[0]) != {AAE_50}
    ]


def on_photographs_and_drawn(
    key: str,
    title: str,
    claim: str,
    metrics: Callable[[Scale], Mapping[str, Metric]],
    claims: ClaimsOf,
    *,
    panels: Mapping[str, str],
    stand_in_claims: ClaimsOf | None = None,
    stand_in_says: tuple[str, str] | None = None,
    printed: Callable[[Names], Sequence[Printed]] | None = None,
    printed_claims: Callable[[Names], Sequence[Claim]] = lambda names: (),
    notes: str = "",
    fraction: float = 1.0,
    pictures: Callable[[Work, Path], Mapping[str, bytes]] | None = None,
    all_latents: bool = False,
) -> tuple[Item, Item]:
    """Returns the item on CelebA, and the one that stands in for it on drawn faces. Claims are about three models; on
    drawn faces they are made again about weights of a third, as controls, and those about printed numbers are not.
    `stand_in_says` are the title and the claim on drawn faces, where they differ. With `all_latents` the smallest
    models have as many as the others: claims are about the last of them.
    """
    photographs, drawn = (setting_on(images, all_latents=all_latents) for images in (celeba, faces))
    of_drawn, (drawn_title, drawn_claim) = stand_in_claims or claims, stand_in_says or (title, claim)
    original = Question(
        key,
        THREE,
        metrics,
        lambda names: (*claims(THREE, names), *printed_claims(names)),
        make=photographs,
        fraction=fraction,
    ).item(
        title,
        claim,
        printed=printed,
        draw=bars(panels),
        shared=choices_of_photographs(),
        data=CELEBA,
        notes=notes,
        needs=NEEDS,
        stand_in=f"do2020/{key}-faces",
        pictures=pictures,
    )
    stand_in = Question(
        f"{key}-faces",
        (*THREE, *THIRDS[:2]),
        metrics,
        lambda names: (*of_drawn(THREE, names), *as_controls(of_drawn(THIRDS, names))),
        make=drawn,
        fraction=fraction,
    ).item(
        f"{drawn_title}, on drawn faces",
        drawn_claim,
        draw=bars(panels),
        choices=(_THIRD_CHOICE,),
        shared=choices_of_drawn_faces(),
        data=FACES,
        notes=MANY_LATENTS,
        stands_in_for=f"do2020/{key}",
        pictures=pictures,
    )
    return original, stand_in
