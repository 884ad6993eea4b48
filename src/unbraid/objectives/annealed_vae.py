"""The VAE with a growing target of the rate."""

from dataclasses import dataclass, field
from typing import ClassVar

from unbraid.config.schedule import Linear, Weight
from unbraid.objectives.decomposed_elbo import logged_parts
from unbraid.objectives.levers import PENALIZE_TC, Levers, RatePrice, moved
from unbraid.objectives.objective import Loss, Objective, Step


@dataclass(frozen=True, kw_only=True)
class AnnealedVAE(Objective):
    """distortion + gamma |KL - capacity|, where the KL is first averaged over the batch.

    Burgess et al., arXiv:1804.03599v1, eq. 8. The capacity, in nats, grows over training: by default linearly from 0 to
    25. (Some implementations average the distances of images instead, which is another objective.) Below the capacity
    the distance is multiplied by `upward`: 1 is the paper's, and 0 caps the KL without pushing it up.
    """

    gamma: Weight = 1000.0
    """Weight of the distance of the KL from the capacity."""
    capacity: Weight = field(default_factory=lambda: Linear(0.0, 25.0))
    """The target of the KL, in nats; a number, or a schedule over training."""
    upward: Weight = 1.0
    """Weight of the distance where the KL is below the capacity, times gamma."""

    weights_are_nonnegative: ClassVar[bool] = True

    def levers(self) -> Levers:
        return Levers(moved(self, "capacity", 2), moved(self, "capacity", 0.5), PENALIZE_TC)

    def rate_price(self) -> RatePrice:
        held = f"penalizes how far the rate is from a capacity ({self.capacity:.3g} nats at the end)"
        return RatePrice(f"This objective {held}, so its loss implies no beta.")

    def __call__(self, step: Step) -> Loss:
        parts = logged_parts(step)
        above, logged = step.rate() - self.capacity, (step.as_logged().rate() - self.capacity).abs()
        penalty = above.relu() + self.upward * (-above).relu()
        return Loss(total=parts["distortion"] + self.gamma * penalty, parts=parts | {"capacity_distance": logged})
