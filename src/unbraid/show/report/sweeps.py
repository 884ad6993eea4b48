"""Settings that differ in a number, such as beta: the number is an axis, and each family of objectives a line."""

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any, final

from unbraid.config.paths import fields_of
from unbraid.show.report.groups import Group
from unbraid.show.report.spec_table import flag_of
from unbraid.training.runs.spec import RunSpec

# With fewer values a number is not an axis yet: they are strips.
LEAST_VALUES = 3
# Values that lie further apart than this are spaced by their logarithms.
_LOG_RATIO = 8.0


@final
@dataclass(frozen=True, eq=False)
class Series:
    """Holds the groups that differ in the number alone, in its order, each behind its value."""

    label: str
    points: tuple[tuple[float, Group], ...]

    @property
    def color(self) -> str:
        return self.points[0][1].color


@final
@dataclass(frozen=True, eq=False)
class Sweep:
    """Series that vary along one number.

    `field` is its flag; `others` are groups that have no such number or only one, to be compared with.
    """

    field: str
    series: tuple[Series, ...]
    others: tuple[Group, ...]

    @property
    def values(self) -> list[float]:
        return sorted({value for each in self.series for value, _ in each.points})

    def share(self, value: float) -> float:
        """Returns the place of a value, from 0 to 1.

        Values that are far apart are spaced by their logarithms; evenly where that is not possible because of a 0.
        """
        values = self.values
        if values[-1] <= 0 or values[-1] < _LOG_RATIO * abs(values[0]):
            return (value - values[0]) / (values[-1] - values[0])
        if values[0] <= 0:
            return values.index(value) / (len(values) - 1)
        return math.log(value / values[0]) / math.log(values[-1] / values[0])


def sweeps_of(groups: Sequence[Group]) -> tuple[list[Sweep], list[Group]]:
    """Returns the sweeps, one for each number that varies, and the groups that are in none."""
    by_path: dict[str, list[Series]] = {}
    for family in dict.fromkeys(group.family for group in groups):
        members = [group for group in groups if group.family == family]
        if path := swept_path([group.spec for group in members], LEAST_VALUES):
            by_path.setdefault(path, []).extend(_series(members, path))
    inside = {id(group) for found in by_path.values() for each in found for _, group in each.points}
    others = [group for group in groups if id(group) not in inside]
    return [Sweep(flag_of(path), tuple(found), tuple(others)) for path, found in by_path.items() if found], others


def swept_path(specs: Sequence[RunSpec], least_values: int = 2) -> str | None:
    """Returns the path of the number that takes most values among these specs, at least `least_values`.

    A number of the objective comes first.
    """
    fields = [fields_of(spec) for spec in specs]
    numbers = {
        path: {each[path] for each in fields if is_plain_number(each.get(path))}
        for path in dict.fromkeys(path for each in fields for path in each)
    }
    found = [path for path, values in numbers.items() if len(values) >= least_values]
    return max(found, key=lambda path: (path.startswith("objective."), len(numbers[path])), default=None)


def _series(members: Sequence[Group], path: str) -> list[Series]:
    """Returns a line for each way in which all else is alike; one value alone makes no line."""
    by_rest: dict[Hashable, dict[float, Group]] = {}
    for group in members:
        fields = fields_of(group.spec)
        if is_plain_number(value := fields.pop(path)):
            rest = repr({name: each for name, each in fields.items() if not _holds(name, path)})
            by_rest.setdefault(rest, {})[float(value)] = group
    lines = [dict(sorted(each.items())) for each in by_rest.values() if len(each) > 1]
    return [Series(_label(each, len(lines), path), tuple(each.items())) for each in lines]


def _label(points: dict[float, Group], num_lines: int, path: str) -> str:
    group = next(iter(points.values()))
    if num_lines == 1:
        return group.family
    swept = path.rpartition(".")[2].replace("_", " ")
    return ", ".join(word for word in group.label.split(", ") if not word.startswith(f"{swept} "))


def is_plain_number(value: Any) -> bool:
    """Returns whether a field holds an int or a float, and no schedule or bool."""
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _holds(name: str, path: str) -> bool:
    """Returns whether the field of this name is a config that the path goes through."""
    return path.startswith(f"{name}.")
