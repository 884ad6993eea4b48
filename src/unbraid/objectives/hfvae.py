"""The hierarchically factorized VAE."""

from dataclasses import dataclass
from typing import ClassVar

from unbraid.config.schedule import Weight
from unbraid.information.aggregate import Estimator
from unbraid.models.autoencoder import Autoencoder
from unbraid.objectives.decomposed_elbo import CaseOfDecomposedELBO, DecomposedELBO, Groups, check_deeper, check_groups
from unbraid.objectives.levers import Levers, moved, smaller
from unbraid.objectives.objective import check_rate


@dataclass(frozen=True, kw_only=True)
class HFVAE(CaseOfDecomposedELBO):
    """distortion + alpha MI + beta TC between groups + gamma TC within groups + DWKL.

    Esmaeili et al., arXiv:1804.02086v1, eq. 9. Both total correlations are relative to the prior's own. `groups` are
    tuples of latent indices (continuous latents first); or "model", the groups of the model's latents; or "each",
    single latents. With "each" the objective is beta-TCVAE with eq. 13, and gamma has no effect. With one group of all
    latents, beta has no effect. Groups may lie within groups, to any depth: beta weighs the correlation between the
    outermost ones, gamma that between their parts, and `deeper` that of the levels below. The defaults are the authors'
    for dSprites.
    """

    alpha: Weight = 1.0
    """Weight of the mutual information of image and code."""
    beta: Weight = 4.0
    """Weight of the total correlation between groups."""
    gamma: Weight = 3.0
    """Weight of the total correlation within groups."""
    groups: Groups = "model"
    """Groups of latent indices; or "each" for single latents; or "model" for the groups of the model's latents."""
    estimator: Estimator = "stratified_pairs"
    """Estimator of q(z) from a batch."""
    deeper: tuple[float, ...] = ()
    """Weights of the total correlation within nested groups, per level; the last applies to all deeper levels."""

    weights_are_nonnegative: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        check_deeper(self, self.deeper, self.groups)

    def check(self, model: Autoencoder) -> None:
        check_rate(self, model)
        check_groups(self, self.groups, model)

    def levers(self) -> Levers:
        return Levers(smaller(self, "beta"), "", moved(self, "beta", 2))

    def general(self) -> DecomposedELBO:
        return DecomposedELBO(
            rate=0.0,
            mutual_information=self.alpha,
            total_correlation=self.beta,
            total_correlation_within=self.gamma,
            dimension_wise_kl=1.0,
            groups=self.groups,
            estimator=self.estimator,
            deeper=self.deeper,
        )
