"""Settings that differ in a number, such as beta: the number is an axis, and each family of objectives a line."""

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any, final

from unbraid.recipes.paths import fields_of
from unbraid.report.groups import Group
from unbraid.report.spec_table import flag_of

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
    def colour(self) -> str:
        return self.points[0][1].colour


@final
@dataclass(frozen=True, eq=False)
class Sweep:
    """Holds what varies along one number. `field` is the flag that one types for it; `others` are groups that have no
    such number or only one, to be compared with.
    """

    field: str
    series: tuple[Series, ...]
    others: tuple[Group, ...]

    @property
    def values(self) -> list[float]:
        return sorted({value for each in self.series for value, _ in each.points})

    def share(self, value: float) -> float:
        """Returns where a value lies, from 0 to 1: by its logarithm where values are far apart; evenly spaced where
        that is not possible because of a 0.
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
        kin = [group for group in groups if group.family == family]
        if path := _swept(kin):
            by_path.setdefault(path, []).extend(_series(kin, path))
    inside = {id(group) for found in by_path.values() for each in found for _, group in each.points}
    others = [group for group in groups if id(group) not in inside]
    return [Sweep(flag_of(path), tuple(found), tuple(others)) for path, found in by_path.items() if found], others


def _swept(kin: Sequence[Group]) -> str | None:
    """Returns the path of the number that takes most values among the groups of a family, the objective's first."""
    fields = [fields_of(group.spec) for group in kin]
    numbers = {
        path: {each[path] for each in fields if _is_number(each.get(path))}
        for path in dict.fromkeys(path for each in fields for path in each)
    }
    found = [path for path, values in numbers.items() if len(values) >= LEAST_VALUES]
    return max(found, key=lambda path: (path.startswith("objective."), len(numbers[path])), default=None)


def _series(kin: Sequence[Group], path: str) -> list[Series]:
    """Returns a line for each way in which all else is alike; one value alone makes no line."""
    by_rest: dict[Hashable, dict[float, Group]] = {}
    for group in kin:
        fields = fields_of(group.spec)
        if _is_number(value := fields.pop(path)):
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


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _holds(name: str, path: str) -> bool:
    """Returns whether the field of this name is a recipe that the path goes through."""
    return path.startswith(f"{name}.")
