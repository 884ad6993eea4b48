"""Whether training was over: the loss levelled off, still fell, rose, or was lost."""

import math
import statistics
from collections.abc import Sequence
from itertools import pairwise

from unbraid.diagnosis.diagnosis import Finding
from unbraid.diagnosis.words import percent, short
from unbraid.runs.history import History

NAME = "length of training"
_FEWEST = 20
# Training goes on if the last tenth of it moves the loss by this share of what it moved in all.
_STILL_MOVING = 0.02
# A rise counts if it is so many standard errors of the difference of two tenths.
_CLEAR_RISE = 3.0


def check_history(history: History) -> Finding:
    """Returns how the loss ended: level, which is fine, or falling, rising, or not a number."""
    steps, losses = (history[name] if name in history.columns else [] for name in ("step", "loss"))
    if losses and not math.isfinite(losses[-1]):
        return _lost(steps, losses)
    losses = [value for value in losses if math.isfinite(value)]
    if len(losses) < _FEWEST:
        return Finding(NAME, "unknown", f"The history has {len(losses)} losses, too few to see a trend.")
    tenth = len(losses) // 10
    first, before, last = (
        statistics.fmean(part) for part in (losses[:tenth], losses[-2 * tenth : -tenth], losses[-tenth:])
    )
    noise = statistics.stdev(losses[-tenth:]) / math.sqrt(tenth)
    gained, fell = first - last, before - last
    share = fell / gained if gained > 0 else 0.0
    numbers = {"first": first, "last": last, "fell": fell, "share": share}
    if says := _risen(losses, first, before, last):
        advice = (
            (
                "Look at the curve of the loss. A schedule that weighs the rate more as training goes on raises it, as "
                "it should; otherwise train again with a lower learning rate, or take an earlier snapshot."
            ),
        )
        return Finding(NAME, "look", says, numbers, advice)
    if fell > 2 * noise and share > _STILL_MOVING:
        says = (
            f"The loss was still falling: the last tenth of training brought {percent(share)} of all that it fell by."
        )
        return Finding(NAME, "look", says, numbers, ("Train longer: twice the steps, or `run.extend`.",))
    return Finding(NAME, "fine", f"The loss had levelled off at {last:,.1f} nats per image.", numbers)


def _lost(steps: Sequence[float], losses: Sequence[float]) -> Finding:
    """Returns the finding for a loss that was not finite when training ended."""
    num_finite = next(count for count in range(len(losses), -1, -1) if count == 0 or math.isfinite(losses[count - 1]))
    step = int(steps[num_finite])
    says = f"The loss is not a finite number from step {step:,} on: training diverged, and the model is of no use."
    advice = ("Train again with a lower learning rate, and see which part of the loss broke first.",)
    return Finding(NAME, "look", says, {"last": losses[-1], "not_finite_from": step}, advice)


def _risen(losses: Sequence[float], first: float, before: float, last: float) -> str:
    """Returns what is to be said of a loss that rose at the end, or over all of training; an empty text of others. Its
    noise is that of one loss after another in the second half of training, without the last tenth, which may be what
    went wrong.
    """
    tenth = len(losses) // 10
    half = losses[len(losses) // 2 : -tenth]
    steps = [later - earlier for earlier, later in pairwise(half)]
    error = statistics.stdev(steps) / math.sqrt(2) * math.sqrt(2 / tenth)
    tenths = [statistics.fmean(losses[start : start + tenth]) for start in range(0, len(losses), tenth)]
    if last - before > max(_CLEAR_RISE * error, _STILL_MOVING * (max(tenths) - min(tenths))):
        return (
            f"The loss was rising at the end: over the last tenth of training it was {short(last)} nats per image, "
            f"over the tenth before {short(before)}."
        )
    if last - first > _CLEAR_RISE * error:
        return f"The loss ended higher than it began: at {short(last)} nats per image, after {short(first)}."
    return ""
