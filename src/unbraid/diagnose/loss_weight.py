"""The weight of the rate in the minimized loss: beta, after all scaling."""

import math
from dataclasses import dataclass, replace
from typing import final

from unbraid._internal.amounts import short
from unbraid.diagnose.diagnosis import Finding, nats
from unbraid.diagnose.remedies import OF_CODES, Remedy
from unbraid.objectives.levers import Levers, RatePrice

NAME = "effective beta"
# A Gaussian likelihood is far from calibrated if its variance and the squared error differ by this factor.
_FAR = 4.0
# A beta above this explains that a code has collapsed. That of a VAE, 1, does not.
_HIGH = 1.5


@final
@dataclass(frozen=True)
class LossWeights:
    """The numbers that determine the weight of the rate.

    Attributes:
        loss: The loss at the end of training, in nats per image.
        distortion: Its distortion.
        rate: Its rate.
        num_pixels: The number of pixels of an image.
        num_latents: The number of latents.
        std: The std of a Gaussian likelihood.
        root_error: The root mean squared error of pixels.
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

        It is beta for a beta-VAE. For an objective with separate weights of the parts of the rate it is their average.
        It is meaningless if the loss has other penalties.
        """
        return (self.loss - self.distortion) / self.rate if self.rate > 0 else math.nan

    @property
    def normalized(self) -> float:
        """beta times latents over pixels, for a loss that is a mean over both (Higgins et al., ICLR 2017)."""
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
        """The equivalent beta for a Gaussian likelihood whose variance is the mean squared error.

        It is None for other likelihoods.
        """
        return None if self.too_wide is None else self.beta * self.too_wide


def diagnose_weights(
    weights: LossWeights,
    price: RatePrice | None = None,
    levers: Levers = OF_CODES,
    *,
    is_collapsed: bool = False,
) -> Finding:
    """Returns the effective beta with its normalized and calibrated forms, or why the loss implies none.

    `price` is the weight of the rate in the formula of the objective.
    """
    price = price or RatePrice()
    if price.reason:
        finding = _without_beta(weights, price)
    elif not math.isfinite(weights.beta):
        sentence = _why_no_beta(weights)
        finding = Finding(NAME, "unknown", f"{sentence} There is no effective beta.", {"rate": weights.rate})
    else:
        finding = _with_beta(weights, price, levers if is_collapsed else None)
    return _with_noise(finding, weights, has_beta="beta" in finding.numbers)


def _why_no_beta(weights: LossWeights) -> str:
    if math.isnan(weights.rate):
        return "The history of this run has no rate."
    if not math.isfinite(weights.loss):
        return f"The loss ended at {weights.loss:g}."
    return f"The rate ended at {short(weights.rate)}, so its weight is undefined."


def _without_beta(weights: LossWeights, price: RatePrice) -> Finding:
    ended = f" The rate ended at {nats(weights.rate)}." if math.isfinite(weights.rate) else ""
    numbers = {"rate_weight": price.weight, "loss": weights.loss, "distortion": weights.distortion}
    return Finding(NAME, "unknown", price.reason + ended, {**numbers, "rate": weights.rate})


def _with_beta(weights: LossWeights, price: RatePrice, collapsed: Levers | None) -> Finding:
    """Returns the finding for a loss with a beta; `collapsed` holds advice for a model whose code has collapsed."""
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
    sentence = (
        f"At the end of training a nat of rate cost {nats(beta)} of distortion{average}: the loss was "
        f"{short(weights.loss)}, of which {short(weights.distortion)} distortion, and the rate {short(weights.rate)}. "
        f"The loss is summed over {weights.num_pixels:,} pixels; code that takes the mean over pixels has the same "
        f"balance at beta = {short(beta / weights.num_pixels)} (Higgins et al.'s normalized beta is "
        f"{short(weights.normalized)})."
    )
    if collapsed is not None and beta > _HIGH:
        sentence += " This high weight explains the collapse."
        text = f"The weight of the rate is too high for latents to be used: {collapsed.less_rate}."
        return Finding(NAME, "look", sentence, numbers, (Remedy("lower price", text),))
    return Finding(NAME, "fine", sentence, numbers)


def _with_noise(finding: Finding, weights: LossWeights, *, has_beta: bool) -> Finding:
    """Returns the finding with a comparison of the noise of a Gaussian likelihood with the error of pixels."""
    too_wide, std, error = weights.too_wide, weights.std, weights.root_error
    if too_wide is None or std is None or error is None or not math.isfinite(too_wide):
        return finding
    need = f"beta = {short(too_wide * weights.beta)}" if has_beta else f"{short(too_wide)} times the weights"
    sentence = (
        f"{finding.sentence} The likelihood assumes a noise of {short(std)}, but the error is {short(error)}. With the "
        f"right noise, the same balance would need {need}."
    )
    if 1 / _FAR <= too_wide <= _FAR:
        return replace(finding, sentence=sentence)
    effect = f"{short(too_wide)} times less" if too_wide > 1 else f"{short(1 / too_wide)} times more"
    text = (
        f"The likelihood is not calibrated: set GaussianLikelihood(std={error:.2g}), or learn it with "
        f"LearnedGaussianLikelihood. Relative to the distortion, the other terms then weigh {effect}."
    )
    remedies = (*finding.remedies, Remedy("calibrate", text))
    return replace(finding, state="look", sentence=sentence, remedies=remedies)
