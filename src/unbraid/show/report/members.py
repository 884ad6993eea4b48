"""The runs of a report, with their scores and the ends of their training."""

import contextlib
import logging
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, final

from unbraid.config.digest import missing_classes
from unbraid.errors import CodesError
from unbraid.metrics.estimators import Quantized
from unbraid.metrics.evaluate import evaluate
from unbraid.metrics.metric import Score
from unbraid.metrics.mig import MIG
from unbraid.metrics.scoring import Scoring
from unbraid.metrics.unused_latents import badge, unused_latents
from unbraid.models.trained.elbo import HardELBO, hard_elbo
from unbraid.training.runs.history import History
from unbraid.training.runs.run import Run

Named = tuple[str, Score]
"""A score behind its name."""

TRAINING = ("training-elbo", "training-distortion", "training-rate")
"""Names of the measures at the end of training."""


@final
@dataclass(frozen=True, eq=False)
class ReportedRun:
    """Holds a finished run and what was measured of it.

    `mig` is None where MIG does not apply: no factors, or continuous ones.

    `scores` are all that the run has kept, by name; `mig_name` is the name of `mig`. `hard` is the ELBO of a model with
    discrete latents, with hard categories: its log adds the rate of categories to the distortion of relaxed codes,
    which is not a bound. `num_unused` is the number of latents that are not informative about the image.
    """

    run: Run
    history: History
    mig: Score | None = None
    scores: Mapping[str, Score] = field(default_factory=dict)
    hard: HardELBO | None = None
    num_unused: int = 0
    mig_name: str = "mig"

    @cached_property
    def values(self) -> dict[str, float]:
        """Returns every number that the member may be sorted by: its scores, and the ends of its log."""
        scored = {} if self.mig is None else {self.mig_name: self.mig.value}
        scored |= {name: score.value for name, score in self.scores.items() if name != self.mig_name}
        return scored | dict(zip(TRAINING, (self.elbo, self.distortion, self.rate), strict=True))

    @cached_property
    def distortion(self) -> float:
        """Returns the distortion in nats per image: at the end of training, or with hard categories."""
        return self.history.at_the_end("distortion") if self.hard is None else self.hard.distortion

    @cached_property
    def rate(self) -> float:
        return self.history.at_the_end("rate") if self.hard is None else self.hard.rate

    @property
    def badge(self) -> str:
        """A note on its scores if it is collapsed; else an empty text."""
        return badge(self.num_unused, self.run.spec.model.latents.num_latents)

    def gap(self, factor: str) -> float:
        """Returns the gap of a factor in MIG; NaN where it has none."""
        return math.nan if self.mig is None else self.mig.per_factor.get(factor, math.nan)

    @cached_property
    def elbo(self) -> float:
        """Returns -(distortion + rate), in nats per image: it means the same for every objective that logs both."""
        return -(self.distortion + self.rate)


def read_members(runs: Sequence[Run], scoring: Scoring | None = None) -> list[ReportedRun]:
    """Returns the finished runs, each with a MIG of the same settings.

    These are settings that all have kept, or else the default, computed now and kept. All scores are of one `scoring`.

    Where the codes of a run have no densities, the MIG of all is taken through bins.
    """
    scoring = scoring or Scoring()
    kept = [run.named_scores(scoring) for run in runs]
    settings = _common_settings([[score for score in scores.values() if score.metric == "MIG"] for scores in kept])
    migs = [_matching(scores, settings) or _score(run, MIG(), scoring) for run, scores in zip(runs, kept, strict=True)]
    if any(mig is None for mig in migs):
        binned = [_score(run, MIG(Quantized()), scoring) for run in runs]
        if sum(mig is None for mig in binned) < sum(mig is None for mig in migs):
            migs = binned
    name = next((named[0] for named in migs if named is not None), "mig")
    found = [
        (run, None if named is None else named[1], scores) for run, named, scores in zip(runs, migs, kept, strict=True)
    ]
    return [
        ReportedRun(run, run.history, mig, _of_one_mig(scores, mig), _hard(run), _num_unused(run, mig), name)
        for run, mig, scores in found
    ]


def why_left_out(run: Run) -> str:
    """Returns why a run is left out: it is not finished, or its weights are gone."""
    if run.status == "finished":
        return "is finished, and its study keeps its scores alone"
    if failure := run.failure:
        return f"failed: {failure.reason}, at step {failure.step} of {run.spec.num_steps}"
    if run.status == "new":
        return "was never begun"
    return f"is not finished: it stands at step {run.steps_done} of {run.spec.num_steps}"


def _hard(run: Run) -> HardELBO | None:
    """Returns the ELBO with hard categories, of a model that has discrete latents and a rate."""
    spec = run.spec
    if spec.model.latents.num_discrete == 0 or missing_classes((spec.model, spec.dataset)):
        return None
    return None if math.isnan(run.history.at_the_end("rate")) else hard_elbo(run.model(), spec.training_data.open())


def _num_unused(run: Run, mig: Score | None) -> int:
    """Returns how many latents are unused; 0 where the posteriors are too narrow to tell."""
    try:
        return int(unused_latents(run.codes(), mig).sum())
    except CodesError:
        return 0


def _question(score: Score) -> dict[str, Any]:
    """Returns the settings that define the score.

    The quadrature does not: both kinds compute the same integral. Nor do defaults, which older scores may lack.
    """
    defaults = MIG().settings
    return {
        name: value for name, value in score.settings.items() if name != "quadrature" and defaults.get(name) != value
    }


def _common_settings(kept: Sequence[Sequence[Score]]) -> dict[str, Any]:
    """Returns settings that every run has scores of: scores can be compared only if they were computed alike.

    The exact estimator comes first, if it is among them.
    """
    default: dict[str, Any] = {}
    shared = [s for s in map(_question, kept[0]) if all(s in map(_question, scores) for scores in kept)] if kept else []
    return default if default in shared or not shared else shared[0]


def _matching(scores: Mapping[str, Score], settings: dict[str, Any]) -> Named | None:
    return next(
        ((name, score) for name, score in scores.items() if score.metric == "MIG" and _question(score) == settings),
        None,
    )


def _of_one_mig(scores: Mapping[str, Score], mig: Score | None) -> dict[str, Score]:
    """Returns the scores without those that answer the same question as the MIG in another way."""
    return {
        name: score
        for name, score in scores.items()
        if mig is None or score is mig or score.metric != "MIG" or _question(score) != _question(mig)
    }


def _score(run: Run, metric: MIG, scoring: Scoring) -> Named | None:
    if not run.codes().factors:
        return None
    try:
        with _without_constant_factor_warning():
            card = run.score([metric], scoring)
    except CodesError:
        return None
    return card.names[0], card.scores[0]


@contextlib.contextmanager
def _without_constant_factor_warning() -> Iterator[None]:
    """Keeps the warning that a factor never varies from being logged inside the block."""

    def is_unexpected(record: logging.LogRecord) -> bool:
        return "never vary" not in record.getMessage()

    logger = logging.getLogger(evaluate.__module__)
    logger.addFilter(is_unexpected)
    try:
        yield
    finally:
        logger.removeFilter(is_unexpected)
