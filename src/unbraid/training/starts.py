"""Which runs start together, and from which step."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import final

from unbraid.runs.history import History
from unbraid.runs.run import Run
from unbraid.training.checkpoint import Checkpoint, load_checkpoint, usable_checkpoints
from unbraid.training.state import MemberState, layout


@final
@dataclass(frozen=True)
class Start:
    """Holds a fleet to be: its runs, and the checkpoints that they go on from, all of one step. Without any, they start
    at the beginning.
    """

    runs: tuple[Run, ...]
    checkpoints: tuple[Checkpoint, ...] = ()

    @property
    def step(self) -> int:
        return self.checkpoints[0].step if self.checkpoints else 0

    def states(self) -> list[MemberState]:
        """Returns what the checkpoints hold, read anew."""
        if not self.checkpoints:
            return []
        of_member = layout(self.runs[0].spec)
        return [load_checkpoint(*each, of_member) for each in zip(self.runs, self.checkpoints, strict=True)]

    def histories(self) -> list[History]:
        """Returns what was logged of each run until this step, to be continued."""
        logged = [checkpoint.history for checkpoint in self.checkpoints]
        return [History(each.columns, list(each.rows)) for each in logged] or [History() for _ in self.runs]

    def split(self, sizes: Sequence[int]) -> list["Start"]:
        """Returns the same in smaller fleets."""
        ends = [sum(sizes[: number + 1]) for number in range(len(sizes))]
        return [
            Start(self.runs[end - size : end], self.checkpoints[end - size : end])
            for size, end in zip(sizes, ends, strict=True)
        ]


def starts(runs: Sequence[Run]) -> list[Start]:
    """Returns all the runs, in fleets of those that were trained side by side before, and one of those that were not
    begun.

    Two checkpoints of each run are kept, and all members of a fleet are checkpointed together, so whenever the process
    dies there is a step that all of them have; it is 0 if it died within the first checkpoint. Only where files were
    lost or damaged must a fleet be split.
    """
    if not any((run.folder / "checkpoints").exists() for run in runs):
        return [Start(tuple(runs))] if runs else []
    of_member = layout(runs[0].spec)
    found = [(run, usable_checkpoints(run, of_member)) for run in runs]
    return [start for company in _companies(found) for start in _of_a_company(company)]


Found = Sequence[tuple[Run, Mapping[int, Checkpoint]]]


def _companies(found: Found) -> list[Found]:
    """Returns the runs by the fleet that they were in: a run says so by its newest checkpoint, and speaks for those
    that have none.
    """
    own = {run.name: checkpoints[max(checkpoints)].fleet for run, checkpoints in found if checkpoints}
    of_others = {name: fleet for fleet in own.values() for name in fleet}
    companies: dict[tuple[str, ...], list[tuple[Run, Mapping[int, Checkpoint]]]] = defaultdict(list)
    for run, checkpoints in found:
        companies[(of_others | own).get(run.name, ())].append((run, checkpoints))
    return list(companies.values())


def _of_a_company(found: Found) -> list[Start]:
    """Returns the company, from the newest step that all of it has, or else in parts that each have one."""
    available = [{0, *checkpoints} for _, checkpoints in found]
    newest = [max(steps) for steps in available]
    steps = set().union(*available)
    common = max(steps.intersection(*available))
    if common > 0 or len(steps) == 2:
        newest = [common] * len(newest)
    parts: dict[int, list[tuple[Run, Mapping[int, Checkpoint]]]] = defaultdict(list)
    for each, step in zip(found, newest, strict=True):
        parts[step].append(each)
    return [
        Start(tuple(run for run, _ in part), tuple(checkpoints[step] for _, checkpoints in part if step))
        for step, part in parts.items()
    ]
