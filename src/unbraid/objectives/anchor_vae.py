"""The VAE with a bonus for the information of some latents."""

from dataclasses import dataclass
from typing import ClassVar

from jaxtyping import Float
from torch import Tensor

from unbraid.config.schedule import Weight
from unbraid.errors import SpecError
from unbraid.information.aggregate import combined_log_pmf, log_mixture, log_weights
from unbraid.models.autoencoder import Autoencoder
from unbraid.objectives.decomposed_elbo import logged_parts
from unbraid.objectives.levers import PENALIZE_TC, Levers, RatePrice, moved
from unbraid.objectives.objective import Loss, Objective, Step, check_rate


@dataclass(frozen=True)
class AnchorVAE(Objective):
    """distortion + KL(q(z|x) || p(z)) - weight I(x; z_a) for the chosen latents z_a, the `anchors`.

    Gao et al., arXiv:1802.05822v1, as in Esmaeili et al., arXiv:1804.02086v1, table 1. The mutual information is the
    mean of log q(z_a|x) - log q(z_a), with eq. 13 for the latter. It is at most log N, so the loss is bounded below.
    """

    weight: Weight = 1.0
    """Weight of the mutual information with the anchors."""
    anchors: tuple[int, ...] = (0,)
    """Indices of the chosen latents."""

    weights_are_nonnegative: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.anchors:
            raise SpecError("AnchorVAE: there are no anchors. Give the index of at least one latent, or use VAE.")

    def check(self, model: Autoencoder) -> None:
        check_rate(self, model)
        check_anchors(self, self.anchors, model)

    def levers(self) -> Levers:
        return Levers(moved(self, "weight", 2, "of the information of the anchors"), "", PENALIZE_TC)

    def rate_price(self) -> RatePrice:
        return RatePrice.beside("anchors with little information", 1.0)

    def __call__(self, step: Step) -> Loss:
        parts = logged_parts(step)
        return Loss(
            total=parts["distortion"] + step.rate() - self.weight * anchor_information(step, self.anchors),
            parts=parts | {"anchor_information": anchor_information(step.as_logged(), self.anchors)},
        )


def anchor_information(step: Step, anchors: tuple[int, ...]) -> Float[Tensor, ""]:
    """Returns I(x; z_a), estimated from the batch with eq. 13, in nats."""
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
    """Raises if anchors are repeated or are not latents of the model."""
    last = model.latents.num_latents - 1
    if not all(0 <= latent <= last for latent in anchors) or len(set(anchors)) < len(anchors):
        raise SpecError(
            f"{type(objective).__name__}: anchors is {anchors}; expected some of the latents 0 to {last} of the "
            "model, each once."
        )
