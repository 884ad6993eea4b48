"""How the runs of a report were made, and how to make them again."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, final

from unbraid._internal import files
from unbraid._internal.amounts import duration
from unbraid._internal.version import __version__
from unbraid.show.report.groups import Group
from unbraid.show.report.members import ReportedRun
from unbraid.training.runs.spec_text import train_command


@final
@dataclass(frozen=True)
class Made:
    """Versions, device and time of training as text, and the commands that repeat the runs and the page."""

    facts: dict[str, str]
    commands: tuple[str, ...]
    report: str


def made(groups: Sequence[Group], command: str) -> Made:
    """Returns the records in the folders of the runs. `command` is the one that wrote the page."""
    members = [member for group in groups for member in group.members]
    stretches = [stretch for member in members for stretch in _stretches(member)]
    facts = {
        "unbraid": _distinct(stretches, "unbraid") or __version__,
        "torch": _distinct(stretches, "torch"),
        "device": _distinct(stretches, "device"),
        "training": _training_time(members),
    }
    commands = dict.fromkeys(train_command(group.spec, group.seeds) for group in groups)
    return Made({name: text for name, text in facts.items() if text}, tuple(commands), command)


def _stretches(member: ReportedRun) -> list[dict[str, Any]]:
    """Returns where a run was trained, in order; nothing if that cannot be read."""
    try:
        found = files.read_sealed(member.run.folder / "environment.json").get("stretches")
    except (OSError, ValueError):
        return []
    return [each for each in found if isinstance(each, dict)] if isinstance(found, list) else []


def _distinct(stretches: Sequence[dict[str, Any]], name: str) -> str:
    return ", ".join(dict.fromkeys(str(stretch[name]) for stretch in stretches if stretch.get(name) is not None))


def _training_time(members: Sequence[ReportedRun]) -> str:
    """Returns how long all fleets took one after the other: the runs of a fleet share their time."""
    fleets: dict[str, float] = {}
    for member in members:
        try:
            record = files.read_json(member.run.folder / "finished.json")
            seconds, fleet = float(record["seconds"]), str(record["fleet"])
        except (OSError, ValueError, TypeError, KeyError):
            continue
        if math.isfinite(seconds):
            fleets[f"{member.run.folder.parent} {fleet}"] = seconds
    if not fleets:
        return ""
    kind = "fleet" if len(fleets) == 1 else "fleets"
    return f"{duration(sum(fleets.values()))} for {len(members):,} models in {len(fleets)} {kind}"
