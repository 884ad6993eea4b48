"""The record of where a run was trained: device, versions, and settings of the compiler."""

from collections.abc import Sequence
from typing import Any

import torch

from unbraid._internal import files
from unbraid._internal.version import __version__
from unbraid.training.program import Inductor
from unbraid.training.runs.run import Run

FILE = "environment.json"


def environment(device: torch.device, compiler: Inductor) -> dict[str, Any]:
    """Returns what may change the last bits of a training, beside its spec."""
    is_gpu = device.type == "cuda"
    return {
        "unbraid": __version__,
        "torch": torch.__version__,
        "device": torch.cuda.get_device_name(device) if is_gpu else "CPU",
        "threads": None if is_gpu else torch.get_num_threads(),
        "compiler": compiler.settings if is_gpu else None,
    }


def record_environment(runs: Sequence[Run], step: int, now: dict[str, Any]) -> str | None:
    """Records that these runs are trained side by side in the environment `now` from this step on.

    Returns a warning if they were trained in another environment before.
    """
    moved = []
    for run in runs:
        stretches = kept_stretches(run) if step else []
        last = {name: value for name, value in stretches[-1].items() if name != "from_step"} if stretches else {}
        if last != now:
            files.write_sealed(run.folder / FILE, {"stretches": [*stretches, {"from_step": step, **now}]})
        if last and (changed := [name for name in now if last.get(name) != now[name]]):
            moved.append((run.name, ", ".join(f"{name}: {last.get(name)} before, {now[name]} now" for name in changed)))
    if not moved:
        return None
    name, change = moved[0]
    others = f" and {len(moved) - 1} others resume" if len(moved) > 1 else " resumes"
    return (
        f"{name}{others} from step {step} in another environment ({change}), so the last bits may not be those of a "
        "training that was not interrupted."
    )


def kept_stretches(run: Run) -> list[dict[str, Any]]:
    """Returns the environments in which a run was trained, in order; none if their record cannot be read."""
    try:
        stretches = files.read_sealed(run.folder / FILE).get("stretches")
    except (OSError, ValueError):
        return []
    return stretches if isinstance(stretches, list) else []
