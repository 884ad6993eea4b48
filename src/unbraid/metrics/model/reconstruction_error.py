"""Difference between images and their reconstructions."""

from dataclasses import dataclass
from typing import ClassVar, Literal, final

import torch
from jaxtyping import Float64
from torch import Tensor
from torch.nn.functional import binary_cross_entropy

from unbraid.metrics.model.model_score import ModelScore, PerImage
from unbraid.models.trained.elbo import CodedImages


@final
@dataclass(frozen=True)
class ReconstructionError(ModelScore):
    """Difference between images and reconstructions, averaged over pixels, channels and images.

    For intensities x of the image and m of the reconstruction, the error is (x - m)^2 ("squared"), |x - m|
    ("absolute"), or -x log m - (1 - x) log(1 - m) in nats ("cross_entropy", with m clamped to [0, 1] and logarithms to
    at least -100). The reconstruction is decoded from posterior means and the most likely categories. The error has no
    constants of a likelihood, so it allows comparisons of models with different likelihoods.
    """

    error: Literal["squared", "absolute", "cross_entropy"] = "squared"
    """Squared or absolute difference of intensities, or cross-entropy in nats."""

    quantity: ClassVar[str] = "reconstruction error"
    higher_is_better: ClassVar[bool | None] = False

    def per_image(self, coded: CodedImages) -> PerImage:
        return {"value": self._errors(coded.x.double(), coded.reconstruction.double()).flatten(1).mean(dim=1)}

    def _errors(
        self, x: Float64[Tensor, "row channel height width"], m: Float64[Tensor, "row channel height width"]
    ) -> Float64[Tensor, "row channel height width"]:
        match self.error:
            case "squared":
                return torch.square(x - m)
            case "absolute":
                return (x - m).abs()
            case "cross_entropy":
                return binary_cross_entropy(m.clamp(0, 1), x, reduction="none")
