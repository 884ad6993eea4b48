"""The adversarial autoencoder."""

from dataclasses import dataclass
from typing import ClassVar

from unbraid.config.schedule import Weight
from unbraid.models.architecture import ImageShape
from unbraid.models.autoencoder import Autoencoder
from unbraid.objectives.levers import Levers, RatePrice, moved
from unbraid.objectives.objective import CriticReads, Loss, Objective, Shapes, Step, check_fixed_prior
from unbraid.objectives.terms.adversary import critic_loss, generator_loss, judged


@dataclass(frozen=True)
class AAE(Objective):
    """distortion - weight log D(z): an autoencoder that matches its codes with the prior.

    Makhzani et al., arXiv:1511.05644v2, section 2. The critic D distinguishes draws from the prior (real) and codes
    (fake): it minimizes -log D(p) - log(1 - D(z)). Only draws are compared, so the encoder may be deterministic. The
    rate is not logged, because deterministic codes have none.
    """

    weight: Weight = 10.0
    """Weight of the adversarial loss."""

    critic_reads: ClassVar[CriticReads | None] = "codes"
    weights_are_nonnegative: ClassVar[bool] = True

    def check(self, model: Autoencoder) -> None:
        check_fixed_prior(self, model)

    def levers(self) -> Levers:
        what = "of the adversarial loss"
        return Levers(moved(self, "weight", 0.25, what), "", moved(self, "weight", 2, what))

    def rate_price(self) -> RatePrice:
        return RatePrice("This objective has no rate, so there is no beta.")

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
            critic=critic_loss(*judged(step.critic_in_training, step.prior.sample(step.draws["prior"]), step.z)),
        )
