"""Measures that sort and color the models of a report: saved scores and final training measures."""

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
    """A measure for comparing models, with its name on the command line.

    `bounds` are its smallest and largest possible values. If `higher_is_better` is None, neither direction is better,
    and models are sorted from the largest value.
    """

    name: str
    higher_is_better: bool | None = True
    bounds: tuple[float, float] = (-math.inf, math.inf)

    def value(self, member: ReportedRun) -> float:
        """Returns the value of the member; NaN if it is unknown."""
        return member.values.get(self.name, math.nan)

    def known(self, members: Sequence[ReportedRun]) -> list[float]:
        """Returns the values of the members that have one."""
        return [value for value in map(self.value, members) if not math.isnan(value)]

    def order(self, members: Sequence[ReportedRun]) -> list[ReportedRun]:
        """Returns the members, best first; those without a value last, in the order given."""
        sign = 1 if self.higher_is_better is False else -1

        def key(member: ReportedRun) -> tuple[bool, float]:
            value = self.value(member)
            return math.isnan(value), sign * value if math.isfinite(value) else 0.0

        return sorted(members, key=key)

    @property
    def label(self) -> str:
        """The name in the spelling of papers: "MIG" for `mig`. Names that are not acronyms are unchanged."""
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
        """Returns the color strength of each value, from 0 for the worst or an unknown value to 1 for the best.

        If all values are the same to three decimals, all have strength 0.
        """
        faint, strong = self.color_ends(values)
        if not abs(strong - faint) > _LEAST_DIFFERENCE:
            return [0.0] * len(values)
        return [abs(round((v - faint) / (strong - faint), 3)) if math.isfinite(v) else 0.0 for v in values]

    def color_ends(self, values: Sequence[float]) -> tuple[float, float]:
        """Returns the values with the faintest and the strongest color; NaN if no value is known."""
        finite = [value for value in values if math.isfinite(value)] or [math.nan]
        return (max(finite), min(finite)) if self.higher_is_better is False else (min(finite), max(finite))

    def text(self, value: float) -> str:
        """Returns a value with three decimals, or one if it is large."""
        return fixed(value, 3 if abs(value) < 10 else 1)


@cache
def _acronyms() -> frozenset[str]:
    every = {**registry(), **model_registry()}
    return frozenset(name for name, metric in every.items() if metric.__name__.isupper())


def measures_of(members: Sequence[ReportedRun], by: str | None = None) -> list[Measure]:
    """Returns every measure that some member has, with the sorting measure first.

    The sorting measure is the requested one, else MIG, else the final training ELBO. Training measures come last.
    """
    known = {name for member in members for name, value in member.values.items() if not math.isnan(value)}
    names = [name for name in dict.fromkeys(n for member in members for n in member.values) if name in known]
    first = (by or "").strip().lower() or next((m.mig_name for m in members if m.mig is not None), TRAINING[0])
    if by and first not in names:
        raise SpecError(
            f"by is {by!r}, and no run of the report has this score. {suggestion(first, names)} "
            f"To compute it, run `unbraid score RUNS --metrics {first}`."
        )
    names.sort(key=lambda name: (name != first, name in TRAINING))
    return [named_measure(name) for name in dict.fromkeys((first, *names))]


def named_measure(name: str) -> Measure:
    """Returns the measure of a score or of training by its name."""
    if name in TRAINING:
        return Measure(name, _DIRECTIONS[name])
    try:
        metric = metric_of(name)
    except SpecError:  # a metric of the user's own
        return Measure(name)
    return Measure(name, metric.higher_is_better, getattr(metric, "bounds", Measure("").bounds))


def shown_members(members: Sequence[ReportedRun], measure: Measure) -> dict[Role, ReportedRun]:
    """Returns the members to show in full: the best, the middle and the worst, or fewer if there are fewer than three.

    For an even number of members, the middle is the lower of the two middle members.
    """
    ordered = measure.order([member for member in members if not math.isnan(measure.value(member))]) or list(members)
    if len(ordered) == 1:
        return {"only": ordered[0]}
    if len(ordered) == 2:
        return {"best": ordered[0], "worst": ordered[1]}
    return {"best": ordered[0], "middle": ordered[len(ordered) // 2], "worst": ordered[-1]}
