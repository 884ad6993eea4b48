"""Check of convergence: whether the loss converged, was still falling, was rising, or was not finite."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

import numpy as np
from scipy import stats

from unbraid._internal.amounts import short
from unbraid.config.schedule import Schedule
from unbraid.diagnose.diagnosis import Finding, Remedy, State, nats
from unbraid.training.runs.history import History
from unbraid.training.runs.run_folder import Failure
from unbraid.training.runs.spec import RunSpec

NAME = "length of training"
_FEWEST = 20  # the minimum number of rows for a trend
# The significance level of a slope.
_BY_CHANCE = 0.001
# A change in the last tenth is negligible below these shares of the range (without the first tenth) and last value.
_OF_ALL, _OF_LEVEL = 0.005, 0.0005
# The distance between the middle of the last third and the middle of the last tenth, as a share of a third.
_TO_THE_END = 0.35
_MOST_AUTOCORRELATION = 0.9


def check_history(history: History, spec: RunSpec) -> Finding:
    """Checks whether the loss converged, or was still falling, rising or not finite at the end of training.

    For objectives with a critic, whose loss is adversarial, the sum of distortion and rate is checked if it was logged.
    """
    losses = history["loss"] if "loss" in history.columns else []
    if losses and not math.isfinite(losses[-1]):
        return _diverged(history["step"], losses, spec)
    parts = ["loss"]
    if spec.objective.critic_reads is not None and "distortion" in history.columns:
        parts = [part for part in ("distortion", "rate") if part in history.columns]
    name = "Distortion plus rate" if len(parts) > 1 else f"The {parts[0]}"
    columns = [history[part] for part in parts if part in history.columns]
    sums = [(step, sum(values)) for step, *values in zip(history["step"], *columns, strict=True)] if columns else []
    rows = [(step, value) for step, value in sums if math.isfinite(value)]
    trend = _trend([step for step, _ in rows], [value for _, value in rows])
    if trend is None:
        sentence = f"The history has {len(rows)} rows, too {'few' if len(rows) < _FEWEST else 'uneven'} for a trend."
        return Finding(NAME, "unknown", sentence)
    numbers = {
        "judged": name,
        "first": trend.tenths[0],
        "last": trend.tenths[-1],
        "gained": trend.gained,
        "moved": trend.moved,
        "clarity": trend.clarity if math.isfinite(trend.clarity) else None,
    }
    state, sentence, remedies = _verdict(name, trend, int(rows[-1][0]), spec)
    if parts != ["loss"]:
        sentence += " (The trend of an adversarial loss is not informative.)"
    return Finding(NAME, state, sentence, numbers, remedies)


def check_failure(failure: Failure, history: History, spec: RunSpec) -> Finding:
    """Returns the finding for a failed run: the reason of the failure and a suggested fix."""
    sentence = f"Training failed at step {failure.step:,} of {spec.num_steps:,}: {failure.reason}."
    steps, losses = (history[name] if name in history.columns else [] for name in ("step", "loss"))
    if losses:
        sentence += f" The last logged loss was {nats(losses[-1])} per image, at step {int(steps[-1]):,}."
    numbers = {"failed_at": failure.step, "last": losses[-1] if losses else None}
    return Finding(NAME, "look", sentence, numbers, (Remedy("train again", _slower(spec)),))


def _diverged(steps: Sequence[float], losses: Sequence[float], spec: RunSpec) -> Finding:
    """Returns the finding for a loss that was not finite at the end of training."""
    num_finite = next(count for count in range(len(losses), -1, -1) if count == 0 or math.isfinite(losses[count - 1]))
    step = int(steps[num_finite])
    sentence = f"The loss is not finite from step {step:,} on: training diverged, and the model is unusable."
    numbers = {"last": losses[-1], "not_finite_from": step}
    return Finding(NAME, "look", sentence, numbers, (Remedy("train again", _slower(spec)),))


@final
@dataclass(frozen=True)
class _Trend:
    """The trend at the end of a curve.

    Attributes:
        tenths: The mean in each tenth of training.
        gained: The decrease in the last tenth, estimated from the slopes in the last two thirds.
        clarity: The slope in the last third, in units of its standard error.
        has_slope: Whether the slope is significant.
        clear_rise: The smallest significant difference between two tenths.
    """

    tenths: list[float]
    gained: float
    clarity: float
    has_slope: bool
    clear_rise: float

    @property
    def moved(self) -> float:
        """The range of the means of the tenths, without the first tenth."""
        return max(self.tenths[1:]) - min(self.tenths[1:])


def _verdict(name: str, trend: _Trend, num_steps: int, spec: RunSpec) -> tuple[State, str, tuple[Remedy, ...]]:
    first, before, last = trend.tenths[0], *trend.tenths[-2:]
    negligible = max(_OF_ALL * trend.moved, _OF_LEVEL * abs(last))
    if (trend.has_slope and -trend.gained > negligible) or last - before > trend.clear_rise:
        sentence = (
            f"{name} was rising at the end: the mean over the last tenth of training was {nats(last)} per image, after "
            f"{short(before)} in the previous tenth."
        )
        return "look", sentence, (_after_a_rise(spec),)
    if trend.has_slope and trend.gained > negligible:
        sentence = (
            f"{name} was still falling: the last tenth of training lowered it by {nats(trend.gained)}, to {nats(last)} "
            "per image."
        )
        text = f"Train longer: twice the steps ({2 * num_steps:,} instead of {num_steps:,}). Latents may still change."
        return "look", sentence, (Remedy("train longer", text),)
    if last - first > trend.clear_rise:
        sentence = f"{name} was higher at the end ({nats(last)} per image) than at the beginning ({short(first)})."
        return "look", sentence, (_after_a_rise(spec),)
    why = f"the change in the last tenth of training was {nats(abs(trend.gained))}"
    if not trend.has_slope:
        why = "the last third of training has no significant trend"
    return "fine", f"{name} had converged to {nats(last)} per image: {why}.", ()


def _after_a_rise(spec: RunSpec) -> Remedy:
    if any(isinstance(weight, Schedule) for weight in spec.objective.hyperparameters.values()):
        return Remedy(
            "look",
            "A weight of this objective has a schedule, which may raise the loss as intended: check in the history "
            "whether distortion and rate follow the schedule.",
        )
    return Remedy("train again", f"{_slower(spec)[:-1]}; or use an earlier snapshot.")


def _slower(spec: RunSpec) -> str:
    """Returns the suggested fix for a diverging loss."""
    rate, norm = spec.optimizer.learning_rate, spec.max_gradient_norm
    slower = f" ({short(float(f'{rate / 3:.1g}'))} instead of {short(rate)})" if isinstance(rate, float) else ""
    clipped = "max_gradient_norm=1" if norm is None else f"a smaller max_gradient_norm than {norm:g}"
    return f"Train again with a smaller learning rate{slower}, or with {clipped}."


def _trend(steps: Sequence[float], values: Sequence[float]) -> _Trend | None:
    """Estimates the trend at the end of a curve. Returns None if the curve has too few values."""
    at, curve = np.asarray(steps, dtype=float), np.asarray(values, dtype=float)
    if len(curve) < _FEWEST or at[-1] <= at[0]:
        return None
    moments = (at - at[0]) / (at[-1] - at[0])
    thirds = [(moments > 1 / 3) & (moments <= 2 / 3), moments > 2 / 3]
    tenths = [curve[(moments >= n / 10) & ((moments < (n + 1) / 10) | (n == 9))] for n in range(10)]
    if min(part.sum() for part in thirds) < 5 or min(map(len, tenths)) < 1:
        return None
    (earlier, _, _), (later, _, clarity) = (_line(moments[part], curve[part]) for part in thirds)
    slowing = min(1.0, later / earlier) if later * earlier > 0 else 1.0
    means = [float(part.mean()) for part in tenths]
    return _Trend(
        tenths=means,
        gained=-later / 10 * slowing**_TO_THE_END,
        clarity=clarity,
        has_slope=abs(clarity) > _clear(thirds[1]),
        clear_rise=_clear_rise(moments, curve, means, len(tenths[-1])),
    )


def _clear_rise(moments: np.ndarray, curve: np.ndarray, means: Sequence[float], num_last: int) -> float:
    """Returns the smallest significant difference between the means of two tenths.

    The noise is estimated from the second half of training without the last tenth, which may have diverged.
    """
    half = (moments >= 0.5) & (moments < 0.9)
    _, noise, _ = _line(moments[half], curve[half])
    moved = max(means[1:-1]) - min(means[1:-1])
    return max(_clear(half) * noise * math.sqrt(2 / num_last), _OF_ALL * moved, _OF_LEVEL * abs(means[-2]))


def _clear(part: np.ndarray) -> float:
    """Returns the smallest significant slope (two-sided) through these rows, in units of its standard error."""
    return float(stats.t.isf(_BY_CHANCE / 2, int(part.sum()) - 2))


def _line(moments: np.ndarray, values: np.ndarray) -> tuple[float, float, float]:
    """Fits a line by least squares. Returns the slope, the std of the residuals, and the slope in standard errors.

    The std is corrected for the autocorrelation of the residuals.
    """
    away = moments - moments.mean()
    slope = float(away @ values / (away @ away))
    left = values - values.mean() - slope * away
    total = float(left @ left)
    autocorrelation = float(left[1:] @ left[:-1]) / total if total > 0 else 0.0
    autocorrelation = min(max(autocorrelation, 0.0), _MOST_AUTOCORRELATION)
    noise = math.sqrt(total / (len(values) - 2) * (1 + autocorrelation) / (1 - autocorrelation))
    error = noise / math.sqrt(float(away @ away))
    return slope, noise, slope / error if error > 0 else math.copysign(math.inf, slope) if slope else 0.0
