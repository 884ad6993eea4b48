"""What a nat of rate costs in the loss that was minimized: beta, after all scaling."""

import math
from dataclasses import dataclass, replace
from typing import final

from unbraid._internal.amounts import short
from unbraid.diagnose.diagnosis import Finding
from unbraid.diagnose.levers import OF_CODES
from unbraid.diagnose.remedies import Remedy
from unbraid.diagnose.words import nats
from unbraid.objectives.levers import Levers, RatePrice

NAME = "effective beta"
# A Gaussian likelihood whose variance is this many times the squared error, or a share of it, is far from calibrated.
_FAR = 4.0
# A beta above this explains that a code has collapsed. That of a VAE, 1, does not.
_HIGH = 1.5


@final
@dataclass(frozen=True)
class LossWeights:
    """The numbers that determine the price of a nat of rate.

    They are the loss, its distortion and its rate at the end of training, in nats per image; the sizes of an image and
    of a code; and the std of a Gaussian likelihood with the root of the mean squared error.
    """

    loss: float
    distortion: float
    rate: float
    num_pixels: int
    num_latents: int
    std: float | None = None
    root_error: float | None = None

    @property
    def beta(self) -> float:
        """(loss - distortion) / rate.

        It is beta for a beta-VAE; for an objective that weighs the parts of the rate one by one it is the average price
        of a nat. It means nothing where a loss penalizes anything else.
        """
        return (self.loss - self.distortion) / self.rate if self.rate > 0 else math.nan

    @property
    def normalized(self) -> float:
        """Returns beta times latents over pixels, for a loss that is a mean over both: Higgins et al., ICLR 2017."""
        return self.beta * self.num_latents / self.num_pixels

    @property
    def too_wide(self) -> float | None:
        """The variance of a Gaussian likelihood in units of the mean squared error.

        It is None for other likelihoods.
        """
        if self.std is None or not self.root_error:
            return None
        return (self.std / self.root_error) ** 2

    @property
    def calibrated(self) -> float | None:
        """The beta with the same effect beside a Gaussian likelihood whose variance is the mean squared error.

        It is None if the likelihood is not Gaussian.
        """
        return None if self.too_wide is None else self.beta * self.too_wide


def diagnose_weights(
    weights: LossWeights,
    price: RatePrice | None = None,
    levers: Levers = OF_CODES,
    *,
    is_collapsed: bool = False,
) -> Finding:
    """Returns the price of a nat of rate, and the same weight in other terms; or why it cannot be knowing.

    `price` is that of the objective.
    """
    price = price or RatePrice()
    if price.reason:
        finding = _without_beta(weights, price)
    elif not math.isfinite(weights.beta):
        says = _why_no_beta(weights)
        finding = Finding(NAME, "unknown", f"{says} There is no beta to tell.", {"rate": weights.rate})
    else:
        finding = _with_beta(weights, price, levers if is_collapsed else None)
    return _with_noise(finding, weights, has_beta="beta" in finding.numbers)


def _why_no_beta(weights: LossWeights) -> str:
    if math.isnan(weights.rate):
        return "The history of this run has no rate."
    if not math.isfinite(weights.loss):
        return f"The loss ended at {weights.loss:g}."
    return f"The rate ended at {short(weights.rate)}, so it has no price."


def _without_beta(weights: LossWeights, price: RatePrice) -> Finding:
    ended = f" The rate ended at {nats(weights.rate)}." if math.isfinite(weights.rate) else ""
    numbers = {"rate_weight": price.weight, "loss": weights.loss, "distortion": weights.distortion}
    return Finding(NAME, "unknown", price.reason + ended, {**numbers, "rate": weights.rate})


def _with_beta(weights: LossWeights, price: RatePrice, collapsed: Levers | None) -> Finding:
    """Returns the finding for a loss that has a beta; `collapsed` are the levers of a model whose code collapsed."""
    beta = weights.beta
    numbers = {
        "beta": beta,
        "normalized": weights.normalized,
        "mean_over_pixels": beta / weights.num_pixels,
        "calibrated": weights.calibrated,
        "loss": weights.loss,
        "distortion": weights.distortion,
        "rate": weights.rate,
    }
    average = f" on average over its parts (their weights: {price.parts})" if price.parts else ""
    says = (
        f"At the end of training a nat of rate cost {nats(beta)} of distortion{average}: the loss was "
        f"{short(weights.loss)}, of which {short(weights.distortion)} distortion, and the rate {short(weights.rate)}. "
        f"The loss is summed over {weights.num_pixels:,} pixels; code that takes the mean over pixels has the same "
        f"balance at beta = {short(beta / weights.num_pixels)} (Higgins et al.'s normalized beta is "
        f"{short(weights.normalized)})."
    )
    if collapsed is not None and beta > _HIGH:
        says += " At such a price few latents pay for themselves: this explains the collapse."
        text = f"The rate costs too much for latents to be used: {collapsed.less_rate}."
        return Finding(NAME, "look", says, numbers, (Remedy("lower price", text),))
    return Finding(NAME, "fine", says, numbers)


def _with_noise(finding: Finding, weights: LossWeights, *, has_beta: bool) -> Finding:
    """Returns the finding, and the noise of pixels that a Gaussian likelihood estimates."""
    too_wide, std, error = weights.too_wide, weights.std, weights.root_error
    if too_wide is None or std is None or error is None or not math.isfinite(too_wide):
        return finding
    need = f"beta = {short(too_wide * weights.beta)}" if has_beta else f"{short(too_wide)} times the weights"
    says = (
        f"{finding.sentence} The likelihood assumes a noise of {short(std)}, but the error is {short(error)}. With the "
        f"right noise, the same balance would need {need}."
    )
    if 1 / _FAR <= too_wide <= _FAR:
        return replace(finding, sentence=says)
    effect = f"{short(too_wide)} times less" if too_wide > 1 else f"{short(1 / too_wide)} times more"
    text = (
        f"The likelihood is not calibrated: set GaussianLikelihood(std={error:.2g}), or learn it with "
        f"LearnedGaussianLikelihood. Next to the distortion, what is asked of codes then weighs {effect}."
    )
    remedies = (*finding.remedies, Remedy("calibrate", text))
    return replace(finding, state="look", sentence=says, remedies=remedies)
