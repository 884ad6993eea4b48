"""Information dropout: penalties of mutual information and total correlation, without a prior."""

from dataclasses import dataclass
from typing import ClassVar

from unbraid.config.schedule import Weight
from unbraid.information.aggregate import Estimator
from unbraid.models.autoencoder import Autoencoder
from unbraid.objectives.decomposed_elbo import CaseOfDecomposedELBO, DecomposedELBO
from unbraid.objectives.levers import Levers, moved, smaller
from unbraid.objectives.objective import check_fixed_prior, check_rate


@dataclass(frozen=True, kw_only=True)
class InformationDropout(CaseOfDecomposedELBO):
    """distortion + beta I(x; z) + gamma TC.

    Achille & Soatto, arXiv:1611.01353v3, as in Esmaeili et al., arXiv:1804.02086v1, table 1, without their
    multiplicative noise. No term fixes the scale of a latent, so means and stds may drift together: use metrics that do
    not depend on scale, or add a small `dimension_wise_kl` with `DecomposedELBO`.
    """

    beta: Weight = 1.0
    """Weight of the mutual information of image and code."""
    gamma: Weight = 1.0
    """Weight of the total correlation."""
    estimator: Estimator = "stratified_pairs"
    """Estimator of q(z) from a batch."""

    weights_are_nonnegative: ClassVar[bool] = True

    def check(self, model: Autoencoder) -> None:
        check_rate(self, model)
        # A learned correlation would be worse than idle: moved far from the codes, log p(z) - sum_j log p(z_j) grows
        # without bound.
        check_fixed_prior(self, model)

    def levers(self) -> Levers:
        return Levers(smaller(self, "beta"), moved(self, "beta", 2), moved(self, "gamma", 2))

    def general(self) -> DecomposedELBO:
        return DecomposedELBO(
            rate=0.0,
            mutual_information=self.beta,
            total_correlation=self.gamma,
            total_correlation_within=0.0,
            dimension_wise_kl=0.0,
            estimator=self.estimator,
        )
