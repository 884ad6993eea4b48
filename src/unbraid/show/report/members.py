"""The runs of a report, with scores, and with ELBO, rate and distortion after training."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal, final

from unbraid.config.digest import missing_classes
from unbraid.errors import CodesError
from unbraid.metrics.metric import Score
from unbraid.metrics.scoring import Scoring
from unbraid.metrics.unused_latents import badge, unused_latents
from unbraid.models.trained.elbo import HardELBO, hard_elbo
from unbraid.training.runs.history import History
from unbraid.training.runs.run import Run

Role = Literal["only", "best", "middle", "worst"]
"""The rank of a model that is shown in full."""

TRAINING = ("training-elbo", "training-distortion", "training-rate")
"""The names of measures from the end of training."""


@final
@dataclass(frozen=True, eq=False)
class ReportedRun:
    """A finished run with its measured values.

    `mig` is None if MIG is undefined: without factors, or with continuous factors. `scores` has all saved scores of the
    run by name, and `mig_name` is the name of `mig`. `num_unused` is the number of latents that are not informative
    about the image. `hard` is the ELBO with hard categories, for models with discrete latents; their training ELBO is
    not a bound, because its distortion uses relaxed codes.

    `number` is the rank of the run, from 1 for the best. `role` is None unless the run is shown in full.
    """

    run: Run
    history: History
    mig: Score | None = None
    scores: Mapping[str, Score] = field(default_factory=dict)
    hard: HardELBO | None = None
    num_unused: int = 0
    mig_name: str = "mig"
    number: int = 0
    role: Role | None = None

    @cached_property
    def values(self) -> dict[str, float]:
        """All values that can sort runs: scores and training measures, by name."""
        scored = {} if self.mig is None else {self.mig_name: self.mig.value}
        scored |= {name: score.value for name, score in self.scores.items() if name != self.mig_name}
        return scored | dict(zip(TRAINING, (self.elbo, self.distortion, self.rate), strict=True))

    @cached_property
    def distortion(self) -> float:
        """The distortion in nats per image, at the end of training or (for discrete latents) with hard categories."""
        return self.history.at_the_end("distortion") if self.hard is None else self.hard.distortion

    @cached_property
    def rate(self) -> float:
        return self.history.at_the_end("rate") if self.hard is None else self.hard.rate

    @property
    def badge(self) -> str:
        """A note if the model is collapsed; otherwise empty."""
        return badge(self.num_unused, self.run.spec.model.latents.num_latents)

    def gap(self, factor: str) -> float:
        """Returns the gap of a factor in MIG, or NaN if it is undefined."""
        return math.nan if self.mig is None else self.mig.per_factor.get(factor, math.nan)

    @cached_property
    def elbo(self) -> float:
        """-(distortion + rate) in nats per image, which is comparable between objectives that log both."""
        return -(self.distortion + self.rate)


def read_members(runs: Sequence[Run], scoring: Scoring | None = None) -> list[ReportedRun]:
    """Reads finished runs, and computes a MIG with the same settings for each run.

    If all runs have a saved MIG with the same name, this MIG is used, with preference for `mig`. Otherwise `mig` is
    computed and saved. If the codes of a run have no densities, the quantized MIG is used for all runs.
    """
    scoring = scoring or Scoring()
    kept = [run.named_scores(scoring) for run in runs]
    shared = [name for name, s in kept[0].items() if s.metric == "MIG" and all(name in scores for scores in kept)]
    best: tuple[str, list[Score | None]] = ("mig", [])
    for name in [*sorted(shared, key=lambda name: name != "mig"), "mig", "mig:quantized"]:
        migs = [scores.get(name) or _mig(run, name, scoring) for run, scores in zip(runs, kept, strict=True)]
        if not best[1] or migs.count(None) < best[1].count(None):
            best = (name, migs)
        if None not in migs:
            break
    name, migs = best
    return [
        ReportedRun(run, run.history, mig, scores, _hard(run), _num_unused(run, mig), name)
        for run, mig, scores in zip(runs, migs, kept, strict=True)
    ]


def why_left_out(run: Run) -> str:
    """Returns the reason why a run has no model, such as "is not finished", as the end of a sentence."""
    if run.status == "finished":
        return "has no weights, because its study keeps only scores"
    if failure := run.failure:
        return f"failed: {failure.reason}, at step {failure.step} of {run.spec.num_steps}"
    if run.status == "new":
        return "was never started"
    return f"is not finished (step {run.steps_done} of {run.spec.num_steps})"


def _hard(run: Run) -> HardELBO | None:
    """Computes the ELBO with hard categories. Returns None for models without discrete latents or without a rate."""
    spec = run.spec
    if spec.model.latents.num_discrete == 0 or missing_classes((spec.model, spec.dataset)):
        return None
    return None if math.isnan(run.history.at_the_end("rate")) else hard_elbo(run.model(), spec.training_data.open())


def _num_unused(run: Run, mig: Score | None) -> int:
    """Returns the number of unused latents, or 0 if the information of latents is undefined."""
    try:
        return int(unused_latents(run.codes(), mig).sum())
    except CodesError:
        return 0


def _mig(run: Run, name: str, scoring: Scoring) -> Score | None:
    """Computes and saves the MIG with this name. Returns None if it is undefined for the codes."""
    if not run.codes().factors:
        return None
    try:
        card = run.score(name, scoring)
        return card.scores[0] if name in card.names else None
    except CodesError:
        return None
