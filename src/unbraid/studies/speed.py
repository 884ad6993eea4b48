"""How long fleets take, from a short measurement."""

import time
from collections.abc import Callable
from typing import final

import torch

from unbraid.memory import give_back_memory
from unbraid.studies.plan import StudyFleet
from unbraid.training.compiler import Inductor
from unbraid.training.fleet import Fleet
from unbraid.training.placement import load_or_stream
from unbraid.training.program import Programs
from unbraid.training.state import Member

_SECONDS = 1.0
_WARM_UP = 2
_MOST_STEPS = 50


@final
class Speed:
    """Knows how long a fleet takes: as kin of it took, or by some steps of it that are then forgotten."""

    def __init__(self, device: torch.device, clock: Callable[[], float] = time.perf_counter) -> None:
        self._device, self._clock = device, clock
        self._per_model_step: dict[str, float] = {}

    def learn(self, fleet: StudyFleet, seconds: float) -> None:
        """Remembers that a whole fleet took so many seconds, for others of its kind."""
        self._per_model_step[fleet.kind] = seconds / (fleet.num_steps * len(fleet.runs))

    def seconds(self, fleet: StudyFleet, num_models: int | None = None) -> float:
        """Returns about how long the fleet takes, with so many of its models. Kinds that are not known are measured."""
        if fleet.kind not in self._per_model_step:
            self._per_model_step[fleet.kind] = self._measured(fleet)
        count = len(fleet.runs) if num_models is None else num_models
        return self._per_model_step[fleet.kind] * fleet.num_steps * count

    def _measured(self, fleet: StudyFleet) -> float:
        """Returns the seconds per model and step of a fleet, compiled as it will be."""
        images = load_or_stream(fleet.spec, self._device, None)
        members = [Member(each.setting.spec, each.seed) for each in fleet.runs]
        trained = Fleet(members, images, programs=Programs(Inductor(False)))
        try:
            trained.prepare()
            for _ in range(_WARM_UP):
                trained.advance(log=False)
            began, steps = self._now(), 0
            while steps < _MOST_STEPS and (steps == 0 or self._now() - began < _SECONDS):
                trained.advance(log=False)
                steps += 1
            return (self._now() - began) / (steps * len(members))
        finally:
            del trained
            give_back_memory(self._device)

    def _now(self) -> float:
        if self._device.type == "cuda":
            torch.cuda.synchronize(self._device)
        return self._clock()
