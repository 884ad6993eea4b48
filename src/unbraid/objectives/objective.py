"""What an objective sees, what it returns, and what it is."""

import copy
import math
import typing
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cache
from typing import Any, ClassVar, Literal, final

from jaxtyping import Float
from torch import Tensor

from unbraid.distributions.likelihoods.likelihood import Likelihood
from unbraid.distributions.posteriors.latents import Latents
from unbraid.distributions.posteriors.posterior import Posterior
from unbraid.distributions.priors.prior import Prior
from unbraid.errors import SpecError
from unbraid.models.architecture import ImageShape
from unbraid.models.autoencoder import Autoencoder
from unbraid.recipes import Recipe
from unbraid.schedule import Weight, extremes, value_at

CriticReads = Literal["codes", "images", "features"]


@final
@dataclass(frozen=True)
class EncodedBatch:
    """Holds a batch, what the encoder says of it, and a draw of its codes."""

    x: Float[Tensor, "batch channel height width"]
    posterior: Posterior
    z: Float[Tensor, "batch column"]


@final
@dataclass(frozen=True)
class Step:
    """Holds one batch through one model: all that an objective may see. It is written for ONE model; the fleet maps it
    over many.

    `draws` holds the standard normal numbers that the objective asked for, by name. `progress` runs from 0 to 1 over
    training. `weights` is p(n) of the batch, where sampling is biased. `other` is a second, independent batch, for
    objectives that ask for one. `encode` and `decode` are this model's nets (`decode` gives what the `likelihood`
    reads), for objectives that send something else through them. `state` is what the objective returned at the last
    step. `groups` are the latents that belong together, and `widths` the number of columns of each latent, as the model
    says; without `widths`, each has one. Where the step is not `is_logged`, the parts of the loss are not read, and
    what is computed for them alone may be left out.

    The critic comes twice, so that no loss can reach what it must not: `critic` has constant weights, those of the
    encoder's layers that it shares among them, for the loss of the model; `critic_in_training` takes its input as a
    constant, for the loss of the critic.
    """

    x: Float[Tensor, "batch channel height width"]
    posterior: Posterior
    z: Float[Tensor, "batch column"]
    log_likelihood: Float[Tensor, " batch"]
    prior: Prior
    dataset_size: int
    progress: Float[Tensor, ""]
    draws: Mapping[str, Tensor] = field(default_factory=dict)
    weights: Float[Tensor, " batch"] | None = None
    other: EncodedBatch | None = None
    encode: Callable[[Tensor], Posterior] | None = None
    decode: Callable[[Tensor], Tensor] | None = None
    critic: Callable[[Tensor], Tensor] | None = None
    critic_in_training: Callable[[Tensor], Tensor] | None = None
    state: Mapping[str, Tensor] = field(default_factory=dict)
    groups: tuple[tuple[int, ...], ...] = ()
    widths: tuple[int, ...] = ()
    likelihood: Likelihood | None = None
    is_logged: bool = True


@final
@dataclass(frozen=True)
class Loss:
    """Holds what to minimise, and what it is made of.

    `parts` are unweighted, in nats per image, and are what they are called. `critic` is minimised over the critic's
    weights alone, and those of the encoder where it reads features. `state` is handed back at the next step; it carries
    no gradient. `constant` is what an estimator adds to `total` whatever the codes are: it is in no part.
    """

    total: Float[Tensor, ""]
    parts: dict[str, Float[Tensor, ""]]
    critic: Float[Tensor, ""] | None = None
    state: Mapping[str, Tensor] = field(default_factory=dict)
    constant: Float[Tensor, ""] | float = 0.0

    @property
    def shown(self) -> Float[Tensor, ""]:
        """Returns the loss that is logged and shown: `total` without `constant`, so that it agrees with its parts."""
        return self.total - self.constant


@dataclass(frozen=True)
class Objective(Recipe, ABC):
    """A formula. Its hyperparameters are its fields; it owns no weights, no optimiser and no randomness.

    Every field that is a number (or a schedule of one) may differ between the members of a fleet: there it arrives as a
    0-d tensor, so the formula must not branch on it. What else an objective needs it says by the properties and methods
    below. Its critic, if any, makes `critic_outputs` numbers of what it reads.
    """

    critic_outputs: ClassVar[int] = 1

    @abstractmethod
    def __call__(self, step: Step) -> Loss: ...

    def general(self) -> "Objective":
        """Returns the same loss as a case of the widest family it belongs to, so that kin can share a fleet. By default
        it returns itself.
        """
        return self

    def check(self, model: Autoencoder) -> None:
        """Refuses a model that this formula cannot train. By default that is one without a finite rate, and what the
        wider family of the formula refuses.
        """
        check_rate(self, model)
        general = self.general()
        if general is not self:
            general.check(model)

    @property
    def critic_reads(self) -> CriticReads | None:
        """Returns what the critic is shown. By default there is none. A class whose every member has one may say so
        with a class variable.

        A critic of "features" is called with images too, and reads what the encoder makes of them before its last
        layer. Then the encoder learns with the critic: by the critic's optimiser, and from its loss.
        """
        return None

    @property
    def generates(self) -> bool:
        """Returns whether the decoder learns from draws of the prior and of its noise inputs, not from codes of images.
        By default it does not.
        """
        return False

    @property
    def needs_other_batch(self) -> bool:
        """Returns whether a step needs a second, independent batch. By default it does not."""
        return False

    def draw_shapes(
        self, batch_size: int, model: Autoencoder, image_shape: ImageShape
    ) -> Mapping[str, tuple[int, ...]]:
        """Returns the standard normal numbers that a step needs beyond the posterior's own, by name. By default there
        are none.
        """
        del batch_size, model, image_shape
        return {}

    def initial_state(self, latents: Latents) -> Mapping[str, Tensor]:
        """Returns what the first step finds in `state`. By default there is nothing."""
        del latents
        return {}

    @property
    def hyperparameters(self) -> dict[str, Weight]:
        """Returns the fields that are numbers or schedules, by name. One that may be left out, and is, is not among
        them.
        """
        return {name: value for name in _number_fields(type(self)) if (value := getattr(self, name)) is not None}

    def bind(self, hyperparameters: Mapping[str, Float[Tensor, ""] | float]) -> "Objective":
        """Returns a copy with these hyperparameters. It does not use `replace`: a tensor under `vmap` cannot be
        validated.

        A fleet binds `general()`. A case of a wider family is not bound itself: its `__call__` may construct, and so
        validate, the general form.
        """
        bound = copy.copy(self)
        for name, value in hyperparameters.items():
            object.__setattr__(bound, name, value)
        return bound

    def at(self, progress: Float[Tensor, ""]) -> "Objective":
        """Returns the formula as it is at this moment of training, with schedules resolved."""
        numbers: dict[str, Any] = {
            name: float(value_at(weight, progress)) for name, weight in self.hyperparameters.items()
        }
        return replace(self, **numbers)


def check_density(objective: Objective, model: Autoencoder) -> None:
    """Refuses a model whose posterior has no density."""
    if not model.latents.has_density:
        raise SpecError(
            f"{type(objective).__name__} needs the density of q(z | x), and {type(model.latents).__name__} have none. "
            "Use GaussianLatents, or an "
            "objective that reads draws alone, such as AAE."
        )


def check_rate(objective: Objective, model: Autoencoder) -> None:
    """Refuses a model whose rate KL(q(z | x) || p(z)) is not defined or not finite."""
    check_density(objective, model)
    if model.latents.prior_is_bounded:
        raise SpecError(
            f"{type(objective).__name__} needs a finite KL(q(z | x) || p(z)), and the prior of "
            f"{type(model.latents).__name__} is 0 where q is not. Use "
            "StandardNormalPrior, or an objective that only draws from the prior, such as InfoGAN."
        )


def check_weights(objective: Objective) -> None:
    """Refuses a weight that is negative or not finite at any moment: it would reward what the formula penalises."""
    for name, value in objective.hyperparameters.items():
        if not all(math.isfinite(end) and end >= 0 for end in extremes(value)):
            raise SpecError(f"{type(objective).__name__}: {name} is {value}; expected a finite weight of 0 or more.")


def check_finite(objective: Objective) -> None:
    """Refuses a weight that is not finite at any moment. It may be negative."""
    for name, value in objective.hyperparameters.items():
        if not all(map(math.isfinite, extremes(value))):
            raise SpecError(f"{type(objective).__name__}: {name} is {value}; expected a finite weight.")


@cache
def _number_fields(cls: type[Objective]) -> tuple[str, ...]:
    hints = typing.get_type_hints(cls)
    return tuple(f.name for f in fields(cls) if hints[f.name] in (float, Weight, Weight | None))
