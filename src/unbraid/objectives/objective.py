"""What an objective sees, what it returns, and what it is."""

import copy
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from typing import final

from jaxtyping import Float
from torch import Tensor

from unbraid.distributions.posterior import Posterior
from unbraid.distributions.prior import Prior
from unbraid.errors import SpecError


@final
@dataclass(frozen=True)
class Step:
    """One batch through one model: all that an objective may see. It is written for ONE model; the fleet maps it over many.

    `draws` holds all randomness, by name. `progress` runs from 0 to 1 over training. `weights` is p(n) of the batch, where sampling is
    biased. `other` is a second, independent batch, for objectives that ask for one. `encode`, `decode` and `critic` are this
    model's nets, for objectives that send something else through them. `state` is what the objective returned at the last step.
    """

    x: Float[Tensor, "batch channel height width"]
    posterior: Posterior
    z: Float[Tensor, "batch latent"]
    log_likelihood: Float[Tensor, " batch"]
    prior: Prior
    dataset_size: int
    progress: Float[Tensor, ""]
    draws: Mapping[str, Tensor] = field(default_factory=dict)
    weights: Float[Tensor, " batch"] | None = None
    other: "Step | None" = None
    encode: Callable[[Tensor], Posterior] | None = None
    decode: Callable[[Tensor], Tensor] | None = None
    critic: Callable[[Tensor], Tensor] | None = None
    state: Mapping[str, Tensor] = field(default_factory=dict)


@final
@dataclass(frozen=True)
class Loss:
    """What to minimise, and what it is made of.

    `parts` are unweighted, in nats per image, and are what they are called. `critic` is minimised over the critic's weights alone.
    """

    total: Float[Tensor, ""]
    parts: dict[str, Float[Tensor, ""]]
    critic: Float[Tensor, ""] | None = None
    state: Mapping[str, Tensor] = field(default_factory=dict)


@dataclass(frozen=True)
class Objective(ABC):
    """A formula. Its hyperparameters are its fields; it owns no weights, no optimiser and no randomness.

    Every field that is a float may differ between the members of a fleet: there it arrives as a 0-d tensor, so the formula must not
    branch on it.
    """

    @abstractmethod
    def __call__(self, step: Step) -> Loss: ...

    def general(self) -> "Objective":
        """The same loss as a case of the widest family it belongs to, so that kin can share a fleet. By default, itself."""
        return self

    @property
    def hyperparameters(self) -> dict[str, float]:
        """The float fields, by name."""
        # The type is a text in a module that postpones its annotations.
        return {f.name: float(getattr(self, f.name)) for f in fields(self) if f.type in (float, "float")}

    def bind(self, hyperparameters: Mapping[str, Float[Tensor, ""]]) -> "Objective":
        """A copy whose float fields are these tensors. Not `replace`: a tensor under `vmap` cannot be validated.

        A fleet binds `general()`. A case of a wider family is not bound itself: its `__call__` may construct, and so validate, the general form.
        """
        bound = copy.copy(self)
        for name, value in hyperparameters.items():
            object.__setattr__(bound, name, value)
        return bound


def check_weights(objective: Objective) -> None:
    """Refuse a weight that is negative or not finite: it would reward what the formula penalises."""
    for name, value in objective.hyperparameters.items():
        if not (math.isfinite(value) and value >= 0):
            raise SpecError(f"{type(objective).__name__}: {name} is {value}; expected a finite weight of 0 or more.")
