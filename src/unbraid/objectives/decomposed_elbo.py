"""The ELBO with a weight of its own for every part of its rate."""

import math
from dataclasses import dataclass
from typing import final

from jaxtyping import Float
from torch import Tensor

from unbraid.errors import SpecError
from unbraid.information.aggregate import Estimator, decompose, log_weights
from unbraid.objectives.objective import Loss, Objective, Step


@final
@dataclass(frozen=True)
class DecomposedELBO(Objective):
    """distortion + rate KL + mutual_information MI + total_correlation TC + dimension_wise_kl DWKL, each field the weight of its term.

    KL is the closed-form KL(q(z|x) || p(z)); the other three are its parts (Chen et al., arXiv:1802.04942v5, eq. 2), estimated from the
    batch, so that the weights (1, 0, 0, 0) and (0, 1, 1, 1) have the same expectation: the VAE. VAE, beta-VAE and beta-TCVAE are cases
    of this objective, which is why they can share a fleet.

    The loss uses `estimator`. The logged parts always use eq. 13 of Esmaeili et al., arXiv:1804.02086v4, because the constants of "mws" have
    no gradient but shift its total correlation by (L - 1) log N.
    """

    rate: float = 0.0
    mutual_information: float = 1.0
    total_correlation: float = 1.0
    dimension_wise_kl: float = 1.0
    estimator: Estimator = "mws"

    def __post_init__(self) -> None:
        for name, weight in self.hyperparameters.items():
            if not math.isfinite(weight):
                raise SpecError(f"DecomposedELBO: {name} is {weight}; expected a finite weight.")

    def __call__(self, step: Step) -> Loss:
        distortion = -step.log_likelihood.mean()
        rate = step.prior.kl_from(step.posterior).sum(dim=1).mean()
        pairwise = step.posterior.pairwise_log_prob(step.z)
        log_posterior, log_prior = step.posterior.log_prob(step.z), step.prior.log_prob(step.z)
        trained = decompose(log_posterior, pairwise, _log_weights(self.estimator, step), log_prior)
        logged = trained if self.estimator == "eq13" else decompose(log_posterior, pairwise, _log_weights("eq13", step), log_prior)
        total = (
            distortion
            + self.rate * rate
            + self.mutual_information * trained.mutual_information.mean()
            + self.total_correlation * trained.total_correlation.mean()
            + self.dimension_wise_kl * trained.dimension_wise_kl.mean()
        )
        return Loss(
            total=total,
            parts={
                "distortion": distortion,
                "rate": rate,
                "mutual_information": logged.mutual_information.mean(),
                "total_correlation": logged.total_correlation.mean(),
                "dimension_wise_kl": logged.dimension_wise_kl.mean(),
            },
        )


def _log_weights(estimator: Estimator, step: Step) -> Float[Tensor, "sample batch"]:
    return log_weights(estimator, len(step.z), step.dataset_size, step.weights, dtype=step.z.dtype, device=step.z.device)
