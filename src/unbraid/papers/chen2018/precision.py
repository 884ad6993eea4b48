"""What the nets multiply in: an experiment of ours on the models of the paper."""

from dataclasses import replace
from typing import Any, get_args

from unbraid import figures
from unbraid.evaluation import Scoring
from unbraid.objectives import BetaTCVAE
from unbraid.papers.chen2018.bench import METRICS, MIG, sprites
from unbraid.papers.item import Choice, Item, Scale
from unbraid.papers.work import StudyWork
from unbraid.precision import Precision
from unbraid.runs.spec import RunSpec
from unbraid.starting_points import starting_point
from unbraid.studies.claims import EquivalentPairs
from unbraid.studies.figures import run_table
from unbraid.studies.study import Setting, Study
from unbraid.studies.study_scores import StudyScores

PRECISIONS: tuple[Precision, ...] = tuple(each for each in get_args(Precision) if each != "float64")
_SMALL, _LARGE = "sprites", "dSprites"
_MARGIN = 0.03
_EPOCHS, _EPOCHS_OF_THE_PAPER = 20, 50


def specs(scale: Scale) -> dict[str, RunSpec]:
    """Returns what is trained in every precision: the sprites of the quickstart, and Chen et al.'s nets on dSprites
    for 20 of their 50 epochs.
    """
    bench = sprites(scale)
    large = bench.spec(BetaTCVAE(beta=6.0))
    if scale == "smoke":
        return {_SMALL: replace(large, num_steps=5), _LARGE: replace(large, num_steps=6)}
    num_steps = bench.num_steps * _EPOCHS // _EPOCHS_OF_THE_PAPER
    return {_SMALL: starting_point("beta-tcvae-sprites"), _LARGE: replace(large, num_steps=num_steps)}


def precision_work(scale: Scale) -> StudyWork:
    """Returns both models in every precision, with the same seeds in each."""
    num_seeds = {_SMALL: 2, _LARGE: 2} if scale == "smoke" else {_SMALL: 200, _LARGE: 10}
    settings = tuple(
        Setting(_label(name, precision), replace(spec, precision=precision), tuple(range(num_seeds[name])), precision)
        for name, spec in specs(scale).items()
        for precision in PRECISIONS
    )
    claims = tuple(
        EquivalentPairs(
            f"On {name}, {precision} changes MIG by less than {_MARGIN:g}.",
            *(MIG, _label(name, precision), _label(name, "float32"), _MARGIN),
        )
        for name in num_seeds
        for precision in PRECISIONS
        if precision != "float32"
    )
    return StudyWork(
        Study("chen2018-precision", settings, metrics=METRICS, scorings=(Scoring(),), keep="scores", claims=claims)
    )


def _label(name: str, precision: str) -> str:
    return f"{name}, {precision}"


def _draw(scores: StudyScores) -> Any:
    return figures.box_plot(run_table(scores, [MIG]), MIG, label="MIG ↑")


PRECISION = Item(
    id="chen2018/precision",
    title="Ours, not the paper's: does it matter what the nets multiply in?",
    claim="Nets that multiply in tf32 or bfloat16 end at the same MIG as in float32, within 0.03.",
    work={"smoke": lambda: precision_work("smoke"), "quick": lambda: precision_work("quick")},
    data="dSprites",
    seconds={"quick": 700},
    choices=(
        Choice("models", "no claim of the paper", "beta-TCVAE on the sprites of the quickstart, 200 seeds"),
        Choice("check", "no claim of the paper", "the paper's nets on dSprites, beta 6, 20 epochs, 10 seeds"),
        Choice("test", "no claim of the paper", "90 % interval of the mean difference, seed by seed, within 0.03"),
        Choice("MIG", "no claim of the paper", "exact, over all factors of the data set"),
    ),
    draw=_draw,
    notes=(
        "This item is no claim of the paper. Every other item here is trained in bfloat16, and earlier runs of ours, "
        "with few seeds and few epochs, could not tell whether that lowers MIG. A seed has the same initial weights, "
        "batches and noise in every precision, so the difference is taken seed by seed. A claim that is not reproduced "
        'names the side: "lower" or "higher". A CPU has no tf32, and would train in float32 under its name: there, run '
        "the other settings alone."
    ),
    columns=(MIG, "elbo"),
)
