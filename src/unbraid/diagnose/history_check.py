"""Whether training was over: the loss leveled off, still fell, rose, or was lost."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

from unbraid._internal.amounts import short
from unbraid.config.schedule import Schedule
from unbraid.diagnose.diagnosis import Finding, State
from unbraid.diagnose.remedies import Remedy
from unbraid.diagnose.trend import FEWEST, LineTrend, trend
from unbraid.diagnose.words import nats
from unbraid.training.runs.history import History
from unbraid.training.runs.run_folder import Failure
from unbraid.training.runs.spec import RunSpec

NAME = "length of training"


@final
@dataclass(frozen=True)
class _Curve:
    """Holds what is judged: its name in a sentence, and its numbers where they are finite."""

    name: str
    steps: list[float]
    values: list[float]
    is_adversarial: bool = False


def check_history(history: History, spec: RunSpec | None = None) -> Finding:
    """Returns how the loss ended: level, which is fine, or falling, rising, or not a number.

    Of an objective with a critic, whose loss is a game, the distortion is judged, and the rate with it, if it has one.
    """
    losses = history["loss"] if "loss" in history.columns else []
    if losses and not math.isfinite(losses[-1]):
        return _lost(history["step"], losses, spec)
    curve = _judged(history, spec)
    found = trend(curve.steps, curve.values)
    if found is None:
        count = len(curve.values)
        says = (
            f"The history has {count} rows{', too few' if count < FEWEST else ' that are too uneven'} to see a trend."
        )
        return Finding(NAME, "unknown", says)
    numbers = {
        "judged": curve.name,
        "first": found.first,
        "last": found.last,
        "gained": found.gained,
        "moved": found.moved,
        "clarity": found.clarity if math.isfinite(found.clarity) else None,
    }
    state, says, remedies = _verdict(curve.name, found, int(curve.steps[-1]), spec)
    if curve.is_adversarial:
        says += " (The loss has an adversarial term, whose trend says little.)"
    return Finding(NAME, state, says, numbers, remedies)


def check_failure(failure: Failure, history: History, spec: RunSpec) -> Finding:
    """Returns why a run failed, and what to try."""
    says = f"Training failed at step {failure.step:,} of {spec.num_steps:,}: {failure.reason}."
    steps, losses = (history[name] if name in history.columns else [] for name in ("step", "loss"))
    if losses:
        says += f" The last loss that was logged was {nats(losses[-1])} per image, at step {int(steps[-1]):,}."
    numbers = {"failed_at": failure.step, "last": losses[-1] if losses else None}
    return Finding(NAME, "look", says, numbers, (Remedy("train again", _slower(spec)),))


def _judged(history: History, spec: RunSpec | None) -> _Curve:
    has_critic = spec is not None and spec.objective.critic_reads is not None
    names = ["distortion", "rate"] if has_critic and "distortion" in history.columns else ["loss"]
    names = [name for name in names if name in history.columns]
    if not names:
        return _Curve("The loss", [], [])
    columns = zip(*(history[name] for name in names), strict=True)
    rows = [(step, sum(parts)) for step, parts in zip(history["step"], columns, strict=True)]
    kept = [(step, value) for step, value in rows if math.isfinite(value)]
    name = "Distortion plus rate" if len(names) > 1 else f"The {names[0]}"
    return _Curve(name, [step for step, _ in kept], [value for _, value in kept], names != ["loss"])


def _verdict(
    name: str, found: LineTrend, num_steps: int, spec: RunSpec | None
) -> tuple[State, str, tuple[Remedy, ...]]:
    last = nats(found.last)
    if found.is_rising:
        says = (
            f"{name} was rising at the end: over the last tenth of training it was {last} per image, over the tenth "
            f"before {short(found.before)}."
        )
        return "look", says, (_after_a_rise(spec),)
    if found.is_falling:
        says = (
            f"{name} was still falling: the last tenth of training brought it down by {nats(found.gained)}, to {last} "
            "per image."
        )
        text = (
            f"Train longer: twice the steps ({2 * num_steps:,} instead of {num_steps:,}). What latents hold may still "
            "change."
        )
        return "look", says, (Remedy("train longer", text),)
    if found.has_risen:
        says = f"{name} ended higher than it began: at {last} per image, after {short(found.first)}."
        return "look", says, (_after_a_rise(spec),)
    why = f"the last tenth of training moved it by {nats(abs(found.gained))}"
    if not found.has_slope:
        why = "over the last third of training it has no trend beyond its noise"
    return "fine", f"{name} had leveled off at {last} per image: {why}.", ()


def _after_a_rise(spec: RunSpec | None) -> Remedy:
    if spec is not None and any(isinstance(weight, Schedule) for weight in spec.objective.hyperparameters.values()):
        return Remedy(
            "look",
            "A weight of this objective follows a schedule, which may raise the loss as it should: see whether "
            "distortion and rate in the history go where the schedule leads them.",
        )
    return Remedy("train again", f"{_slower(spec)[:-1]}; or take an earlier snapshot.")


def _lost(steps: Sequence[float], losses: Sequence[float], spec: RunSpec | None) -> Finding:
    """Returns the finding for a loss that was not finite when training ended."""
    num_finite = next(count for count in range(len(losses), -1, -1) if count == 0 or math.isfinite(losses[count - 1]))
    step = int(steps[num_finite])
    says = f"The loss is not a finite number from step {step:,} on: training diverged, and the model is of no use."
    numbers = {"last": losses[-1], "not_finite_from": step}
    return Finding(NAME, "look", says, numbers, (Remedy("train again", _slower(spec)),))


def _slower(spec: RunSpec | None) -> str:
    """Returns how to train so that the loss does not run away."""
    rate, norm = (None, None) if spec is None else (spec.optimizer.learning_rate, spec.max_gradient_norm)
    slower = f" ({short(float(f'{rate / 3:.1g}'))} instead of {short(rate)})" if isinstance(rate, float) else ""
    clipped = "max_gradient_norm=1" if norm is None else f"a smaller max_gradient_norm than {norm:g}"
    return f"Train again with a smaller learning rate{slower}, or with {clipped}."
