"""What every autoencoder logs, whatever it minimises."""

from jaxtyping import Float
from torch import Tensor

from unbraid.information.aggregate import Decomposition
from unbraid.objectives.objective import Step


def elbo_parts(step: Step, logged: Decomposition, *, grouped: bool = False) -> dict[str, Float[Tensor, ""]]:
    """distortion and rate, whose sum is minus the ELBO, and the parts of the rate; nats per image.

    Only where latents are `grouped` is there a correlation within groups to tell of.
    """
    within = {"total_correlation_within": logged.total_correlation_within.mean()} if grouped else {}
    return {
        "distortion": -step.log_likelihood.mean(),
        "rate": step.prior.kl_from(step.posterior, step.z).sum(dim=1).mean(),
        "mutual_information": logged.mutual_information.mean(),
        "total_correlation": logged.total_correlation.mean(),
        **within,
        "dimension_wise_kl": logged.dimension_wise_kl.mean(),
    }
