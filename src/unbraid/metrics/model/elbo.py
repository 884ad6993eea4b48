"""Evidence lower bound of a trained model."""

from dataclasses import dataclass
from typing import ClassVar, final

from unbraid.metrics.model.model_score import ModelScore, PerImage
from unbraid.models.trained.elbo import CodedImages


@final
@dataclass(frozen=True)
class ELBO(ModelScore):
    """ELBO, the mean of E_q log p(x | z) - KL(q(z | x) || p(z)) over images, in nats per image.

    The ELBO is -distortion - rate (Kingma & Welling, arXiv:1312.6114v10, eq. (3)). One code per image is drawn with
    `seed`. Discrete latents are evaluated as categories, so the value is a lower bound for any training objective.
    """

    seed: int = 0
    """Seed of the draws of codes."""

    quantity: ClassVar[str] = "ELBO"
    higher_is_better: ClassVar[bool | None] = True
    needs_density: ClassVar[bool] = True

    def per_image(self, coded: CodedImages) -> PerImage:
        distortion, rate = -coded.log_likelihood(self.seed), coded.rate(self.seed)
        return {"value": -distortion - rate, "distortion": distortion, "rate": rate}
