"""The VAE with a total correlation estimated by a critic."""

from dataclasses import KW_ONLY, dataclass
from typing import ClassVar

from jaxtyping import Float
from torch import Tensor

from unbraid.config.schedule import Weight
from unbraid.errors import SpecError
from unbraid.models.architecture import ImageShape
from unbraid.models.autoencoder import Autoencoder
from unbraid.objectives.decomposed_elbo import logged_parts
from unbraid.objectives.levers import Levers, RatePrice, moved, smaller
from unbraid.objectives.objective import CriticReads, Loss, Objective, Shapes, Step, check_rate
from unbraid.objectives.terms.adversary import density_ratio_loss, judged, log_ratio, permuted_codes


@dataclass(frozen=True)
class FactorVAE(Objective):
    """distortion + KL(q(z|x) || p(z)) + gamma TC, where a critic estimates TC.

    Kim & Mnih, arXiv:1802.05983v3, eq. 2 and algorithm 2. The critic outputs two logits, for a code from q(z) and for
    one from prod_j q(z_j); TC is the mean of their difference over the codes of the batch. It learns to distinguish
    those codes from permuted codes of a second, independent batch; with `same_batch`, from permuted codes of the batch
    itself, which saves one encoding. The estimate is known to be too low.
    """

    gamma: Weight = 35.0
    """Weight of the total correlation."""
    _: KW_ONLY
    same_batch: bool = False
    """Whether the critic reads the permuted codes of the batch itself instead of a second batch."""

    critic_reads: ClassVar[CriticReads | None] = "codes"
    critic_outputs: ClassVar[int] = 2
    weights_are_nonnegative: ClassVar[bool] = True

    def check(self, model: Autoencoder) -> None:
        check_rate(self, model)
        if model.latents.num_latents < 2:
            raise SpecError(
                "FactorVAE: the code has one latent, which cannot be correlated with another. Give at least 2, or use "
                "VAE."
            )

    def levers(self) -> Levers:
        return Levers(smaller(self, "gamma"), "", moved(self, "gamma", 2))

    def rate_price(self) -> RatePrice:
        return RatePrice.beside("the total correlation that a critic estimates", 1.0)

    @property
    def needs_other_batch(self) -> bool:
        return not self.same_batch

    def draw_shapes(self, batch_size: int, model: Autoencoder, image_shape: ImageShape) -> Shapes:
        del image_shape
        return {"permutation": (batch_size, model.latents.num_latents)}

    def __call__(self, step: Step) -> Loss:
        parts, cost = logged_parts(step), step.rate()
        total_correlation = estimated_total_correlation(step)
        return Loss(
            total=parts["distortion"] + cost + self.gamma * total_correlation,
            parts=parts | {"critic_total_correlation": total_correlation},
            critic=loss_of_critic(step),
        )


def estimated_total_correlation(step: Step) -> Float[Tensor, ""]:
    """Returns the critic's estimate of the total correlation, in nats."""
    assert step.critic is not None
    return log_ratio(step.critic(step.z)).mean()


def loss_of_critic(step: Step) -> Float[Tensor, ""]:
    """Returns the loss of the critic on codes, and on permuted codes of the other batch or the same batch."""
    assert step.critic_in_training is not None
    z_of_others = step.z if step.other is None else step.other.z
    permuted = permuted_codes(z_of_others, step.draws["permutation"], step.widths)
    return density_ratio_loss(*judged(step.critic_in_training, step.z, permuted))
