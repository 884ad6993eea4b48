"""Whether training had converged: the loss leveled off, still fell, rose, or was not finite."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, final

import numpy as np
from scipy import stats

from unbraid._internal.amounts import short
from unbraid.config.schedule import Schedule
from unbraid.diagnose.diagnosis import Finding, State, nats
from unbraid.diagnose.remedies import Remedy
from unbraid.training.runs.history import History
from unbraid.training.runs.run_folder import Failure
from unbraid.training.runs.spec import RunSpec

NAME = "length of training"
FEWEST = 20
"""With fewer numbers no trend is reported."""
# A slope is clear if noise has such a slope less often than this.
_BY_CHANCE = 0.001
# A change over the last tenth is negligible below this share of the range after the first tenth, or of the last level.
_OF_ALL, _OF_LEVEL = 0.005, 0.0005
# The distance from the middle of the last third to that of the last tenth, as a share of a third.
_TO_THE_END = 0.35
_MOST_AUTOCORRELATION = 0.9


@final
@dataclass(frozen=True)
class LineTrend:
    """How a curve ended.

    Attributes:
        first: The mean over the first tenth.
        before: The mean over the last tenth but one.
        last: The mean over the last tenth.
        gained: The decrease over the last tenth, by the slope over the last third; smaller if the decrease slows down.
        moved: The range of the means of all tenths after the first.
        clarity: The slope in units of its standard error.
        needed: The clarity from which the slope is more than noise.
        clear_rise: The difference from which two tenths differ by more than noise.
    """

    first: float
    before: float
    last: float
    gained: float
    moved: float
    clarity: float
    needed: float
    clear_rise: float

    @property
    def has_slope(self) -> bool:
        """Whether the slope is more than noise."""
        return abs(self.clarity) > self.needed

    @property
    def is_falling(self) -> bool:
        return self.has_slope and self.gained > self._negligible

    @property
    def is_rising(self) -> bool:
        return (self.has_slope and -self.gained > self._negligible) or self.last - self.before > self.clear_rise

    @property
    def has_risen(self) -> bool:
        """Whether it ended higher than it began."""
        return self.last - self.first > self.clear_rise

    @property
    def _negligible(self) -> float:
        return max(_OF_ALL * self.moved, _OF_LEVEL * abs(self.last))


@final
@dataclass(frozen=True)
class _Curve:
    """The finite numbers of the judged columns of a history, and their name in a sentence."""

    name: str
    steps: list[float]
    values: list[float]
    is_adversarial: bool = False


def check_history(history: History, spec: RunSpec | None = None) -> Finding:
    """Returns whether the loss had leveled off, or was falling, rising or not finite.

    For objectives with a critic it judges the distortion, plus the rate if there is one, since their loss is a game.
    """
    losses = history["loss"] if "loss" in history.columns else []
    if losses and not math.isfinite(losses[-1]):
        return _lost(history["step"], losses, spec)
    curve = _judged(history, spec)
    found = trend(curve.steps, curve.values)
    if found is None:
        count = len(curve.values)
        sentence = f"The history has {count} rows, {'too few' if count < FEWEST else 'too uneven'} for a trend."
        return Finding(NAME, "unknown", sentence)
    numbers = {
        "judged": curve.name,
        "first": found.first,
        "last": found.last,
        "gained": found.gained,
        "moved": found.moved,
        "clarity": found.clarity if math.isfinite(found.clarity) else None,
    }
    state, sentence, remedies = _verdict(curve.name, found, int(curve.steps[-1]), spec)
    if curve.is_adversarial:
        sentence += " (The trend of an adversarial loss is not informative.)"
    return Finding(NAME, state, sentence, numbers, remedies)


def check_failure(failure: Failure, history: History, spec: RunSpec) -> Finding:
    """Returns why a run failed, and what to try."""
    sentence = f"Training failed at step {failure.step:,} of {spec.num_steps:,}: {failure.reason}."
    steps, losses = (history[name] if name in history.columns else [] for name in ("step", "loss"))
    if losses:
        sentence += f" The last loss that was logged was {nats(losses[-1])} per image, at step {int(steps[-1]):,}."
    numbers = {"failed_at": failure.step, "last": losses[-1] if losses else None}
    return Finding(NAME, "look", sentence, numbers, (Remedy("train again", _slower(spec)),))


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
        sentence = (
            f"{name} was rising at the end: over the last tenth of training it was {last} per image, over the tenth "
            f"before {short(found.before)}."
        )
        return "look", sentence, (_after_a_rise(spec),)
    if found.is_falling:
        sentence = (
            f"{name} was still falling: the last tenth of training lowered it by {nats(found.gained)}, to {last} "
            "per image."
        )
        text = f"Train longer: twice the steps ({2 * num_steps:,} instead of {num_steps:,}). Latents may still change."
        return "look", sentence, (Remedy("train longer", text),)
    if found.has_risen:
        sentence = f"{name} ended higher than it began: at {last} per image, after {short(found.first)}."
        return "look", sentence, (_after_a_rise(spec),)
    why = f"the last tenth of training moved it by {nats(abs(found.gained))}"
    if not found.has_slope:
        why = "over the last third of training it has no trend beyond its noise"
    return "fine", f"{name} had leveled off at {last} per image: {why}.", ()


def _after_a_rise(spec: RunSpec | None) -> Remedy:
    if spec is not None and any(isinstance(weight, Schedule) for weight in spec.objective.hyperparameters.values()):
        return Remedy(
            "look",
            "A weight of this objective follows a schedule, which may raise the loss as intended: check in the history "
            "whether distortion and rate follow the schedule.",
        )
    return Remedy("train again", f"{_slower(spec)[:-1]}; or take an earlier snapshot.")


def _lost(steps: Sequence[float], losses: Sequence[float], spec: RunSpec | None) -> Finding:
    """Returns the finding for a loss that was not finite when training ended."""
    num_finite = next(count for count in range(len(losses), -1, -1) if count == 0 or math.isfinite(losses[count - 1]))
    step = int(steps[num_finite])
    sentence = f"The loss is not a finite number from step {step:,} on: training diverged, and the model is unusable."
    numbers = {"last": losses[-1], "not_finite_from": step}
    return Finding(NAME, "look", sentence, numbers, (Remedy("train again", _slower(spec)),))


def _slower(spec: RunSpec | None) -> str:
    """Returns advice against a diverging loss."""
    rate, norm = (None, None) if spec is None else (spec.optimizer.learning_rate, spec.max_gradient_norm)
    slower = f" ({short(float(f'{rate / 3:.1g}'))} instead of {short(rate)})" if isinstance(rate, float) else ""
    clipped = "max_gradient_norm=1" if norm is None else f"a smaller max_gradient_norm than {norm:g}"
    return f"Train again with a smaller learning rate{slower}, or with {clipped}."


def trend(steps: Sequence[float], values: Sequence[float]) -> LineTrend | None:
    """Returns how the curve ends; None if it has too few numbers."""
    at, curve = np.asarray(steps, dtype=float), np.asarray(values, dtype=float)
    if len(curve) < FEWEST or at[-1] <= at[0]:
        return None
    moments = (at - at[0]) / (at[-1] - at[0])
    thirds = [(moments > 1 / 3) & (moments <= 2 / 3), moments > 2 / 3]
    tenths = [curve[(moments >= n / 10) & ((moments < (n + 1) / 10) | (n == 9))] for n in range(10)]
    if min(part.sum() for part in thirds) < 5 or min(map(len, tenths)) < 1:
        return None
    earlier, later = (_line(moments[part], curve[part]) for part in thirds)
    slowing = min(1.0, later.slope / earlier.slope) if later.slope * earlier.slope > 0 else 1.0
    means = [float(part.mean()) for part in tenths]
    return LineTrend(
        first=means[0],
        before=means[-2],
        last=means[-1],
        gained=-later.slope / 10 * slowing**_TO_THE_END,
        moved=max(means[1:]) - min(means[1:]),
        clarity=later.clarity,
        needed=float(stats.t.isf(_BY_CHANCE, int(thirds[1].sum()) - 2)),
        clear_rise=_clear_rise(moments, curve, means, len(tenths[-1])),
    )


def _clear_rise(moments: np.ndarray, curve: np.ndarray, means: Sequence[float], num_last: int) -> float:
    """Returns by how much one tenth must exceed another to differ by more than noise.

    The noise is estimated from the second half without the last tenth, in which training may have gone wrong.
    """
    half = (moments >= 0.5) & (moments < 0.9)
    noise = _line(moments[half], curve[half]).noise * math.sqrt(2 / num_last)
    clear = float(stats.t.isf(_BY_CHANCE, int(half.sum()) - 2)) * noise
    moved = max(means[1:-1]) - min(means[1:-1])
    return max(clear, _OF_ALL * moved, _OF_LEVEL * abs(means[-2]))


@final
class _Line(NamedTuple):
    slope: float
    noise: float
    clarity: float


def _line(moments: np.ndarray, values: np.ndarray) -> _Line:
    """Fits a line by least squares. Returns its slope, the noise around it, and the slope in standard errors.

    Autocorrelated residuals count as fewer rows.
    """
    away = moments - moments.mean()
    slope = float(away @ values / (away @ away))
    left = values - values.mean() - slope * away
    total = float(left @ left)
    autocorrelation = float(left[1:] @ left[:-1]) / total if total > 0 else 0.0
    autocorrelation = min(max(autocorrelation, 0.0), _MOST_AUTOCORRELATION)
    noise = math.sqrt(total / (len(values) - 2) * (1 + autocorrelation) / (1 - autocorrelation))
    error = noise / math.sqrt(float(away @ away))
    return _Line(slope, noise, slope / error if error > 0 else math.copysign(math.inf, slope) if slope else 0.0)
