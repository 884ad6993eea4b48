"""InfoGAN: a generator, and an encoder that predicts the codes of generated images."""

from dataclasses import dataclass, field
from typing import ClassVar

import torch
from jaxtyping import Float
from torch import Tensor

from unbraid._internal.arrays import columns
from unbraid.config.schedule import Linear, Weight
from unbraid.errors import SpecError
from unbraid.models.architecture import ImageShape
from unbraid.models.autoencoder import Autoencoder
from unbraid.objectives.objective import CriticReads, Loss, Objective, Shapes, Step, check_density, check_fixed_prior
from unbraid.objectives.terms.adversary import critic_loss, generator_loss
from unbraid.objectives.weight_advice import RateWeight, WeightAdvice, suggest


@dataclass(frozen=True, kw_only=True)
class InfoGAN(Objective):
    """InfoGAN loss: -log D(G(c, u)) - weight E log Q(c | G(c, u)).

    Chen et al., arXiv:1606.03657v1, eq. 6. The decoder is the generator G; a generated image is the mean of the
    likelihood. The codes c are drawn from the prior, and the `noise_inputs` u of the model from a standard normal. The
    encoder is Q. Q is trained on generated images and encodes real images for metrics. The critic D classifies images
    as real or generated. Gaussian noise with the standard deviation `instance_noise` is added to the inputs of D and Q.
    `weight` applies to continuous codes, and `discrete_weight` to discrete codes.

    With `shared_trunk`, as published, D and Q share all layers except their last layers. The encoder is then trained on
    both losses by the optimizer of the critic, and the optimizer of the spec trains only G. Without `shared_trunk`, D
    is a separate net.
    """

    weight: Weight = 0.1
    """Weight of the mutual information of continuous codes."""
    discrete_weight: Weight = 1.0
    """Weight of the mutual information of discrete codes."""
    instance_noise: Weight = field(default_factory=lambda: Linear(0.1, 0.0))
    """Standard deviation of the noise on images that the critic and the encoder read."""
    shared_trunk: bool = True
    """Whether the critic and the encoder share all layers except their last layers."""

    config_version: ClassVar[int] = 2
    weights_are_nonnegative: ClassVar[bool] = True

    @property
    def critic_reads(self) -> CriticReads:
        return "features" if self.shared_trunk else "images"

    @property
    def generates(self) -> bool:
        return True

    def check(self, model: Autoencoder) -> None:
        check_density(self, model)
        check_fixed_prior(self, model)
        with torch.device("meta"):
            likelihood = model.likelihood.make()
        if any(True for _ in likelihood.parameters()):
            raise SpecError(
                f"{type(model.likelihood).__name__} has weights; expected a likelihood without weights, because "
                "InfoGAN uses only the mean and would not train the weights. Use e.g. GaussianLikelihood."
            )

    def weight_advice(self) -> WeightAdvice:
        return WeightAdvice(suggest(self, "weight", 4, "of the mutual information of codes"))

    def rate_weight(self) -> RateWeight:
        return RateWeight("This objective has no rate, so there is no beta.")

    def draw_shapes(self, batch_size: int, model: Autoencoder, image_shape: ImageShape) -> Shapes:
        return {
            "code": (batch_size, model.latents.num_columns),
            "noise": (batch_size, model.noise_inputs),
            "real": (batch_size, *image_shape),
            "fake": (batch_size, *image_shape),
        }

    def __call__(self, step: Step) -> Loss:
        assert step.critic is not None
        assert step.critic_in_training is not None
        code = step.prior.sample(step.draws["code"])
        assert step.decode is not None
        assert step.likelihood is not None
        fake = step.likelihood.mean(step.decode(torch.cat([code, step.draws["noise"]], dim=1)))
        noisy_real = step.x + self.instance_noise * step.draws["real"]
        noisy_fake = fake + self.instance_noise * step.draws["fake"]
        generator = generator_loss(step.critic(noisy_fake))
        continuous, discrete = _information(step, code, noisy_fake)
        # Separate calls: with BatchNorm, statistics of both batches together would let the critic distinguish the
        # batches.
        real_logits, fake_logits = step.critic_in_training(noisy_real), step.critic_in_training(noisy_fake)
        return Loss(
            total=generator - self.weight * continuous - self.discrete_weight * discrete,
            parts={
                "distortion": -step.log_likelihood.mean(),
                "generator": generator,
                "code_information": continuous + discrete,
            },
            critic=critic_loss(real_logits, fake_logits),
        )


def _information(
    step: Step, code: Float[Tensor, "batch column"], image: Float[Tensor, "batch channel height width"]
) -> tuple[Float[Tensor, ""], Float[Tensor, ""]]:
    """Returns E[log Q(c|x) - log p(c)] of the continuous codes and of the discrete codes, in nats.

    Both are lower bounds on the mutual information of image and codes. -log p(c) has no gradient, because the prior is
    fixed; the mean of -log p(c) is the entropy of the codes.
    """
    assert step.encode is not None
    posterior = step.encode(image)
    log_prior, num_continuous = step.prior.log_prob(code), posterior.mean.shape[1]
    num_latents = log_prior.shape[1]

    def information(latents: range) -> Float[Tensor, ""]:
        return (posterior.joint_log_prob(code, latents) - columns(log_prior, latents).sum(dim=1)).mean()

    return information(range(num_continuous)), information(range(num_continuous, num_latents))
