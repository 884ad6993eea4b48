"""The VAE with a weight on the total correlation."""

from dataclasses import dataclass
from typing import ClassVar

from unbraid.config.schedule import Weight, shifted
from unbraid.information.aggregate import Estimator
from unbraid.objectives.decomposed_elbo import CaseOfDecomposedELBO, DecomposedELBO
from unbraid.objectives.levers import Levers, moved, smaller


@dataclass(frozen=True, kw_only=True)
class BetaTCVAE(CaseOfDecomposedELBO):
    """distortion + alpha MI + beta TC + gamma DWKL. Chen et al., arXiv:1802.04942v5, eq. 4.

    MI is the mutual information of image and code, TC the total correlation of the latents, DWKL the dimension-wise KL;
    their sum is the rate. With `analytic_kl` the rate is in closed form and the sampled terms have the weights alpha -
    1, beta - 1, gamma - 1, with the same expectation and less noise.

    Examples:
        >>> BetaTCVAE(beta=6.0).general().total_correlation
        6.0
    """

    alpha: Weight = 1.0
    """Weight of the mutual information of image and code."""
    beta: Weight = 6.0
    """Weight of the total correlation."""
    gamma: Weight = 1.0
    """Weight of the dimension-wise KL."""
    estimator: Estimator = "mws"
    """Estimator of q(z) from a batch."""
    analytic_kl: bool = False
    """Whether the rate is in closed form and the weights of the sampled terms are reduced by 1, for less noise."""

    weights_are_nonnegative: ClassVar[bool] = True

    def levers(self) -> Levers:
        return Levers(smaller(self, "beta"), "", moved(self, "beta", 2))

    def general(self) -> DecomposedELBO:
        rate = 1.0 if self.analytic_kl else 0.0
        return DecomposedELBO(
            rate=rate,
            mutual_information=shifted(self.alpha, -rate),
            total_correlation=shifted(self.beta, -rate),
            total_correlation_within=0.0,
            dimension_wise_kl=shifted(self.gamma, -rate),
            estimator=self.estimator,
        )
