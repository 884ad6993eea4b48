"""Parts of the loss that every autoencoder logs."""

from dataclasses import replace

from jaxtyping import Float
from torch import Tensor

from unbraid.information.aggregate import Decomposition
from unbraid.objectives.objective import Step


def rate(step: Step) -> Float[Tensor, ""]:
    """Returns the mean KL(q(z | x) || p(z)) of the batch as the loss takes it, in nats per image."""
    return step.prior.kl_from(step.posterior, step.z).sum(dim=1).mean()


def as_logged(step: Step) -> Step:
    """Returns the step with the density that its codes were drawn from, which a loss may replace and a log may not."""
    true = step.posterior.with_true_density()
    return step if true is step.posterior else replace(step, posterior=true)


def elbo_parts(step: Step, logged: Decomposition | None, *, grouped: bool = False) -> dict[str, Float[Tensor, ""]]:
    """Returns distortion and rate, and the parts of the rate, for the log; nats per image.

    Without `logged`, for a step that is not logged, it returns the distortion alone.

    Distortion plus rate is minus the ELBO, except where the decoder sees a discrete latent relaxed and the rate counts
    its category. A correlation within groups is logged only where latents are `grouped`.
    """
    distortion = -step.log_likelihood.mean()
    if logged is None:
        return {"distortion": distortion}
    within = {"total_correlation_within": logged.total_correlation_within.mean()} if grouped else {}
    return {
        "distortion": distortion,
        "rate": rate(as_logged(step)),
        "mutual_information": logged.mutual_information.mean(),
        "total_correlation": logged.total_correlation.mean(),
        **within,
        "dimension_wise_kl": logged.dimension_wise_kl.mean(),
    }
