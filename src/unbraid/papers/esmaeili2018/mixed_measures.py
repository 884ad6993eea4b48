"""What the library of Esmaeili et al. computes, to compare with: as published, not an objective."""

from dataclasses import dataclass
from typing import final

import torch

from unbraid.distributions import BernoulliLatents, ConcreteLatents, ConditionalLatents, GroupedLatents
from unbraid.distributions.posteriors.latents import Latents
from unbraid.errors import SpecError
from unbraid.information.aggregate import Decomposition, JointDensities, decompose, log_weights
from unbraid.models.autoencoder import Autoencoder
from unbraid.objectives.decomposed_elbo import decomposition
from unbraid.objectives.objective import Loss, Objective, Step, check_rate, check_weights
from unbraid.objectives.terms.parts import elbo_parts
from unbraid.schedule import Weight


@final
@dataclass(frozen=True, kw_only=True)
class MixedMeasures(Objective):
    """The HFVAE with the mixture of measures of its authors' library: as published, not an objective.

    A category counts by the probability of what was drawn in every q^ that is averaged over the batch and in p(z_j) of
    a latent, and by the density of the relaxed draw in q(z | x) and in p(z) of a group. So the mutual information is a
    density less a probability, and the correlation within groups has a density and a probability of the prior in it:
    numbers of no meaning, which the weights trade for others. It is here so that what it does can be measured, and
    nowhere else. What is logged is of one measure, the density.
    """

    alpha: Weight = 1.0
    """Weight of what stands for the mutual information."""
    beta: Weight = 4.0
    """Weight of the total correlation between groups."""
    gamma: Weight = 3.0
    """Weight of what stands for the total correlation within groups."""

    def __post_init__(self) -> None:
        super().__post_init__()
        check_weights(self)

    def check(self, model: Autoencoder) -> None:
        check_rate(self, model)
        if _measures(model.latents) != {"density"}:
            raise SpecError(
                f"MixedMeasures takes the density of a relaxed category, and {type(model.latents).__name__} have no "
                'discrete latent with measure="density". Give GroupedLatents or ConditionalLatents with one.'
            )

    def __call__(self, step: Step) -> Loss:
        mixed = mixed_decomposition(step)
        parts = elbo_parts(step, decomposition(step, "eq13", "model"), grouped=True)
        total = (
            parts["distortion"]
            + self.alpha * mixed.mutual_information.mean()
            + self.beta * mixed.total_correlation.mean()
            + self.gamma * mixed.total_correlation_within.mean()
            + mixed.dimension_wise_kl.mean()
        )
        return Loss(total=total, parts=parts)


def mixed_decomposition(step: Step) -> Decomposition:
    """Returns the terms of eq. 9 with the density of a category in some places and its probability in others."""
    z, by_density, prior = step.z, step.posterior, step.prior
    by_probability, everything = by_density.by_category(), range(len(step.widths))
    joint = JointDensities(
        own=by_density.joint_log_prob(z, everything),
        pairwise=by_probability.pairwise_joint_log_prob(z, everything),
        pairwise_groups=torch.stack([by_probability.pairwise_joint_log_prob(z, g) for g in step.groups], dim=2),
        prior=prior.joint_log_prob(z, everything),
        prior_groups=torch.stack([prior.joint_log_prob(z, group) for group in step.groups], dim=1),
    )
    table = log_weights("eq13", len(z), step.dataset_size, step.weights, dtype=z.dtype, device=z.device)
    return decompose(
        by_density.log_prob(z),
        by_probability.pairwise_log_prob(z),
        table,
        prior.by_category().log_prob(z),
        step.groups,
        joint,
    )


def _measures(latents: Latents) -> set[str]:
    """Returns the measures of the discrete latents."""
    if isinstance(latents, ConcreteLatents | BernoulliLatents):
        return {latents.measure}
    if isinstance(latents, ConditionalLatents):
        return {latents.category.measure}
    return set().union(*map(_measures, latents.parts)) if isinstance(latents, GroupedLatents) else set()
