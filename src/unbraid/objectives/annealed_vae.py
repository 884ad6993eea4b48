"""VAE with a target of the rate that increases during training."""

from dataclasses import dataclass, field
from typing import ClassVar

from unbraid.config.schedule import Linear, Weight
from unbraid.objectives.decomposed_elbo import logged_parts
from unbraid.objectives.objective import Loss, Objective, Step
from unbraid.objectives.weight_advice import PENALIZE_TC, RateWeight, WeightAdvice, suggest


@dataclass(frozen=True, kw_only=True)
class AnnealedVAE(Objective):
    """AnnealedVAE loss: distortion + gamma |KL(q(z|x) || p(z)) - capacity|.

    Burgess et al., arXiv:1804.03599v1, eq. 8. The KL is averaged over the batch before the absolute value; some
    implementations average the absolute values of images instead, which is a different objective. The capacity
    increases during training, by default linearly from 0 to 25 nats. `upward` multiplies gamma while the KL is below
    the capacity: 1 is the published loss, and 0 limits the KL without increasing it.
    """

    gamma: Weight = 1000.0
    """Weight of |KL - capacity|."""
    capacity: Weight = field(default_factory=lambda: Linear(0.0, 25.0))
    """Target of the KL in nats, a number or a schedule."""
    upward: Weight = 1.0
    """Factor of gamma while the KL is below the capacity."""

    weights_are_nonnegative: ClassVar[bool] = True

    def weight_advice(self) -> WeightAdvice:
        return WeightAdvice(suggest(self, "capacity", 2), suggest(self, "capacity", 0.5), PENALIZE_TC)

    def rate_weight(self) -> RateWeight:
        penalty = f"penalizes the distance of the rate from a capacity ({self.capacity:.3g} nats at the end)"
        return RateWeight(f"This objective {penalty}, so its loss implies no beta.")

    def __call__(self, step: Step) -> Loss:
        parts = logged_parts(step)
        above, logged = step.rate() - self.capacity, (step.as_logged().rate() - self.capacity).abs()
        penalty = above.relu() + self.upward * (-above).relu()
        return Loss(total=parts["distortion"] + self.gamma * penalty, parts=parts | {"capacity_distance": logged})
