"""VAE with a bonus for the mutual information of images and selected latents."""

from dataclasses import dataclass
from typing import ClassVar

from jaxtyping import Float
from torch import Tensor

from unbraid.config.schedule import Weight
from unbraid.errors import SpecError
from unbraid.information.aggregate import combined_log_pmf, log_mixture, log_weights
from unbraid.models.autoencoder import Autoencoder
from unbraid.objectives.decomposed_elbo import logged_parts
from unbraid.objectives.objective import Loss, Objective, Step, check_rate
from unbraid.objectives.weight_advice import PENALIZE_TC, RateWeight, WeightAdvice, suggest


@dataclass(frozen=True)
class AnchorVAE(Objective):
    """AnchorVAE loss: distortion + KL(q(z|x) || p(z)) - weight I(x; z_a), where z_a are the latents `anchors`.

    Gao et al., arXiv:1802.05822v1, as in Esmaeili et al., arXiv:1804.02086v1, table 1. I(x; z_a) is the mean of
    log q(z_a|x) - log q(z_a), and q(z_a) is estimated with eq. 13. I(x; z_a) is at most log N for N images, so the loss
    is bounded below.
    """

    weight: Weight = 1.0
    """Weight of the mutual information of image and anchors."""
    anchors: tuple[int, ...] = (0,)
    """Indices of the anchors, the latents whose mutual information is increased."""

    weights_are_nonnegative: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.anchors:
            raise SpecError(
                "AnchorVAE: anchors is (); expected at least one latent index. Pass anchors=(0,), or use VAE."
            )

    def check(self, model: Autoencoder) -> None:
        check_rate(self, model)
        check_anchors(self, self.anchors, model)

    def weight_advice(self) -> WeightAdvice:
        return WeightAdvice(suggest(self, "weight", 2, "of the information of the anchors"), "", PENALIZE_TC)

    def rate_weight(self) -> RateWeight:
        return RateWeight.beside("anchors with little information", 1.0)

    def __call__(self, step: Step) -> Loss:
        parts = logged_parts(step)
        return Loss(
            total=parts["distortion"] + step.rate() - self.weight * anchor_information(step, self.anchors),
            parts=parts | {"anchor_information": anchor_information(step.as_logged(), self.anchors)},
        )


def anchor_information(step: Step, anchors: tuple[int, ...]) -> Float[Tensor, ""]:
    """Returns the mutual information of image and anchors, estimated from the batch with eq. 13, in nats."""
    z = step.z
    weights = log_weights("stratified_pairs", len(z), step.dataset_size, step.weights, dtype=z.dtype, device=z.device)
    summed = step.posterior.summed_log_pmf
    drawn = [latent for latent in anchors if latent not in summed]
    log_pmf = combined_log_pmf(summed, anchors)
    pairwise, own = step.posterior.pairwise_joint_log_prob(z, drawn), step.posterior.joint_log_prob(z, drawn)
    if log_pmf is not None:
        own = own + (log_pmf.exp() * log_pmf).sum(dim=1)
    return (own - log_mixture(pairwise + weights, log_pmf)).mean()


def check_anchors(objective: Objective, anchors: tuple[int, ...], model: Autoencoder) -> None:
    """Raises if an anchor is repeated or is not a latent of the model."""
    last = model.latents.num_latents - 1
    if not all(0 <= latent <= last for latent in anchors) or len(set(anchors)) < len(anchors):
        raise SpecError(
            f"{type(objective).__name__}: anchors is {anchors}; expected different latents of the model. "
            f"Pass indices from 0 to {last}."
        )
