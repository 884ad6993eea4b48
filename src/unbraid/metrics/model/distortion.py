"""Distortion of a trained model."""

from dataclasses import dataclass
from typing import ClassVar, final

from unbraid.metrics.model.model_score import ModelScore, PerImage
from unbraid.models.trained.elbo import CodedImages


@final
@dataclass(frozen=True)
class Distortion(ModelScore):
    """Distortion, the mean of -E_q log p(x | z) over images, in nats per image.

    The value includes all constants of the likelihood. One code per image is drawn with `seed`. Discrete latents are
    drawn as categories.
    """

    seed: int = 0
    """Seed of the draws of codes."""

    quantity: ClassVar[str] = "distortion"
    higher_is_better: ClassVar[bool | None] = False

    def per_image(self, coded: CodedImages) -> PerImage:
        return {"value": -coded.log_likelihood(self.seed)}
