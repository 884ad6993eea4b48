"""Conversion of a budget of epochs or minutes to a number of steps."""

import functools
import hashlib
import json
import math
import time
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

import torch

from unbraid._internal import files
from unbraid._internal.device import resolve_device
from unbraid._internal.memory import give_back_memory, keep_freed_memory
from unbraid._internal.progress import Event, part_of
from unbraid.config.annotations import check_value
from unbraid.datasets.dataset import FactorImages
from unbraid.errors import RunError, SpecError
from unbraid.training.batches import load_or_stream
from unbraid.training.compilation import CompileCache, Inductor
from unbraid.training.fleet import Fleet
from unbraid.training.runs.run import Run
from unbraid.training.runs.spec import RunSpec
from unbraid.training.sizing import fleet_sizes, measured
from unbraid.training.state import Member, fleet_key

_SECONDS_TO_TIME = 1.0
_MAX_STEPS_TO_TIME = 50


def with_budget(
    runs: Sequence[Run], device: torch.device | str, *, epochs: float | None, minutes: float | None
) -> list[Run]:
    """Sets the number of steps of runs for a number of epochs or minutes. Does nothing if both are None."""
    if epochs is not None and minutes is not None:
        raise SpecError(f"Expected at most one of epochs and minutes, got {epochs} and {minutes}. Omit one.")
    if epochs is not None:
        return with_epochs(runs, epochs)
    return list(runs) if minutes is None else with_minutes(runs, minutes, device)


def with_epochs(runs: Sequence[Run], epochs: float) -> list[Run]:
    """Sets the number of steps of runs for a number of epochs. An epoch has as many images as the training data."""
    number = _positive("epochs", epochs)

    @functools.cache
    def num_steps(spec: RunSpec) -> int:
        num_images = spec.dataset.num_images if spec.subset is None else len(spec.training_data.open())
        return max(1, math.ceil(number * num_images / spec.batch_size))

    return [_with_steps(run, num_steps(run.spec)) for run in runs]


def with_minutes(runs: Sequence[Run], minutes: float, device: torch.device | str) -> list[Run]:
    """Sets the number of steps of runs so that the training of all runs together takes about this time.

    Steps of the actual fleets are timed, without compiling and encoding. The number is stored in `.budgets` next to the
    runs, so that the same call finds or resumes the same runs.
    """
    place, number = resolve_device(device), _positive("minutes", minutes)
    if not runs:
        return []
    key = [number, place.type, *(_with_steps(run, 1).name for run in runs)]
    digest = hashlib.sha256(json.dumps(key).encode()).hexdigest()[:12]
    path = runs[0].folder.parent / ".budgets" / f"{digest}.json"
    if path.exists():
        num_steps = _recorded(path)
    else:
        num_steps = max(1, round(60 * number / _seconds_of_all([Member(run.spec, run.seed) for run in runs], place)))
        files.write_sealed(path, {"minutes": number, "num_steps": num_steps})
    return [_with_steps(run, num_steps) for run in runs]


def seconds_per_step(members: Sequence[Member], images: FactorImages) -> float:
    """Measures the time of a compiled training step of a fleet in seconds, from a few steps."""

    def now() -> float:
        if images.device.type == "cuda":
            torch.cuda.synchronize(images.device)
        return time.perf_counter()

    trained = Fleet(members, images, cache=CompileCache(Inductor(deterministic=False)))
    try:
        trained.prepare()
        for _ in range(2):  # to warm up
            trained.advance(log=False)
        began, steps = now(), 0
        while steps < _MAX_STEPS_TO_TIME and (steps == 0 or now() - began < _SECONDS_TO_TIME):
            trained.advance(log=False)
            steps += 1
        return (now() - began) / steps
    finally:
        del trained
        give_back_memory(images.device)


def _with_steps(run: Run, num_steps: int) -> Run:
    return Run.place(run.folder.parent, run.spec.with_(num_steps=num_steps), run.seed)


def _seconds_of_all(members: Sequence[Member], device: torch.device) -> float:
    """Measures the time of one step of all members in seconds, in fleets of the actual sizes."""
    if device.type == "cpu":
        keep_freed_memory()
    fleets: dict[str, list[Member]] = defaultdict(list)
    for member in members:
        fleets[fleet_key(member.spec)].append(member)
    seconds = 0.0
    for number, fleet in enumerate(fleets.values()):
        with part_of(Event("timing", number, len(fleets), "fleets")):
            images = load_or_stream(fleet[0].spec, device)
            sizes = [1] if len(fleet) == 1 else fleet_sizes(len(fleet), measured(fleet, images).capacity)
            seconds += len(fleet) / sizes[0] * seconds_per_step(fleet[: sizes[0]], images)
    return seconds


def _recorded(path: Path) -> int:
    try:
        return check_value(files.read_sealed(path)["num_steps"], int, "num_steps")
    except (OSError, ValueError, KeyError, SpecError) as error:
        raise RunError(
            f"{path} cannot be read ({error}). Restore the file, or remove it to time the steps again: runs then get "
            "another number of steps, and other names."
        ) from None


def _positive(name: str, value: float) -> float:
    number: float = check_value(value, float, name)
    if not 0 < number < math.inf:
        raise SpecError(f"{name} is {value}; expected a finite number > 0. Use e.g. {name}=10.")
    return number
