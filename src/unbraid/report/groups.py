"""Members of one spec: what a report compares."""

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

from unbraid.report.members import Ranking, ReportedRun
from unbraid.runs.run_labels import run_labels
from unbraid.runs.spec import RunSpec
from unbraid.schedule import extremes


@final
@dataclass(frozen=True, eq=False)
class Group:
    """A group of members that differ only in their seeds. `index` gives them their colour."""

    index: int
    label: str
    members: tuple[ReportedRun, ...]

    @property
    def spec(self) -> RunSpec:
        return self.members[0].run.spec

    @property
    def seeds(self) -> str:
        return ", ".join(str(seed) for seed in sorted(member.run.seed for member in self.members))

    @property
    def num_collapsed(self) -> int:
        """Returns how many of its members have fewer than two latents in use."""
        return sum(bool(member.badge) for member in self.members)

    @property
    def collapsed(self) -> str:
        """Returns what to say beside a median, if there is anything."""
        return f"{self.num_collapsed} of {len(self.members)} collapsed" if self.num_collapsed else ""

    def values(self, ranking: Ranking) -> list[float]:
        """Returns the values that are known, best first."""
        return sorted((value for value in map(ranking.value, self.members) if not math.isnan(value)), reverse=True)

    def median(self, ranking: Ranking) -> float:
        return statistics.median(self.values(ranking) or [math.nan])


def group_members(members: Sequence[ReportedRun]) -> list[Group]:
    """Returns one group for each spec, as it was when its runs were begun: the objectives in the order in which they
    first come, those of a kind by their hyperparameters.
    """
    by_digest: dict[str, list[ReportedRun]] = {}
    for member in members:
        by_digest.setdefault(member.run.digest, []).append(member)
    kinds = list(dict.fromkeys(type(member.run.spec.objective) for member in members))
    specs = {digest: of_spec[0].run.spec for digest, of_spec in by_digest.items()}
    order = sorted(specs, key=lambda digest: (kinds.index(type(specs[digest].objective)), _weights(specs[digest])))
    labels = run_labels([by_digest[digest][0].run for digest in order])
    return [Group(index, labels[index], tuple(by_digest[digest])) for index, digest in enumerate(order)]


def _weights(spec: RunSpec) -> list[tuple[str, float, float]]:
    """Returns the numbers of the objective, in an order that schedules fit into too."""
    return [(name, *extremes(weight)) for name, weight in spec.objective.hyperparameters.items()]
