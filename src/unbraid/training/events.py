"""What training tells those who watch it."""

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import final

import torch

from unbraid.runs.run import Run
from unbraid.training.sizing import Memory

log = logging.getLogger(__name__)


@final
@dataclass(frozen=True)
class TrainingPlan:
    """The fleets of one kind of model that are about to be trained, one after the other.

    Told before the first of them, and again with those that are left when memory turned out to be short and they were
    made smaller. `memory` is what was measured; a single model is not measured. `num_later` models
    are trained after these: those of other kinds, and those for whose locks there is no room yet.
    """

    fleets: Sequence[Sequence[Run]]
    num_steps: int
    device: torch.device
    memory: Memory | None
    num_later: int


@final
@dataclass(frozen=True)
class Compiling:
    """The step of a fleet is being compiled; it has been, where `seconds` says how long it took."""

    runs: Sequence[Run]
    seconds: float | None = None


@final
@dataclass(frozen=True)
class Progress:
    """Where a fleet stands.

    Neither speed nor time counts what came before the first step. `seconds_left` is that of all fleets of the plan, and
    infinite until steps have been measured; what `num_later` other models take is not known yet.
    """

    runs: Sequence[Run]
    step: int
    num_steps: int
    steps_per_second: float
    seconds_left: float
    losses: dict[str, list[float]]
    """By name, one number a member, as of the last step at which they were written down."""
    num_later: int = 0


@final
@dataclass(frozen=True)
class Encoding:
    """A fleet is trained; these members encode the images and are written down."""

    runs: Sequence[Run]


Event = TrainingPlan | Compiling | Progress | Encoding
Watch = Callable[[Event], None]
Warn = Callable[[str], None]


def ignore(event: Event) -> None:
    """Does nothing."""


def log_warning(message: str) -> None:
    """Logs what a person should know. Unless logging is set up otherwise, Python prints it on standard error."""
    log.warning(message)
