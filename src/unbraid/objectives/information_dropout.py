"""Information dropout: penalties on the mutual information and the total correlation, without a prior."""

from dataclasses import dataclass
from typing import ClassVar

from unbraid.config.schedule import Weight
from unbraid.information.aggregate import Estimator
from unbraid.models.autoencoder import Autoencoder
from unbraid.objectives.decomposed_elbo import CaseOfDecomposedELBO, DecomposedELBO
from unbraid.objectives.objective import check_fixed_prior, check_rate
from unbraid.objectives.weight_advice import WeightAdvice, suggest, suggest_less


@dataclass(frozen=True, kw_only=True)
class InformationDropout(CaseOfDecomposedELBO):
    """Information dropout loss: distortion + beta I(x; z) + gamma TC.

    Achille & Soatto, arXiv:1611.01353v3, in the form of Esmaeili et al., arXiv:1804.02086v1, table 1. The
    multiplicative noise of Achille & Soatto is omitted. No term fixes the scale of a latent, so means and standard
    deviations may grow or shrink together. Use scale-invariant metrics, or `DecomposedELBO` with a small
    `dimension_wise_kl`.
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
        # With a learned prior the loss would be unbounded below: log p(z) - sum_j log p(z_j) grows without limit as the
        # prior moves away from the codes.
        check_fixed_prior(self, model)

    def weight_advice(self) -> WeightAdvice:
        return WeightAdvice(suggest_less(self, "beta"), suggest(self, "beta", 2), suggest(self, "gamma", 2))

    def general_form(self) -> DecomposedELBO:
        return DecomposedELBO(
            rate=0.0,
            mutual_information=self.beta,
            total_correlation=self.gamma,
            total_correlation_within=0.0,
            dimension_wise_kl=0.0,
            estimator=self.estimator,
        )
