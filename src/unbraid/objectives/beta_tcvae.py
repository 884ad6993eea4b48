"""The VAE with a heavier total correlation."""

from dataclasses import dataclass
from typing import final

from unbraid.information.aggregate import Estimator
from unbraid.objectives.decomposed_elbo import DecomposedELBO
from unbraid.objectives.objective import Loss, Objective, Step, check_weights
from unbraid.schedule import Weight, shifted


@final
@dataclass(frozen=True, kw_only=True)
class BetaTCVAE(Objective):
    """distortion + alpha MI + beta TC + gamma DWKL. Chen et al., arXiv:1802.04942v5, eq. 4.

    MI is the mutual information of image and code, TC the total correlation of the latents, DWKL the dimension-wise KL;
    their sum is the rate. With `analytic_kl` the rate is taken in closed form and the sampled parts enter with the
    weights alpha - 1, beta - 1, gamma - 1: the same expectation, less noise.

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
    """How q(z) is estimated from a batch."""
    analytic_kl: bool = False
    """Whether the rate is in closed form and the sampled parts enter with the weights less 1: less noise."""

    def __post_init__(self) -> None:
        super().__post_init__()
        check_weights(self)

    def __call__(self, step: Step) -> Loss:
        return self.general()(step)

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
