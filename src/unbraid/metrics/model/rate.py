"""Rate of a trained model."""

from dataclasses import dataclass
from typing import ClassVar, final

from unbraid.metrics.model.model_score import ModelScore, PerImage
from unbraid.models.trained.elbo import CodedImages


@final
@dataclass(frozen=True)
class Rate(ModelScore):
    """Mean of KL(q(z | x) || p(z)) over images, in nats per image.

    If the KL has no closed form, one code per image is drawn with `seed`. Discrete latents count as categories.
    `ELBODecomposition` splits the rate into three terms, computed from codes.
    """

    seed: int = 0
    """The seed of the draws of codes."""

    quantity: ClassVar[str] = "rate"
    higher_is_better: ClassVar[bool | None] = None
    needs_density: ClassVar[bool] = True

    def per_image(self, coded: CodedImages) -> PerImage:
        return {"value": coded.rate(self.seed)}
