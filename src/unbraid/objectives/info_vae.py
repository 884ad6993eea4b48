"""The VAE that does not penalize information."""

from dataclasses import dataclass

from unbraid.config.schedule import Weight, extremes
from unbraid.errors import SpecError
from unbraid.models.architecture import ImageShape
from unbraid.models.autoencoder import Autoencoder
from unbraid.objectives.decomposed_elbo import logged_parts
from unbraid.objectives.levers import NO_WEIGHT, Levers, RatePrice, moved
from unbraid.objectives.objective import Loss, Objective, Shapes, Step
from unbraid.objectives.terms.mmd import Bandwidth, Kernel, Statistic, squared_mmd


@dataclass(frozen=True, kw_only=True)
class InfoVAE(Objective):
    """distortion + (1 - alpha) KL(q(z|x) || p(z)) + (alpha + weight - 1) MMD^2(q(z), p(z)).

    Zhao et al., arXiv:1706.02262v3, section 3. `weight` is their lambda. alpha = 0 and weight = 1 are the VAE; alpha =
    1 is the MMD-VAE, which matches q(z) with the prior and does not limit the information of a code; weight = 1 - alpha
    is the beta-VAE with that beta. The MMD compares the codes of the batch with as many draws from the prior. The
    defaults are ours, chosen on MNIST (docs/objectives/info-vae.md).
    """

    alpha: Weight = 0.5
    """Reduction of the weight of the KL, which is 1 - alpha."""
    weight: Weight = 100.0
    """The paper's lambda: alpha + weight - 1 weighs the MMD."""
    kernel: Kernel = "rbf"
    """The kernel of the MMD."""
    bandwidth: Bandwidth = "dimension"
    """Width of the kernel, from the number of latents or as in the authors' code."""
    statistic: Statistic = "biased"
    """The biased or the unbiased estimate of the MMD."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.is_bound:
            return
        # Not check_weights: alpha may be negative. What must not be negative are the two weights that come of it.
        (least_alpha, greatest_alpha), (least_weight, greatest_weight) = extremes(self.alpha), extremes(self.weight)
        finite = all(abs(end) < float("inf") for end in (least_alpha, greatest_alpha, least_weight, greatest_weight))
        if not (finite and greatest_alpha <= 1 and least_weight >= 0 and least_alpha + least_weight >= 1):
            raise SpecError(
                f"InfoVAE: alpha is {self.alpha} and weight {self.weight}; expected alpha <= 1, so that the KL is not "
                "rewarded, weight >= 0, and "
                "alpha + weight >= 1, so that the MMD is not rewarded; of schedules the least values count."
            )

    def levers(self) -> Levers:
        less = NO_WEIGHT if self.alpha == 1 else "an alpha nearer to 1, which leaves more of the rate out"
        return Levers(less, "", moved(self, "weight", 2, "of the MMD"))

    def rate_price(self) -> RatePrice:
        return RatePrice.beside("the distance of all codes together from the prior (MMD)", 1 - extremes(self.alpha)[1])

    def draw_shapes(self, batch_size: int, model: Autoencoder, image_shape: ImageShape) -> Shapes:
        del image_shape
        return {"prior": (batch_size, model.latents.num_columns)}

    def __call__(self, step: Step) -> Loss:
        parts, cost = logged_parts(step), step.rate()
        discrepancy = squared_mmd(
            step.z, step.prior.sample(step.draws["prior"]), self.kernel, self.bandwidth, self.statistic
        )
        return Loss(
            total=parts["distortion"] + (1 - self.alpha) * cost + (self.alpha + self.weight - 1) * discrepancy,
            parts=parts | {"squared_mmd": discrepancy},
        )
