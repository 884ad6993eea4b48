"""The evidence lower bound."""

from dataclasses import dataclass
from typing import ClassVar, final

from unbraid.metrics.model.model_score import ModelScore, PerImage
from unbraid.models.trained.elbo import CodedImages


@final
@dataclass(frozen=True)
class ELBO(ModelScore):
    """E_q log p(x | z) - KL(q(z | x) || p(z)), the mean over images, in nats per image: minus distortion, minus rate.

    One code of each image is drawn, from `seed`. Discrete latents count as categories, so the bound holds for any
    objective of training (Kingma & Welling, arXiv:1312.6114v10, eq. (3)).
    """

    seed: int = 0
    """Which codes are drawn."""

    quantity: ClassVar[str] = "ELBO"
    higher_is_better: ClassVar[bool | None] = True
    needs_density: ClassVar[bool] = True

    def per_image(self, coded: CodedImages) -> PerImage:
        distortion, rate = -coded.log_likelihood(self.seed), coded.rate(self.seed)
        return {"value": -distortion - rate, "distortion": distortion, "rate": rate}
