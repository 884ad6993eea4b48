"""Where a run was trained: on which device, by which versions, with which settings of the compiler."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, final

import torch

from unbraid._internal import files
from unbraid._internal.version import __version__
from unbraid.training.program import Inductor
from unbraid.training.runs.run import Run

FILE = "environment.json"
_Device = torch.device  # within the class, torch is the name of its version


@final
@dataclass(frozen=True)
class Environment:
    """Holds what may change the last bits of a training beside its spec.

    `threads` counts those of a CPU; `compiler` holds the settings with which steps are compiled for a GPU.
    """

    unbraid: str
    torch: str
    device: str
    threads: int | None
    compiler: dict[str, Any] | None

    @classmethod
    def of(cls, device: _Device, compiler: Inductor) -> "Environment":
        if device.type == "cuda":
            name = torch.cuda.get_device_name(device)
            return cls(__version__, torch.__version__, name, None, compiler.settings)
        return cls(__version__, torch.__version__, "CPU", torch.get_num_threads(), None)

    def record(self, runs: Sequence[Run], step: int) -> str | None:
        """Writes down that these runs, side by side, are trained here from this step on.

        Returns a sentence if they come from another environment.
        """
        before = [self._record(run, step) for run in runs]
        moved = [(run, changes) for run, changes in zip(runs, before, strict=True) if changes]
        if not moved:
            return None
        run, changes = moved[0]
        others = f" and {len(moved) - 1} others resume" if len(moved) > 1 else " resumes"
        return (
            f"{run.name}{others} from step {step} in another environment ({changes}), so the last bits may not be "
            "those of a training that was not interrupted."
        )

    def _record(self, run: Run, step: int) -> str:
        """Writes it down for one run. Returns what has changed since it was last trained."""
        stretches = kept_stretches(run) if step else []
        last = {name: value for name, value in stretches[-1].items() if name != "from_step"} if stretches else {}
        now = asdict(self)
        if last != now:
            stretches = [*stretches, {"from_step": step, **now}]
            files.write_sealed(run.folder / FILE, {"stretches": stretches})
        changed = [name for name in now if last and last.get(name) != now[name]]
        return ", ".join(f"{name}: {last.get(name)} before, {now[name]} now" for name in changed)


def kept_stretches(run: Run) -> list[dict[str, Any]]:
    """Returns where a run was trained so far, in order; nothing if that cannot be read."""
    try:
        stretches = files.read_sealed(run.folder / FILE).get("stretches")
    except (OSError, ValueError):
        return []
    return stretches if isinstance(stretches, list) else []
