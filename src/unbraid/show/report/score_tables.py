"""The scores as tables: a row for each setting, and a row for each model."""

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

from unbraid.show.report.groups import Group
from unbraid.show.report.measures import Measure
from unbraid.show.report.members import ReportedRun


@final
@dataclass(frozen=True, eq=False)
class SettingRow:
    """A setting, with a cell for each measure.

    A cell is the median over seeds with the least and greatest of them; of a single model, its value and the 95 %
    interval.
    """

    group: Group
    cells: tuple[tuple[str, str], ...]


@final
@dataclass(frozen=True, eq=False)
class ModelRow:
    """A model: the text of each measure, and how strongly the first of them is colored, from 0 to 1."""

    number: int
    member: ReportedRun
    group: Group
    cells: tuple[str, ...]
    share: float
    gaps: tuple[str, ...]

    @property
    def is_strong(self) -> bool:
        return self.share >= 2 / 3


def setting_rows(groups: Sequence[Group], measures: Sequence[Measure]) -> list[SettingRow]:
    return [SettingRow(group, tuple(_cell(group, measure) for measure in measures)) for group in groups]


def model_rows(
    ordered: Sequence[tuple[ReportedRun, Group]], measures: Sequence[Measure], factors: Sequence[str]
) -> list[ModelRow]:
    """Returns a row for each member in this order, with its gaps of these factors."""
    shares = measures[0].shares([measures[0].value(member) for member, _ in ordered])
    return [
        ModelRow(
            number,
            member,
            group,
            tuple(measure.text(measure.value(member)) for measure in measures),
            share,
            tuple(_gap(member, name, measures[0]) for name in factors),
        )
        for number, ((member, group), share) in enumerate(zip(ordered, shares, strict=True), 1)
    ]


def _gap(member: ReportedRun, factor: str, measure: Measure) -> str:
    return measure.text(math.nan if member.mig is None else member.mig.per_factor.get(factor, math.nan))


def _cell(group: Group, measure: Measure) -> tuple[str, str]:
    values = group.values(measure)
    if not values:
        return "–", ""
    if len(group.members) > 1:
        return measure.text(statistics.median(values)), f"{measure.text(min(values))} to {measure.text(max(values))}"
    member = group.members[0]
    score = member.mig if measure.name == member.mig_name else member.scores.get(measure.name)
    ends = None if score is None else score.interval
    return measure.text(values[0]), "" if ends is None else " to ".join(map(measure.text, ends))
