"""Measures that sort and color the models of a report: saved scores, and ELBO, rate and distortion after training."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import final

from unbraid._internal.names import suggestion
from unbraid.errors import SpecError
from unbraid.metrics.score_rows import ARROWS
from unbraid.metrics.selection import metric_of, model_registry, registry
from unbraid.show.pages.page import fixed
from unbraid.show.report.members import TRAINING, ReportedRun, Role

_LEAST_DIFFERENCE = 5e-4
_DIRECTIONS = {"training-elbo": True, "training-rate": None, "training-distortion": False}


@final
@dataclass(frozen=True)
class Measure:
    """A measure that compares models. `name` is its command-line name.

    `bounds` are the smallest and the largest possible value. If `higher_is_better` is None, neither direction is
    better, and models are sorted in descending order.
    """

    name: str
    higher_is_better: bool | None = True
    bounds: tuple[float, float] = (-math.inf, math.inf)

    def value(self, member: ReportedRun) -> float:
        """Returns the value of a run, or NaN if the run has no value."""
        return member.values.get(self.name, math.nan)

    def known(self, members: Sequence[ReportedRun]) -> list[float]:
        """Returns the values of the runs, without NaN."""
        return [value for value in map(self.value, members) if not math.isnan(value)]

    def order(self, members: Sequence[ReportedRun]) -> list[ReportedRun]:
        """Returns the runs sorted from best to worst. Runs without a value come last."""
        sign = 1 if self.higher_is_better is False else -1

        def key(member: ReportedRun) -> tuple[bool, float]:
            value = self.value(member)
            return math.isnan(value), sign * value if math.isfinite(value) else 0.0

        return sorted(members, key=key)

    @property
    def label(self) -> str:
        """The name, with acronyms in upper case: "MIG" for `mig`."""
        head, *settings = self.name.split(":")
        return ":".join((head.upper() if head in _acronyms() else head, *settings))

    @property
    def title(self) -> str:
        """The label, with an arrow for the better direction."""
        return f"{self.label} {ARROWS[self.higher_is_better]}".strip()

    @property
    def direction(self) -> str:
        """The better direction as text."""
        return {True: "higher is better", False: "lower is better", None: "neither is better"}[self.higher_is_better]

    def shares(self, values: Sequence[float]) -> list[float]:
        """Returns the color strength of each value, from 0 for the worst to 1 for the best value.

        The strength is 0 for values that are not finite, and if all values are equal to three decimals.
        """
        faint, strong = self.color_ends(values)
        if not abs(strong - faint) > _LEAST_DIFFERENCE:
            return [0.0] * len(values)
        return [abs(round((v - faint) / (strong - faint), 3)) if math.isfinite(v) else 0.0 for v in values]

    def color_ends(self, values: Sequence[float]) -> tuple[float, float]:
        """Returns the values with the faintest and the strongest color; NaN without finite values."""
        finite = [value for value in values if math.isfinite(value)] or [math.nan]
        return (max(finite), min(finite)) if self.higher_is_better is False else (min(finite), max(finite))

    def text(self, value: float) -> str:
        """Returns a value as text with three decimals, or with one decimal from 10 on."""
        return fixed(value, 3 if abs(value) < 10 else 1)


@cache
def _acronyms() -> frozenset[str]:
    every = {**registry(), **model_registry()}
    return frozenset(name for name, metric in every.items() if metric.__name__.isupper())


def measures_of(members: Sequence[ReportedRun], by: str | None = None) -> list[Measure]:
    """Returns the measures with a value for at least one run. The first measure sorts the runs.

    The first measure is `by` if given, otherwise MIG, or the training ELBO without a MIG. Training measures come last.
    """
    known = {name for member in members for name, value in member.values.items() if not math.isnan(value)}
    names = [name for name in dict.fromkeys(n for member in members for n in member.values) if name in known]
    first = (by or "").strip().lower() or next((m.mig_name for m in members if m.mig is not None), TRAINING[0])
    if by and first not in names:
        raise SpecError(
            f"Expected `by` to be a score of these runs, got {by!r}. {suggestion(first, names)} To compute this score, "
            f"run `unbraid score RUNS --metrics {first}`."
        )
    names.sort(key=lambda name: (name != first, name in TRAINING))
    return [named_measure(name) for name in dict.fromkeys((first, *names))]


def named_measure(name: str) -> Measure:
    """Returns the measure with this name: a metric, or a name in `TRAINING`."""
    if name in TRAINING:
        return Measure(name, _DIRECTIONS[name])
    try:
        metric = metric_of(name)
    except SpecError:  # a custom metric
        return Measure(name)
    return Measure(name, metric.higher_is_better, getattr(metric, "bounds", Measure("").bounds))


def shown_members(members: Sequence[ReportedRun], measure: Measure) -> dict[Role, ReportedRun]:
    """Returns the runs to show in full: the best, the middle and the worst run, or all of one or two runs.

    For an even number of runs, the middle is the worse of the two middle runs.
    """
    ordered = measure.order([member for member in members if not math.isnan(measure.value(member))]) or list(members)
    if len(ordered) == 1:
        return {"only": ordered[0]}
    if len(ordered) == 2:
        return {"best": ordered[0], "worst": ordered[1]}
    return {"best": ordered[0], "middle": ordered[len(ordered) // 2], "worst": ordered[-1]}
