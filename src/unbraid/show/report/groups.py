"""Groups of runs that differ only in their seeds."""

import itertools
import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

from unbraid._internal.names import kebab_case
from unbraid.config.schedule import extremes
from unbraid.show.pages.svg import family_class
from unbraid.show.report.measures import Measure
from unbraid.show.report.members import ReportedRun
from unbraid.training.runs.spec import RunSpec
from unbraid.training.runs.spec_text import run_labels

_FAINTEST = 0.4


@final
@dataclass(frozen=True, eq=False)
class Group:
    """A group of runs that differ only in their seeds.

    Groups of a family have the same color. `shade` is the opacity that distinguishes them, from 0.4 to 1.
    """

    index: int
    label: str
    members: tuple[ReportedRun, ...]
    shade: float = 1.0

    @property
    def spec(self) -> RunSpec:
        return self.members[0].run.spec

    @property
    def family(self) -> str:
        """The family of the group, which determines its color: the name of the objective."""
        return kebab_case(type(self.spec.objective))

    @property
    def color(self) -> str:
        """The CSS classes of the color of the family."""
        return family_class(self.family)

    @property
    def seeds(self) -> str:
        """The seeds as text for --seeds, such as "0-3,7"."""
        return seed_text([member.run.seed for member in self.members])

    @property
    def collapsed(self) -> str:
        """The number of collapsed runs as text, such as "2 of 8 collapsed"; empty if there are none."""
        count = sum(bool(member.badge) for member in self.members)
        return f"{count} of {len(self.members)} collapsed" if count else ""

    def median(self, measure: Measure) -> float:
        """Returns the median of a measure over the runs, without NaN; NaN if no run has a value."""
        return statistics.median(measure.known(self.members) or [math.nan])

    def cell(self, measure: Measure) -> tuple[str, str]:
        """Returns two texts of a table cell: the median over seeds, and "minimum to maximum".

        For a single run, the texts are the value and its 95 % interval, or an empty text without a finite interval.
        """
        values, member = measure.known(self.members), self.members[0]
        score = member.mig if measure.name == member.mig_name else member.scores.get(measure.name)
        ends = score.interval if score else None
        if values and len(self.members) > 1:
            ends = min(values), max(values)
        if ends is None or not all(map(math.isfinite, ends)):
            return measure.text(self.median(measure)), ""
        return measure.text(self.median(measure)), " to ".join(map(measure.text, ends))


def seed_text(seeds: Sequence[int]) -> str:
    """Returns seeds as text for --seeds, such as "0-3,7" for 0, 1, 2, 3 and 7."""
    runs = itertools.groupby(enumerate(sorted(seeds)), key=lambda each: each[1] - each[0])
    ranges = [[seed for _, seed in run] for _, run in runs]
    return ",".join(f"{each[0]}-{each[-1]}" if len(each) > 1 else str(each[0]) for each in ranges)


def group_members(members: Sequence[ReportedRun]) -> list[Group]:
    """Returns one group for each spec. Specs are compared by the recorded digest.

    Objectives are in the order of their first occurrence. Groups of an objective are sorted by its hyperparameters.
    """
    by_digest: dict[str, list[ReportedRun]] = {}
    for member in members:
        by_digest.setdefault(member.run.digest, []).append(member)
    kinds = list(dict.fromkeys(type(member.run.spec.objective) for member in members))

    def key(group: list[ReportedRun]) -> tuple[int, list[tuple[str, float, float]]]:
        objective = group[0].run.spec.objective
        weights = [(name, *extremes(weight)) for name, weight in objective.hyperparameters.items()]
        return kinds.index(type(objective)), weights

    ordered = sorted(by_digest.values(), key=key)
    labels = run_labels([group[0].run for group in ordered])
    families = [type(group[0].run.spec.objective) for group in ordered]
    return [Group(index, labels[index], tuple(group), _shade(index, families)) for index, group in enumerate(ordered)]


def _shade(index: int, families: Sequence[type]) -> float:
    """Returns the opacity of a group, from 0.4 for the first to 1 for the last group of a family."""
    same_family = [place for place, family in enumerate(families) if family == families[index]]
    share = 1.0 if len(same_family) == 1 else same_family.index(index) / (len(same_family) - 1)
    return round(_FAINTEST + (1 - _FAINTEST) * share, 2)
