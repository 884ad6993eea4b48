"""Evidence lower bound of a trained model."""

from dataclasses import dataclass
from typing import ClassVar, final

from unbraid.metrics.model.model_score import ModelScore, PerImage
from unbraid.models.trained.elbo import CodedImages


@final
@dataclass(frozen=True)
class ELBO(ModelScore):
    """Mean of E_q log p(x | z) - KL(q(z | x) || p(z)) over images, in nats per image: -distortion - rate.

    One code per image is drawn with `seed`. Discrete latents count as categories, so the bound holds for any
    training objective (Kingma & Welling, arXiv:1312.6114v10, eq. (3)).
    """

    seed: int = 0
    """The seed of the draws of codes."""

    quantity: ClassVar[str] = "ELBO"
    higher_is_better: ClassVar[bool | None] = True
    needs_density: ClassVar[bool] = True

    def per_image(self, coded: CodedImages) -> PerImage:
        distortion, rate = -coded.log_likelihood(self.seed), coded.rate(self.seed)
        return {"value": -distortion - rate, "distortion": distortion, "rate": rate}
