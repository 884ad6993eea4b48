"""Grouping of new and interrupted runs into fleets, and the steps from which fleets start."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import final

from unbraid.training.checkpoint import Checkpoint, load_checkpoint, usable_checkpoints
from unbraid.training.runs.history import History
from unbraid.training.runs.run import Run
from unbraid.training.sizing import fleet_sizes
from unbraid.training.state import MemberState, layout


@final
@dataclass(frozen=True)
class Start:
    """Runs of a fleet, and their checkpoints of a common step. Without checkpoints, the runs start at step 0."""

    runs: tuple[Run, ...]
    checkpoints: tuple[Checkpoint, ...] = ()

    @property
    def step(self) -> int:
        return self.checkpoints[0].step if self.checkpoints else 0

    def states(self) -> list[MemberState]:
        """Loads the states in the checkpoints."""
        if not self.checkpoints:
            return []
        of_member = layout(self.runs[0].spec)
        return [load_checkpoint(*each, of_member) for each in zip(self.runs, self.checkpoints, strict=True)]

    def histories(self) -> list[History]:
        """Returns a copy of the history of each run up to the start step."""
        logged = [checkpoint.history for checkpoint in self.checkpoints]
        return [History(each.columns, list(each.rows)) for each in logged] or [History() for _ in self.runs]

    def split_to(self, capacity: int) -> list["Start"]:
        """Splits the runs into the fewest fleets of at most `capacity` members, of nearly equal sizes."""
        runs, checkpoints = iter(self.runs), iter(self.checkpoints)
        sizes = fleet_sizes(len(self.runs), capacity)
        return [Start(tuple(islice(runs, size)), tuple(islice(checkpoints, size))) for size in sizes]


def starts(runs: Sequence[Run]) -> list[Start]:
    """Groups runs into fleets: runs that were trained side by side stay together, and new runs form one fleet.

    All members of a fleet are checkpointed together, and the last two checkpoints of each run are kept. After a crash,
    all members therefore share a step, which is 0 after a crash during the first checkpoint. A fleet is split only if
    files were lost or damaged.
    """
    if not any((run.folder / "checkpoints").exists() for run in runs):
        return [Start(tuple(runs))] if runs else []
    of_member = layout(runs[0].spec)
    resumable = [_ResumableRun(run, usable_checkpoints(run, of_member)) for run in runs]
    return [start for group in _group_by_previous_fleet(resumable) for start in _resume_points(group)]


@final
@dataclass(frozen=True)
class _ResumableRun:
    """Run with its usable checkpoints by step."""

    run: Run
    checkpoints: Mapping[int, Checkpoint]


def _group_by_previous_fleet(runs: Sequence[_ResumableRun]) -> list[list[_ResumableRun]]:
    """Groups interrupted runs by the fleet they were trained in, so that each group can resume together.

    A checkpoint lists the members of its fleet. A run without a checkpoint joins the fleet that lists the run. Runs in
    no list form a group of new runs.
    """
    own = {each.run.name: each.checkpoints[max(each.checkpoints)].fleet for each in runs if each.checkpoints}
    fleet_of = {name: fleet for fleet in own.values() for name in fleet} | own
    groups: dict[tuple[str, ...], list[_ResumableRun]] = defaultdict(list)
    for each in runs:
        groups[fleet_of.get(each.run.name, ())].append(each)
    return list(groups.values())


def _resume_points(group: Sequence[_ResumableRun]) -> list[Start]:
    """Returns one start at the newest step that all members share, or several starts if files were lost."""
    available = [{0, *each.checkpoints} for each in group]
    steps = set().union(*available)
    common = max(steps.intersection(*available))
    newest = [common if common > 0 or len(steps) == 2 else max(of_run) for of_run in available]
    parts: dict[int, list[_ResumableRun]] = defaultdict(list)
    for each, step in zip(group, newest, strict=True):
        parts[step].append(each)
    return [
        Start(tuple(each.run for each in part), tuple(each.checkpoints[step] for each in part if step))
        for step, part in parts.items()
    ]
