"""The distortion."""

from dataclasses import dataclass
from typing import ClassVar, final

from unbraid.metrics.model.model_score import ModelScore, PerImage
from unbraid.models.trained.elbo import CodedImages


@final
@dataclass(frozen=True)
class Distortion(ModelScore):
    """-E_q log p(x | z), the mean over images, in nats per image, with all constants of the likelihood.

    One code of each image is drawn, from `seed`; discrete latents as categories.
    """

    seed: int = 0
    """Which codes are drawn."""

    quantity: ClassVar[str] = "distortion"
    higher_is_better: ClassVar[bool | None] = False

    def per_image(self, coded: CodedImages) -> PerImage:
        return {"value": -coded.log_likelihood(self.seed)}
