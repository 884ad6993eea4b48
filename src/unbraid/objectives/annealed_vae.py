"""The VAE held at a capacity that grows."""

from dataclasses import dataclass, field
from typing import final

from unbraid.objectives.decomposed_elbo import decomposition
from unbraid.objectives.objective import Loss, Objective, Step, check_weights
from unbraid.objectives.terms.parts import elbo_parts, rate
from unbraid.schedule import Linear, Weight


@final
@dataclass(frozen=True)
class AnnealedVAE(Objective):
    """distortion + gamma |KL - capacity|, with the KL averaged over the batch before its distance is taken. Burgess et
    al., arXiv:1804.03599v1, eq. 8.

    The capacity, in nats, is let out over training: by default from 0 to 25 along a straight line. Averaging after the
    distance, as some codes do, asks every single image to have the same KL, which is another objective.
    """

    gamma: Weight = 1000.0
    capacity: Weight = field(default_factory=lambda: Linear(0.0, 25.0))

    def __post_init__(self) -> None:
        super().__post_init__()
        check_weights(self)

    def __call__(self, step: Step) -> Loss:
        parts = elbo_parts(step, decomposition(step, "eq13"))
        distance, logged = (rate(step) - self.capacity).abs(), (parts["rate"] - self.capacity).abs()
        return Loss(total=parts["distortion"] + self.gamma * distance, parts=parts | {"capacity_distance": logged})
