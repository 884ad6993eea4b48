"""VAE with a total correlation estimated by a critic."""

from dataclasses import KW_ONLY, dataclass
from typing import ClassVar

from jaxtyping import Float
from torch import Tensor

from unbraid.config.schedule import Weight
from unbraid.errors import SpecError
from unbraid.models.architecture import ImageShape
from unbraid.models.autoencoder import Autoencoder
from unbraid.objectives.decomposed_elbo import logged_parts
from unbraid.objectives.objective import CriticReads, Loss, Objective, Shapes, Step, check_rate
from unbraid.objectives.terms.adversary import both_logits, density_ratio_loss, log_ratio, permuted_codes
from unbraid.objectives.weight_advice import RateWeight, WeightAdvice, suggest, suggest_less


@dataclass(frozen=True)
class FactorVAE(Objective):
    """FactorVAE loss: distortion + KL(q(z|x) || p(z)) + gamma TC, where a critic estimates TC.

    Kim & Mnih, arXiv:1802.05983v3, eq. 2 and algorithm 2. The critic outputs two logits, one for codes from q(z) and
    one for codes from prod_j q(z_j). TC is the mean difference of the two logits over the batch. The critic is trained
    to distinguish the codes of the batch from permuted codes of a second, independent batch. With `same_batch`, the
    codes of the same batch are permuted, which saves one encoding. The estimate is usually too low.
    """

    gamma: Weight = 35.0
    """Weight of the total correlation."""
    _: KW_ONLY
    same_batch: bool = False
    """Whether to permute codes of the same batch for the critic, instead of codes of a second batch."""

    critic_reads: ClassVar[CriticReads | None] = "codes"
    critic_outputs: ClassVar[int] = 2
    weights_are_nonnegative: ClassVar[bool] = True

    def check(self, model: Autoencoder) -> None:
        check_rate(self, model)
        if model.latents.num_latents < 2:
            raise SpecError(
                "FactorVAE: the model has 1 latent; expected at least 2. Add latents, e.g. "
                "Autoencoder(latents=GaussianLatents(10)), or use VAE."
            )

    def weight_advice(self) -> WeightAdvice:
        return WeightAdvice(suggest_less(self, "gamma"), "", suggest(self, "gamma", 2))

    def rate_weight(self) -> RateWeight:
        return RateWeight.beside("the total correlation that a critic estimates", 1.0)

    @property
    def needs_other_batch(self) -> bool:
        return not self.same_batch

    def draw_shapes(self, batch_size: int, model: Autoencoder, image_shape: ImageShape) -> Shapes:
        del image_shape
        return {"permutation": (batch_size, model.latents.num_latents)}

    def __call__(self, step: Step) -> Loss:
        parts, rate = logged_parts(step), step.rate()
        total_correlation = estimated_total_correlation(step)
        return Loss(
            total=parts["distortion"] + rate + self.gamma * total_correlation,
            parts=parts | {"critic_total_correlation": total_correlation},
            critic=loss_of_critic(step),
        )


def estimated_total_correlation(step: Step) -> Float[Tensor, ""]:
    """Returns the critic's estimate of the total correlation, in nats."""
    assert step.critic is not None
    return log_ratio(step.critic(step.z)).mean()


def loss_of_critic(step: Step) -> Float[Tensor, ""]:
    """Returns the loss of the critic on codes of the batch and permuted codes of the other or the same batch."""
    assert step.critic_in_training is not None
    z_of_others = step.z if step.other is None else step.other.z
    permuted = permuted_codes(z_of_others, step.draws["permutation"], step.widths)
    return density_ratio_loss(*both_logits(step.critic_in_training, step.z, permuted))
