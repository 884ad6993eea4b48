"""The adversarial autoencoder."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, final

from unbraid.models.architecture import ImageShape
from unbraid.models.autoencoder import Autoencoder
from unbraid.objectives.objective import CriticReads, Loss, Objective, Step, check_weights
from unbraid.objectives.terms.adversary import critic_loss, generator_loss, judged
from unbraid.objectives.terms.prior_draws import check_fixed_prior
from unbraid.schedule import Weight


@final
@dataclass(frozen=True)
class AAE(Objective):
    """distortion - weight log D(z): an autoencoder whose codes must pass for draws from the prior. Makhzani et al.,
    arXiv:1511.05644v2, section 2.

    The critic D tells draws from the prior (real) from codes (fake): it minimises -log D(p) - log(1 - D(z)). Only draws
    are compared, so the encoder may be deterministic as well as stochastic. No density of a code is penalised, and the
    rate is not logged: there may be none.
    """

    weight: Weight = 10.0
    """Weight of passing for a draw from the prior."""

    critic_reads: ClassVar[CriticReads | None] = "codes"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_weights(self)

    def check(self, model: Autoencoder) -> None:
        check_fixed_prior(self, model)

    def draw_shapes(
        self, batch_size: int, model: Autoencoder, image_shape: ImageShape
    ) -> Mapping[str, tuple[int, ...]]:
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
