"""The adversarial autoencoder."""

from dataclasses import dataclass
from typing import ClassVar

from unbraid.config.schedule import Weight
from unbraid.models.architecture import ImageShape
from unbraid.models.autoencoder import Autoencoder
from unbraid.objectives.objective import CriticReads, Loss, Objective, Shapes, Step, check_fixed_prior
from unbraid.objectives.terms.adversary import both_logits, critic_loss, generator_loss
from unbraid.objectives.weight_advice import RateWeight, WeightAdvice, suggest


@dataclass(frozen=True)
class AAE(Objective):
    """Adversarial autoencoder loss: distortion - weight log D(z).

    Makhzani et al., arXiv:1511.05644v2, section 2. The critic D classifies draws p from the prior as real and codes z
    as fake, and minimizes -log D(p) - log(1 - D(z)). The loss needs no density of q(z|x), so the encoder may be
    deterministic. The rate is not logged, because it is undefined for a deterministic encoder.
    """

    weight: Weight = 10.0
    """Weight of the adversarial loss."""

    critic_reads: ClassVar[CriticReads | None] = "codes"
    weights_are_nonnegative: ClassVar[bool] = True

    def check(self, model: Autoencoder) -> None:
        check_fixed_prior(self, model)

    def weight_advice(self) -> WeightAdvice:
        term = "of the adversarial loss"
        return WeightAdvice(suggest(self, "weight", 0.25, term), "", suggest(self, "weight", 2, term))

    def rate_weight(self) -> RateWeight:
        return RateWeight("This objective has no rate, so there is no beta.")

    def draw_shapes(self, batch_size: int, model: Autoencoder, image_shape: ImageShape) -> Shapes:
        del image_shape
        return {"prior": (batch_size, model.latents.num_columns)}

    def __call__(self, step: Step) -> Loss:
        assert step.critic is not None
        assert step.critic_in_training is not None
        distortion, generator = -step.log_likelihood.mean(), generator_loss(step.critic(step.z))
        return Loss(
            total=distortion + self.weight * generator,
            parts={"distortion": distortion, "generator": generator},
            critic=critic_loss(*both_logits(step.critic_in_training, step.prior.sample(step.draws["prior"]), step.z)),
        )
