"""The rate."""

from dataclasses import dataclass
from typing import ClassVar, final

from unbraid.metrics.model.model_score import ModelScore, PerImage
from unbraid.models.trained.elbo import CodedImages


@final
@dataclass(frozen=True)
class Rate(ModelScore):
    """KL(q(z | x) || p(z)), the mean over images, in nats per image.

    Where it has no closed form, one code of each image is drawn, from `seed`. Discrete latents count as categories.
    `ELBODecomposition` splits it into three terms, from codes.
    """

    seed: int = 0
    """Which codes are drawn."""

    quantity: ClassVar[str] = "rate"
    higher_is_better: ClassVar[bool | None] = None
    needs_density: ClassVar[bool] = True

    def per_image(self, coded: CodedImages) -> PerImage:
        return {"value": coded.rate(self.seed)}
