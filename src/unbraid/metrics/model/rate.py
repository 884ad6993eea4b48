"""Rate of a trained model."""

from dataclasses import dataclass
from typing import ClassVar, final

from unbraid.metrics.model.model_score import ModelScore, PerImage
from unbraid.models.trained.elbo import CodedImages


@final
@dataclass(frozen=True)
class Rate(ModelScore):
    """Rate, the mean of KL(q(z | x) || p(z)) over images, in nats per image.

    If the KL has no closed form, it is estimated from one code per image, drawn with `seed`. Discrete latents are
    evaluated as categories. The metric `ELBODecomposition` decomposes the rate of codes into three terms.
    """

    seed: int = 0
    """Seed of the draws of codes."""

    quantity: ClassVar[str] = "rate"
    higher_is_better: ClassVar[bool | None] = None
    needs_density: ClassVar[bool] = True

    def per_image(self, coded: CodedImages) -> PerImage:
        return {"value": coded.rate(self.seed)}
