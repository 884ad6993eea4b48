"""The hierarchically factorized VAE."""

from dataclasses import dataclass
from typing import ClassVar

from unbraid.config.schedule import Weight
from unbraid.information.aggregate import Estimator
from unbraid.models.autoencoder import Autoencoder
from unbraid.objectives.decomposed_elbo import (
    CaseOfDecomposedELBO,
    DecomposedELBO,
    Groups,
    check_groups,
    check_nested_weights,
)
from unbraid.objectives.objective import check_rate
from unbraid.objectives.weight_advice import WeightAdvice, suggest, suggest_less


@dataclass(frozen=True, kw_only=True)
class HFVAE(CaseOfDecomposedELBO):
    """HFVAE loss: distortion + alpha MI + beta TC between groups + gamma TC within groups + DWKL.

    Esmaeili et al., arXiv:1804.02086v1, eq. 9. The total correlation of the prior is subtracted from both TC. `groups`
    are tuples of latent indices, with continuous latents first. With the groups "each", the objective is beta-TCVAE
    with eq. 13, and gamma has no effect. With one group of all latents, beta has no effect. Groups may be nested. Then
    beta weights the total correlation between the outermost groups, gamma between the parts of these groups, and
    `nested_weights` on the lower levels. The defaults are the published values for dSprites.
    """

    alpha: Weight = 1.0
    """Weight of the mutual information of image and code."""
    beta: Weight = 4.0
    """Weight of the total correlation between groups."""
    gamma: Weight = 3.0
    """Weight of the total correlation within groups."""
    groups: Groups = "model"
    """Groups of latent indices, "each" for single latents, or "model" for the groups of the model's latents."""
    estimator: Estimator = "stratified_pairs"
    """Estimator of q(z) from a batch."""
    nested_weights: tuple[float, ...] = ()
    """Weights of the total correlation within nested groups, one per level; the last applies to all lower levels."""

    weights_are_nonnegative: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        check_nested_weights(self, self.nested_weights, self.groups)

    def check(self, model: Autoencoder) -> None:
        check_rate(self, model)
        check_groups(self, self.groups, model)

    def weight_advice(self) -> WeightAdvice:
        return WeightAdvice(suggest_less(self, "beta"), "", suggest(self, "beta", 2))

    def general_form(self) -> DecomposedELBO:
        return DecomposedELBO(
            rate=0.0,
            mutual_information=self.alpha,
            total_correlation=self.beta,
            total_correlation_within=self.gamma,
            dimension_wise_kl=1.0,
            groups=self.groups,
            estimator=self.estimator,
            nested_weights=self.nested_weights,
        )
