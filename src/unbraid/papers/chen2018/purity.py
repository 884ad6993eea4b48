"""How purely latents change one trait far beyond the prior: the number in place of the pictures of figure 1."""

import functools
import math
from collections.abc import Callable
from statistics import fmean
from typing import Any

import torch

from unbraid import figures
from unbraid.data import AttributeFaces
from unbraid.data.dataset import FactorDataset
from unbraid.models import Conv
from unbraid.papers.chen2018.trait_reader import TaughtReader, TraitReader, purities
from unbraid.papers.chen2018.traversals import FIGURE1, FIGURE1_STAND_IN, Pictures
from unbraid.papers.examination import ExaminedWork, Numbers, of_each_on_device
from unbraid.papers.item import Choice, Item, Scale
from unbraid.papers.panels import side_by_side
from unbraid.runs.run import Run
from unbraid.studies.claims import Claim, Higher, HigherInPairs
from unbraid.studies.figures import run_table
from unbraid.studies.study_scores import StudyScores

PURITY = "purity"
_REACHES = (2.0, 4.0, 6.0)
_AT = {reach: f"purity at {reach:g}" for reach in _REACHES}
_MODELS = Pictures(
    "figure1-purity",
    AttributeFaces(attributes="continuous"),
    num_latents=32,
    beta=8.0,
    beta_tc=15.0,
    num_seeds=8,
    reach=6.0,
    few=AttributeFaces(num_people=4, poses_per_person=2, resolution=32, attributes="continuous"),
)
_READER = TraitReader()
_SMALL_READER = TraitReader(Conv((4, 4, 4, 4), hidden=8), num_steps=3, batch_size=4)


@functools.cache
def _taught(reader: TraitReader, dataset: FactorDataset, device: torch.device) -> TaughtReader:
    """Returns the reader that these images have taught on this device, once for all models."""
    return reader.taught(dataset.open().to(device))


def examined(run: Run, device: torch.device, reader: TraitReader, min_std: float, num_starts: int) -> Numbers:
    """Returns how purely the live latents of a model change one trait: on average, at each reach, and, at the
    first of them, of the purest latent of each trait, by which latents of different models are matched.
    """
    codes, model = run.codes(), run.model()
    latents = (codes.mean.std(dim=0) >= min_std).nonzero()[:, 0].tolist()
    if not latents:
        return dict.fromkeys((PURITY, *_AT.values()), math.nan)
    taught = _taught(reader, run.spec.dataset, device)
    by_reach = {reach: purities(model, codes, taught, latents, reach, num_starts) for reach in _REACHES}
    shares = {reach: [share for _, share in found] for reach, found in by_reach.items()}
    by_trait: dict[str, float] = {}
    for trait, share in by_reach[_REACHES[0]]:
        by_trait[f"{PURITY}:{trait}"] = max(share, by_trait.get(f"{PURITY}:{trait}", 0.0))
    return {
        PURITY: fmean(share for found in shares.values() for share in found),
        **{_AT[reach]: fmean(found) for reach, found in shares.items()},
        **by_trait,
    }


def _claims() -> tuple[Claim, ...]:
    theirs, ours = _MODELS.labels
    return (
        HigherInPairs("The latent of a trait is purer in beta-TCVAE than in beta-VAE.", PURITY, ours, theirs),
        Higher("Models of beta-TCVAE have purer latents, on average over them.", PURITY, ours, theirs),
        Higher("So they do six standard deviations out.", _AT[6.0], ours, theirs),
    )


def _work(scale: Scale) -> Callable[[], ExaminedWork]:
    is_smoke = scale == "smoke"
    reader, min_std, num_starts = (_SMALL_READER, 0.0, 2) if is_smoke else (_READER, 0.05, 64)

    def made() -> ExaminedWork:
        metrics = {PURITY: True, **dict.fromkeys(_AT.values(), True)}
        study = _MODELS.work(scale, ()).study
        examine = functools.partial(examined, reader=reader, min_std=min_std, num_starts=num_starts)
        return ExaminedWork(study, metrics, of_each_on_device(examine), _claims())

    return made


def _draw(scores: StudyScores) -> Any:
    panels = side_by_side([f"At ±{reach:g}" for reach in _REACHES], height=1.4, width=2.4)
    table = run_table(scores, list(_AT.values()))
    for axes, metric in zip(panels, _AT.values(), strict=True):
        figures.strip_plot(table, metric, label="purity of latents ↑", axes=axes)
    return panels[-1]


FIGURE1_PURITY = Item(
    id="chen2018/figure1-purity",
    title="How purely a latent changes one trait far beyond the prior, on drawn faces",
    claim=FIGURE1.claim,
    work={"smoke": _work("smoke"), "quick": _work("quick")},
    data="attribute faces",
    seconds={"quick": 320},
    choices=(
        *(choice for choice in FIGURE1_STAND_IN.choices if choice.what not in ("models shown", "latents shown")),
        Choice(
            "what is measured",
            "nothing: pictures are shown",
            "a net taught to read 25 traits and the pose reads pictures at ±2, ±4, ±6; purity is the share of the "
            "squared change that falls on one trait",
        ),
        Choice("which latents", "picked by hand", "all that live; matched between models by the trait they change"),
    ),
    draw=_draw,
    stands_in_for="chen2018/figure1",
    columns=(PURITY, *_AT.values()),
    notes=(
        "Latents of one model are not independent of each other, so models are compared as well. Six standard "
        "deviations out, pictures are unlike all that the reader was taught: what it sees there is its guess. These "
        "are drawn faces; their numbers say nothing of the original."
    ),
)
