"""VAE that does not penalize the mutual information of image and code."""

from dataclasses import dataclass

from unbraid.config.schedule import Weight, extremes
from unbraid.errors import SpecError
from unbraid.models.architecture import ImageShape
from unbraid.models.autoencoder import Autoencoder
from unbraid.objectives.decomposed_elbo import logged_parts
from unbraid.objectives.objective import Loss, Objective, Shapes, Step
from unbraid.objectives.terms.mmd import Bandwidth, Kernel, Statistic, squared_mmd
from unbraid.objectives.weight_advice import NO_WEIGHT, RateWeight, WeightAdvice, suggest


@dataclass(frozen=True, kw_only=True)
class InfoVAE(Objective):
    """InfoVAE loss: distortion + (1 - alpha) KL(q(z|x) || p(z)) + (alpha + weight - 1) MMD^2(q(z), p(z)).

    Zhao et al., arXiv:1706.02262v3, section 3; `weight` is their lambda. With alpha = 0 and weight = 1 the objective is
    the VAE, and with weight = 1 - alpha it is the beta-VAE with beta = 1 - alpha. With alpha = 1 it is the MMD-VAE,
    which penalizes only the distance between q(z) and the prior. The MMD compares the codes of the batch with an equal
    number of draws from the prior. The defaults were chosen on MNIST (docs/objectives/info-vae.md), not by the authors.
    """

    alpha: Weight = 0.5
    """Reduction of the weight of the KL, which is 1 - alpha."""
    weight: Weight = 100.0
    """Lambda of the paper; the weight of the MMD is alpha + weight - 1."""
    kernel: Kernel = "rbf"
    """Kernel of the MMD."""
    bandwidth: Bandwidth = "dimension"
    """Width of the kernel, from the number of latents or as in the authors' code."""
    statistic: Statistic = "biased"
    """Biased or unbiased estimate of the MMD."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.is_bound:
            return
        # Not check_weights: alpha may be negative, but 1 - alpha and alpha + weight - 1 may not.
        (least_alpha, greatest_alpha), (least_weight, greatest_weight) = extremes(self.alpha), extremes(self.weight)
        finite = all(abs(end) < float("inf") for end in (least_alpha, greatest_alpha, least_weight, greatest_weight))
        if not (finite and greatest_alpha <= 1 and least_weight >= 0 and least_alpha + least_weight >= 1):
            raise SpecError(
                f"InfoVAE: alpha is {self.alpha} and weight is {self.weight}; expected finite values with alpha <= 1, "
                "weight >= 0 and alpha + weight >= 1 (for schedules, with their smallest values), so that no term is "
                "negative. Pass e.g. InfoVAE(alpha=0.5, weight=100.0)."
            )

    def weight_advice(self) -> WeightAdvice:
        less = NO_WEIGHT if self.alpha == 1 else "an alpha closer to 1, which reduces the weight of the rate"
        return WeightAdvice(less, "", suggest(self, "weight", 2, "of the MMD"))

    def rate_weight(self) -> RateWeight:
        return RateWeight.beside("the distance between q(z) and the prior (MMD)", 1 - extremes(self.alpha)[1])

    def draw_shapes(self, batch_size: int, model: Autoencoder, image_shape: ImageShape) -> Shapes:
        del image_shape
        return {"prior": (batch_size, model.latents.num_columns)}

    def __call__(self, step: Step) -> Loss:
        parts, rate = logged_parts(step), step.rate()
        discrepancy = squared_mmd(
            step.z, step.prior.sample(step.draws["prior"]), self.kernel, self.bandwidth, self.statistic
        )
        return Loss(
            total=parts["distortion"] + (1 - self.alpha) * rate + (self.alpha + self.weight - 1) * discrepancy,
            parts=parts | {"squared_mmd": discrepancy},
        )
