"""Figures 16 and 23c: which latents say most of a factor of dSprites, and which a LASSO weighs most."""

from collections.abc import Mapping, Sequence

import torch

from unbraid.evaluation import Scoring
from unbraid.evaluation.usage import UNUSED, informativeness
from unbraid.metrics import DCI, JEMMIG, RMIG, Metric
from unbraid.papers.do2020.pictures import by_factor, some_rows
from unbraid.papers.do2020.runs import AAE_50, BINS, FACTORS, Names, Question, above, bars, beta, examined, gamma
from unbraid.papers.examination import Examine, Numbers, of_each
from unbraid.papers.item import Choice, Printed, Scale
from unbraid.recipes import text_of
from unbraid.runs.run import Run
from unbraid.studies.claims import Claim, MostWithin, Reaches

_OURS, _OTHERS = gamma(10), (beta(50), AAE_50)


def _figure16(names: Names) -> Sequence[Claim]:
    return (
        *(above(f"FactorVAE has a higher mean RMIG than {o}.", names["rmig"], _OURS, o) for o in _OTHERS),
        *(above(f"FactorVAE has a lower mean JEMMIG than {o}.", names["jemmig"], o, _OURS) for o in _OTHERS),
    )


FIGURE16 = Question(
    "figure16", (_OURS, *_OTHERS), lambda scale: {"rmig": RMIG(BINS), "jemmig": JEMMIG(BINS)}, _figure16
).item(
    "The three latents that say most of each factor",
    "Single latents of FactorVAE show scale and both positions; those of beta-VAE and AAE show less of them.",
    draw=bars({"RMIG": "rmig", "JEMMIG": "jemmig"}),
    pictures=by_factor,
    choices=(
        Choice("start", "not stated", "the sprites of the authors' script: scale 3, orientation 20, positions 16"),
        Choice("frames", "not stated", "11, from 3 below the code of the sprite to 3 above it, as in their script"),
    ),
    notes="The titles of its panels repeat tables 8 and 9, where factors are judged one by one.",
)

ON_DEAD, LARGEST = "largest-on-dead", "largest-weight"
_FOUR = FACTORS[1:]


def _of_weights(scale: Scale) -> Mapping[str, Metric]:
    alpha = 0.5 if scale == "smoke" else 0.002  # codes that were hardly trained are nearly collinear
    return {
        "raw": DCI(alpha=alpha, standardise=False, rows="all", num_refits=0),
        "standardised": DCI(alpha=alpha, rows="all", num_refits=0),
    }


def weights_on_dead(run: Run, scale: Scale) -> Numbers:
    """Returns whether the largest weight of a LASSO is that of a latent that says nothing of the image (1 or 0), with
    means as they are and with standardised ones, and how large it is.
    """
    kept, is_dead = run.named_scores(Scoring(factors=_FOUR)), informativeness(some_rows(run.codes())) <= UNUSED
    found: dict[str, float] = {}
    for name, metric in _of_weights(scale).items():
        weights = kept[text_of(metric)].tables["importance"].abs()
        latent = int(weights.max(dim=1).values.argmax())
        part = "" if name == "raw" else f":{name}"
        found |= {f"{ON_DEAD}{part}": float(is_dead[latent]), f"{LARGEST}{part}": float(torch.max(weights))}
    return found


def _examine(scale: Scale) -> Examine:
    return of_each(lambda run: weights_on_dead(run, scale))


_LABEL = gamma(20)
FIGURE23C = examined(
    Question("figure23c", (_LABEL,), _of_weights, lambda names: (), _FOUR).item(
        "Weights of a LASSO on raw means",
        "Raw weights of latents that say nothing can be huge.",
        draw=bars({"raw means": LARGEST, "standardised means": f"{LARGEST}:standardised"}),
        printed=lambda names: [Printed(_LABEL, LARGEST, 60.784)],
        choices=(Choice("LASSO", "alpha 0.002", "raw labels on raw means of all images: as in the authors' code"),),
        notes="In print the largest weight, 60.784, is that of z3 for the rotation; z3 says at most .0004 nats of it.",
    ),
    {ON_DEAD: None, LARGEST: None},
    _examine,
    [
        MostWithin("The largest raw weight is that of a latent that says nothing.", ON_DEAD, (_LABEL,), 1, 1),
        Reaches("It is larger than 10.", LARGEST, _LABEL, 10.0),
        MostWithin("With standardised means it is not.", f"{ON_DEAD}:standardised", (_LABEL,), 0, 0),
    ],
)
