"""Check of the effective beta: the weight of the rate in the loss, relative to the distortion."""

import math
from dataclasses import dataclass, replace
from typing import Any, final

from unbraid._internal.amounts import short
from unbraid.diagnose.diagnosis import OF_CODES, Finding, Remedy, nats
from unbraid.objectives.weight_advice import RateWeight, WeightAdvice

NAME = "effective beta"
# The ratio of the variance of a Gaussian likelihood and the squared error from which it counts as not calibrated.
_FAR = 4.0
# The beta above which the weight of the rate explains a collapsed code. A VAE has a beta of 1.
_HIGH = 1.5


@final
@dataclass(frozen=True)
class LossWeights:
    """Loss terms at the end of training, and sizes of image and code, that determine the effective beta.

    Attributes:
        loss: The loss at the end of training, in nats per image.
        distortion: The distortion at the end of training.
        rate: The rate at the end of training.
        num_pixels: The number of pixels per image.
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
        """The effective beta: (loss - distortion) / rate.

        For a beta-VAE, this is beta. For an objective with several weights of components of the rate, this is their
        average. For a loss with other penalties, the value is not meaningful.
        """
        return (self.loss - self.distortion) / self.rate if self.rate > 0 else math.nan


def diagnose_weights(
    weights: LossWeights,
    price: RateWeight | None = None,
    advice: WeightAdvice = OF_CODES,
    *,
    is_collapsed: bool = False,
) -> Finding:
    """Checks the effective beta, also in its normalized and calibrated forms.

    `price` is the weight of the rate in the formula of the objective. If there is no effective beta, the finding has
    the reason.
    """
    price, beta = price or RateWeight(), weights.beta
    too_wide = (weights.std / weights.root_error) ** 2 if weights.std is not None and weights.root_error else None
    numbers: dict[str, Any] = {"loss": weights.loss, "distortion": weights.distortion, "rate": weights.rate}
    if price.reason:
        ended = f" The rate ended at {nats(weights.rate)}." if math.isfinite(weights.rate) else ""
        finding = Finding(NAME, "unknown", price.reason + ended, {"rate_weight": price.weight, **numbers})
    elif not math.isfinite(beta):
        finding = Finding(NAME, "unknown", f"{_why_no_beta(weights)} There is no effective beta.", numbers)
    else:
        # Higgins et al. (ICLR 2017) normalize beta for a loss that is a mean over pixels and latents.
        normalized = beta * weights.num_latents / weights.num_pixels
        numbers |= {"beta": beta, "normalized": normalized, "mean_over_pixels": beta / weights.num_pixels}
        numbers["calibrated"] = None if too_wide is None else beta * too_wide
        average = f" (the average of the weights {price.parts})" if price.parts else ""
        sentence = (
            f"At the end of training, the effective beta was {short(beta)}{average}: the loss was "
            f"{short(weights.loss)}, the distortion {short(weights.distortion)} and the rate {short(weights.rate)}. "
            f"The loss is a sum over {weights.num_pixels:,} pixels. For a mean over pixels, the same weight is beta = "
            f"{short(beta / weights.num_pixels)} (the normalized beta of Higgins et al. is {short(normalized)})."
        )
        finding = Finding(NAME, "fine", sentence, numbers)
        if is_collapsed and beta > _HIGH:
            text = f"The weight of the rate is too high: {advice.less_rate}."
            sentence += " This weight explains the collapse of the code."
            finding = Finding(NAME, "look", sentence, numbers, (Remedy("lower price", text),))
    if too_wide is None or not math.isfinite(too_wide):
        return finding
    need = f"beta = {short(too_wide * beta)}" if "beta" in numbers else f"{short(too_wide)} times the weights"
    return _with_noise(finding, weights, too_wide, need)


def _why_no_beta(weights: LossWeights) -> str:
    if math.isnan(weights.rate):
        return "The history of the run has no rate."
    if not math.isfinite(weights.loss):
        return f"The loss ended at {weights.loss:g}."
    return f"The rate ended at {short(weights.rate)}, so its weight is undefined."


def _with_noise(finding: Finding, weights: LossWeights, too_wide: float, need: str) -> Finding:
    """Adds to the finding whether the std of a Gaussian likelihood matches the pixel error.

    `too_wide` is the variance of the likelihood divided by the mean squared error. `need` is the calibrated weight.
    """
    assert weights.std is not None
    assert weights.root_error is not None
    sentence = (
        f"{finding.sentence} The std of the likelihood is {short(weights.std)}, but the root mean squared error is "
        f"{short(weights.root_error)}. With a calibrated std, the equivalent weight is {need}."
    )
    if 1 / _FAR <= too_wide <= _FAR:
        return replace(finding, sentence=sentence)
    effect = f"divided by {short(too_wide)}" if too_wide > 1 else f"multiplied by {short(1 / too_wide)}"
    text = (
        f"The likelihood is not calibrated: set GaussianLikelihood(std={weights.root_error:.2g}), or learn it with "
        f"LearnedGaussianLikelihood. Relative to the distortion, the weights of the other terms are then {effect}."
    )
    return replace(finding, state="look", sentence=sentence, remedies=(*finding.remedies, Remedy("calibrate", text)))
