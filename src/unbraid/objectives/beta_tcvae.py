"""VAE with a weight on the total correlation."""

from dataclasses import dataclass
from typing import ClassVar

from unbraid.config.schedule import Weight, shifted
from unbraid.information.aggregate import Estimator
from unbraid.objectives.decomposed_elbo import CaseOfDecomposedELBO, DecomposedELBO
from unbraid.objectives.weight_advice import WeightAdvice, suggest, suggest_less


@dataclass(frozen=True, kw_only=True)
class BetaTCVAE(CaseOfDecomposedELBO):
    """Beta-TCVAE loss: distortion + alpha MI + beta TC + gamma DWKL. Chen et al., arXiv:1802.04942v5, eq. 4.

    MI is the mutual information of image and code, TC the total correlation of the latents, and DWKL the
    dimension-wise KL. The sum of the three is the rate. With `analytic_kl`, the loss is the distortion plus the rate in
    closed form plus the three terms with the weights alpha - 1, beta - 1 and gamma - 1. This loss has the same
    expectation and less noise.

    Examples:
        >>> BetaTCVAE(beta=6.0).general_form().total_correlation
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
    """Whether to add the rate in closed form and reduce the weights of its sampled terms by 1, for less noise."""

    weights_are_nonnegative: ClassVar[bool] = True

    def weight_advice(self) -> WeightAdvice:
        return WeightAdvice(suggest_less(self, "beta"), "", suggest(self, "beta", 2))

    def general_form(self) -> DecomposedELBO:
        rate = 1.0 if self.analytic_kl else 0.0
        return DecomposedELBO(
            rate=rate,
            mutual_information=shifted(self.alpha, -rate),
            total_correlation=shifted(self.beta, -rate),
            total_correlation_within=0.0,
            dimension_wise_kl=shifted(self.gamma, -rate),
            estimator=self.estimator,
        )
