"""Figure 6 over training: latents that lose what they said."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from unbraid import figures
from unbraid.data import MNIST
from unbraid.evaluation.usage import UNUSED, informativeness
from unbraid.objectives import HFVAE, VAE
from unbraid.papers.esmaeili2018.digits import ACTIVE, CHOICES, NEEDS_MNIST, STATED, digit_settings, digit_study
from unbraid.papers.examination import ExaminedWork, Numbers, of_each
from unbraid.papers.item import Choice, Item, Scale
from unbraid.papers.panels import side_by_side
from unbraid.runs.run import Run
from unbraid.studies.claims import AtLeast, Within
from unbraid.studies.figures import draw
from unbraid.studies.study_scores import StudyScores

INFORMATION, PRUNED, DEAD = "information", "pruned-share", "dead-latents"
_VAE = "VAE"
_NUM_LATENTS = 10
_EARLIER = 0.05  # nats, far above the noise of a batch
_MOMENTS = tuple(range(0, 101, 5))  # per cent of training
_EVERY: dict[Scale, int] = {"smoke": 2, "quick": 234}


def examined(run: Run) -> Numbers:
    """Returns the information of the continuous latents over training, by their rank at the end, and which share of
    those that end without any had some before.
    """
    steps, rows = run.history.latent_information()
    curves = np.array(rows)[:, :_NUM_LATENTS]
    nats = informativeness(run.codes()).cpu().numpy()[:_NUM_LATENTS]
    dead = nats <= UNUSED
    order = np.argsort(-nats, kind="stable")
    found = {
        INFORMATION: float(nats.sum()),
        DEAD: float(dead.sum()),
        PRUNED: float((curves[:, dead].max(axis=0) > _EARLIER).mean()) if dead.any() else math.nan,
    }
    for moment in _MOMENTS:
        place = int(np.abs(np.array(steps) - moment / 100 * run.spec.num_steps).argmin())
        found |= {_part(rank, moment): float(curves[place, latent]) for rank, latent in enumerate(order, start=1)}
    return found


def _part(rank: int, moment: int) -> str:
    return f"{INFORMATION}:{rank} at {moment} %"


def _work(scale: Scale) -> Callable[[], ExaminedWork]:
    def work() -> ExaminedWork:
        settings = digit_settings(scale, {_VAE: VAE(), STATED: HFVAE(alpha=1.0, beta=4.0, gamma=3.0)}, MNIST())
        question = "Do latents that end without information about digits have some before?"
        return ExaminedWork(
            digit_study(f"figure6-curve-{scale}", settings, question, ()).study,
            {INFORMATION: None, DEAD: None, PRUNED: None},
            of_each(examined),
            (
                AtLeast("Latents that end without information had some before.", PRUNED, STATED, 0.5),
                Within("There are such latents in every seed.", DEAD, (STATED,), low=1),
            ),
            latent_information_every=_EVERY[scale],
        )

    return work


def curve(scores: StudyScores, setting: str) -> list[list[float]]:
    """Returns the medians over seeds: a row for each moment, a column for each rank; nothing if none are known."""
    table = [
        [scores.of_seeds(setting, _part(rank, moment)) for rank in range(1, _NUM_LATENTS + 1)] for moment in _MOMENTS
    ]
    is_known = all(found for row in table for found in row)
    return [[float(np.median(found)) for found in row] for row in table] if is_known else []


def _draw(scores: StudyScores) -> Any:
    known = {setting: found for setting in scores.settings if (found := curve(scores, setting))}
    if not known:
        return draw(scores, "strip", [ACTIVE])
    places = side_by_side([f"{setting}, median over seeds" for setting in known], height=3.2)
    names = [f"rank {rank}" for rank in range(1, _NUM_LATENTS + 1)]
    for axes, found in zip(places, known.values(), strict=True):
        figures.latent_curves(list(_MOMENTS), found, names, label="I(x; z_d) in nats", axes=axes)
        axes.set_xlabel("per cent of training")
    return tuple(places)


FIGURE6_CURVE = Item(
    id="esmaeili2018/figure6-curve",
    title="Information of each latent over training",
    claim="On MNIST the information of 3 of 10 latents goes to 0 as training goes on.",
    work={scale: _work(scale) for scale in ("smoke", "quick")},
    data="MNIST",
    seconds={"quick": 120},
    choices=(
        *CHOICES,
        Choice("I(x; z_d)", "not stated how estimated", "eq. 13 from the batch over training, exact at the end"),
        Choice("goes to 0", "by eye", "at most 0.01 nats at the end, more than 0.05 at some moment before"),
    ),
    draw=_draw,
    columns=(INFORMATION, DEAD, PRUNED),
    needs=NEEDS_MNIST,
    notes=(
        "Curves are by rank: the most informative latent at the end comes first, so that seeds can be compared. How "
        "many latents stay is judged in figure6."
    ),
)
