"""What a nat of rate costs in the loss that was minimised: beta, after all scaling."""

import math
from dataclasses import dataclass
from typing import final

from unbraid.diagnosis.diagnosis import Finding
from unbraid.diagnosis.words import short

NAME = "effective beta"
# A Gaussian likelihood whose noise is this much wider than the errors, or narrower, is far from calibrated.
_FAR = 4.0


@final
@dataclass(frozen=True)
class LossWeights:
    """Holds what decides how much a nat of rate costs: the loss, its distortion and its rate at the end of training, in
    nats per image; how many numbers an image and a code have; of a Gaussian likelihood its std, and the root of the
    mean squared error.
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
        """Returns (loss - distortion) / rate: of a beta-VAE beta itself, of other objectives what a nat costs on
        average. What one more nat would cost may differ: of an AnnealedVAE above its capacity it is gamma.
        """
        return (self.loss - self.distortion) / self.rate if self.rate > 0 else math.nan

    @property
    def normalised(self) -> float:
        """Returns beta times latents over pixels, for a loss that is a mean over both: Higgins et al., ICLR 2017."""
        return self.beta * self.num_latents / self.num_pixels

    @property
    def calibrated(self) -> float | None:
        """Returns the beta that would have the same effect beside a Gaussian likelihood whose variance is the mean
        squared error; None if the likelihood is not Gaussian.
        """
        if self.std is None or not self.root_error:
            return None
        return self.beta * (self.std / self.root_error) ** 2


def check_weights(weights: LossWeights) -> Finding:
    """Returns what a nat of rate costs, and in which other terms the same weight is told."""
    beta = weights.beta
    if not math.isfinite(beta):
        says = "The history of this run has no rate, or a rate of 0, so a nat of it has no price."
        return Finding(NAME, "unknown", says, {"rate": weights.rate})
    calibrated = weights.calibrated
    numbers = {
        "beta": beta,
        "normalised": weights.normalised,
        "mean_over_pixels": beta / weights.num_pixels,
        "calibrated": calibrated,
        "loss": weights.loss,
        "distortion": weights.distortion,
        "rate": weights.rate,
    }
    says = (
        f"At the end of training a nat of rate cost {short(beta)} nats of distortion on average (loss "
        f"{short(weights.loss)}, of which {short(weights.distortion)} distortion; rate {short(weights.rate)}). The "
        f"loss is summed over {weights.num_pixels:,} pixels; code that takes the mean over pixels has the same balance "
        f"at beta = {short(beta / weights.num_pixels)} (Higgins et al.'s normalised beta is "
        f"{short(weights.normalised)})."
    )
    if calibrated is None or weights.std is None or weights.root_error is None:
        return Finding(NAME, "fine", says, numbers)
    says += (
        f" Pixels are told with a noise of {short(weights.std)}, and are off by {short(weights.root_error)}: beside a "
        f"likelihood that knew this, beta would be {short(calibrated)}."
    )
    if 1 / _FAR <= (weights.std / weights.root_error) ** 2 <= _FAR:
        return Finding(NAME, "fine", says, numbers)
    advice = (
        (
            f"The likelihood is not calibrated: set GaussianLikelihood(std={weights.root_error:.2g}), or learn it with "
            "LearnedGaussianLikelihood, and read beta anew."
        ),
    )
    return Finding(NAME, "look", says, numbers, advice)
