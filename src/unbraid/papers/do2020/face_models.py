"""Figures 10 and 12: what models of faces decode, and what they say of attributes."""

import functools
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import torch

from unbraid import draws
from unbraid.evaluation.top_latents import top_latents
from unbraid.metrics import RMIG, Metric
from unbraid.papers.do2020.faces import (
    CELEBA,
    FACES,
    MANY_LATENTS,
    NEEDS,
    THREE,
    celeba,
    choices_of_drawn_faces,
    choices_of_photographs,
    faces,
    setting_on,
)
from unbraid.papers.do2020.pictures import (
    BY_INFORMATION,
    ENDS,
    NUM_FRAMES,
    about,
    first_runs,
    in_file_name,
    kept,
    most_informative,
)
from unbraid.papers.do2020.runs import AAE_50, BINS, Question, above, bars, beta, examined, gamma
from unbraid.papers.examination import Examine, Numbers, of_each
from unbraid.papers.item import Choice, Item, Printed, Scale
from unbraid.papers.work import Work
from unbraid.runs.run import Run
from unbraid.studies.claims import Claim, Within

_BY_ATTRIBUTE = RMIG(BINS)
DISTANCE, RESIDUAL, TOLD = "distance-to-data", "gap-residual", "told"
_NUM_IMAGES, _IMAGES_AT_ONCE = 20_000, 1024


def pair(
    key: str,
    title: str,
    claim: str,
    labels: tuple[str, ...],
    numbers: Mapping[str, bool | None],
    examine: Callable[[Scale], Examine],
    claims: Sequence[Claim],
    *,
    panels: Mapping[str, str],
    metrics: Mapping[str, Metric] | None = None,
    own_claims: Sequence[Claim] | None = None,
    printed: Sequence[Printed] = (),
    pictures: Callable[[Work, Path], Mapping[str, bytes]] | None = None,
    choices: tuple[Choice, ...] = (),
    notes: str = "",
    stand_in_notes: str = MANY_LATENTS,
    num_seeds: int = 4,
    smallest: int = 1,
) -> tuple[Item, Item]:
    """Returns the item on CelebA, whose models are examined, and the one that stands in for it on drawn faces.
    `own_claims` are those about photographs, where they differ.
    """
    asked = metrics or {"informativeness": BY_INFORMATION}

    def question(name: str, make: Callable[..., object]) -> Question:
        return Question(
            name,
            labels,
            lambda scale: asked,
            lambda names: (),
            make=setting_on(make, num_seeds, smallest),  # type: ignore[arg-type]
        )

    original = question(key, celeba).item(
        title,
        claim,
        printed=(lambda names: printed) if printed else None,
        draw=bars(panels),
        choices=choices,
        shared=choices_of_photographs(num_seeds),
        data=CELEBA,
        notes=notes,
        needs=NEEDS,
        stand_in=f"do2020/{key}-faces",
        pictures=pictures,
    )
    stand_in = question(f"{key}-faces", faces).item(
        f"{title}, on drawn faces",
        claim,
        draw=bars(panels),
        choices=choices,
        shared=choices_of_drawn_faces(num_seeds),
        data=FACES,
        notes=stand_in_notes,
        stands_in_for=f"do2020/{key}",
        pictures=pictures,
    )
    return (
        examined(original, numbers, examine, claims if own_claims is None else own_claims),
        examined(stand_in, numbers, examine, claims),
    )


def distance_to_data(run: Run, num_starts: int, num_images: int = _NUM_IMAGES) -> Numbers:
    """Returns how far decoded images are from the nearest of the images of the data: the root of the mean squared
    difference of pixels, when one of the most informative latents is moved by 3 to either side, from images drawn
    from a fixed seed; the mean over images and latents.
    """
    images, codes, model = run.spec.training_data.open(), run.codes(), run.model()
    order = draws.permutation(torch.zeros(1, dtype=torch.int64), "nearest images", 0, len(images))[0]
    starts = codes.mean[order[:num_starts]]
    moved = [starts]
    for latent in most_informative(run):
        for step in (-ENDS, ENDS):
            there = starts.clone()
            there[:, latent] += step
            moved.append(there)
    frames = torch.cat([model.decode(each) for each in moved]).flatten(1)
    nearest = torch.full((len(frames),), torch.inf)
    for rows in order[:num_images].split(_IMAGES_AT_ONCE):
        nearest = torch.minimum(nearest, torch.cdist(frames, images.batch(rows).flatten(1)).min(dim=1).values)
    rms = nearest / frames.shape[1] ** 0.5
    return {DISTANCE: float(rms[num_starts:].mean()), f"{DISTANCE}:unmoved": float(rms[:num_starts].mean())}


def gaps(run: Run, attribute: str) -> Numbers:
    """Returns what the five latents that say most of an attribute say, and by how much its RMIG differs from the
    difference of the first two over the entropy of the attribute.
    """
    score = kept(run, _BY_ATTRIBUTE)
    place = list(score.per_factor).index(attribute)
    told = score.tables["mutual_information"][:, place].sort(descending=True).values
    entropy = float(score.tables["factor_entropy"][place])
    gap = float(told[0] - told[1]) / entropy
    found = {TOLD: float(told[0]), RESIDUAL: abs(gap - score.per_factor[attribute])}
    return found | {f"{TOLD}:{attribute} {rank}": float(value) for rank, value in enumerate(told[:5], start=1)}


def _traversals(work: Work, folder: Path) -> Mapping[str, bytes]:
    """Returns the ten most informative latents of a run of each setting, about the code of its typical image."""
    found = {}
    for label, run in first_runs(work, folder).items():
        latents = most_informative(run)
        score = kept(run, BY_INFORMATION)
        code = run.codes().mean[0]
        found[in_file_name(label)] = run.traverse(
            0, latents=latents, range=about(code, latents), num_frames=NUM_FRAMES, order_by=score
        ).png()
    return found


def _of_attribute(work: Work, folder: Path, attribute: str) -> Mapping[str, bytes]:
    """Returns the five latents that say most of an attribute, of a run of each setting."""
    found = {}
    for label, run in first_runs(work, folder).items():
        known = list(kept(run, _BY_ATTRIBUTE).per_factor)
        told = top_latents(kept(run, _BY_ATTRIBUTE), attribute if attribute in known else "azimuth", 5)
        ranges = about(run.codes().mean[0], list(told))
        found[in_file_name(label)] = run.traverse(
            0, latents=list(told), range=ranges, num_frames=NUM_FRAMES, labels=told
        ).png()
    return found


FIGURE10, FIGURE10_FACES = pair(
    "figure10",
    "Traversals of the ten most informative latents",
    "Traversals of AAE stay faces; those of FactorVAE and beta-VAE may leave the data.",
    THREE,
    {DISTANCE: None},
    lambda scale: of_each(functools.partial(distance_to_data, num_starts=2 if scale == "smoke" else 50)),
    [
        above(f"Images of {other} are farther from the data than AAE's.", DISTANCE, other, AAE_50)
        for other in (gamma(50), beta(50))
    ],
    panels={"distance to the nearest image": DISTANCE, "without moving": f"{DISTANCE}:unmoved"},
    pictures=_traversals,
    choices=(
        Choice(
            "measure of success",
            "pictures",
            "root mean squared difference of pixels to the nearest of 20,000 images of the data, 3 to either side of "
            "the codes of 50 images",
        ),
    ),
    notes="A weak claim: an image may be near the data and no face. The distance without moving is beside it.",
)

_BANGS = (0.0830, 0.0089, 0.0047, 0.0030, 0.0024)


def _gap_claims(attribute: str) -> list[Claim]:
    return [
        Within(f"The RMIG of {attribute} is the gap of its first two latents.", RESIDUAL, THREE, high=1e-6),
        *(
            above(f"The first latent of FactorVAE says more of {attribute} than that of {o}.", TOLD, gamma(50), o)
            for o in (beta(50), AAE_50)
        ),
    ]


def _figure12(attribute: str) -> Callable[[Scale], Examine]:
    return lambda scale: of_each(functools.partial(gaps, attribute=attribute))


def _figure12_items() -> tuple[Item, Item]:
    title = "Five latents that say most of an attribute"
    claim = "The RMIG of an attribute is what the first latent says of it, less what the second says, over its entropy."
    shared = {
        "numbers": {TOLD: None, RESIDUAL: None},
        "metrics": {"rmig": _BY_ATTRIBUTE},
        "panels": {"first latent": TOLD},
        "pictures": functools.partial(_of_attribute, attribute="Bangs"),
    }
    printed = [Printed(gamma(50), f"{TOLD}:Bangs {rank}", value) for rank, value in enumerate(_BANGS, start=1)]
    original, _ = pair(
        "figure12",
        title,
        claim,
        THREE,
        examine=_figure12("Bangs"),
        claims=_gap_claims("Bangs"),
        printed=printed,
        notes="In print, Bangs of FactorVAE: (.0830 - .0089) / .4256 = .1741, and .1742 is printed.",
        **shared,  # type: ignore[arg-type]
    )
    _, stand_in = pair(
        "figure12",
        title,
        claim,
        THREE,
        examine=_figure12("azimuth"),
        claims=_gap_claims("azimuth"),
        **shared,  # type: ignore[arg-type]
    )
    return original, stand_in


FIGURE12, FIGURE12_FACES = _figure12_items()
