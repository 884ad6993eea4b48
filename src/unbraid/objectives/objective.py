"""The base class of objectives, its input (`Step`) and its output (`Loss`)."""

import copy
import math
import typing
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cache
from typing import Any, ClassVar, Literal, final

import torch
from jaxtyping import Float
from torch import Tensor, nn

from unbraid.config import Config
from unbraid.config.schedule import Schedule, Weight, extremes
from unbraid.errors import SpecError
from unbraid.models.architecture import ImageShape
from unbraid.models.autoencoder import Autoencoder
from unbraid.models.distributions.distribution import Posterior, Prior
from unbraid.models.distributions.likelihoods import Likelihood
from unbraid.models.distributions.posteriors.latents import Latents
from unbraid.models.layers.critic_nets import CHANNELS, HIDDEN, critic_of_codes, critic_of_images
from unbraid.models.layers.initial_weights import seeded
from unbraid.objectives.levers import Levers, RatePrice

CriticReads = Literal["codes", "images", "features"]
Shapes = Mapping[str, tuple[int, ...]]
"""Shapes of draws by name."""


@final
@dataclass(frozen=True)
class EncodedBatch:
    """A batch, its posterior, and a draw of its codes."""

    x: Float[Tensor, "batch channel height width"]
    posterior: Posterior
    z: Float[Tensor, "batch column"]


@final
@dataclass(frozen=True)
class Step:
    """The input of an objective: one batch and one model. A fleet maps the objective over many models.

    `draws` holds the standard normal numbers of `draw_shapes`, by name. `progress` runs from 0 to 1 over training.
    `weights` is p(n) of the batch, where sampling is biased. `other` is a second, independent batch, for objectives
    that need one. `encode` and `decode` are the nets of the model (`likelihood` reads the output of `decode`). `state`
    is that of the last `Loss`. `groups` holds groups of latent indices, and `widths` the number of columns of each
    latent; without `widths`, each has one. If the step is not `is_logged`, the parts of the loss are not read, and
    terms that only they need may be left out.

    There are two critics, so that each loss has gradients for its own weights only: `critic` has constant weights,
    including those that it shares with the encoder, for the loss of the model; `critic_in_training` takes its input as
    a constant, for the loss of the critic.
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

    def rate(self) -> Float[Tensor, ""]:
        """Returns the mean KL(q(z | x) || p(z)) of the batch, in nats per image."""
        return self.prior.kl_from(self.posterior, self.z).sum(dim=1).mean()

    def as_logged(self) -> "Step":
        """Returns the step with the density of its draws, which logged values use."""
        true = self.posterior.with_true_density()
        return self if true is self.posterior else replace(self, posterior=true)


@final
@dataclass(frozen=True)
class Loss:
    """The loss to minimize, and its parts.

    `parts` are unweighted, in nats per image. `critic` is minimized over the weights of the critic, and those of the
    encoder where it reads features. `state` is the state of the next step, without gradient. `constant` is the constant
    of an estimator in `total`; `parts` exclude it.
    """

    total: Float[Tensor, ""]
    parts: dict[str, Float[Tensor, ""]]
    critic: Float[Tensor, ""] | None = None
    state: Mapping[str, Tensor] = field(default_factory=dict)
    constant: Float[Tensor, ""] | float = 0.0

    @property
    def shown(self) -> Float[Tensor, ""]:
        """The loss to log: `total` without `constant`, so that it agrees with its parts."""
        return self.total - self.constant


@dataclass(frozen=True)
class Objective(Config, ABC):
    """A loss with its hyperparameters as fields, without weights, optimizer or random numbers.

    Every field that is a number (or a schedule of one) may differ between the members of a fleet: there it is a 0-d
    tensor, so the formula must not branch on it. The properties and methods below define the other inputs. The critic,
    if any, has `critic_outputs` outputs.
    """

    critic_outputs: ClassVar[int] = 1
    weights_are_nonnegative: ClassVar[bool] = False
    """Whether weights must be finite and nonnegative."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.weights_are_nonnegative:
            check_weights(self)

    @final
    def _check_field(self, name: str, given: Any, annotation: Any) -> Any:
        # In a fleet, an objective passes its numbers, which are tensors, to `general`.
        if isinstance(given, Tensor) and given.ndim == 0 and name in _number_fields(type(self)):
            return given
        return super()._check_field(name, given, annotation)

    @abstractmethod
    def __call__(self, step: Step) -> Loss: ...

    @final
    def loss(
        self,
        model: Any,
        x: Tensor,
        *,
        dataset_size: int,
        progress: float | Tensor = 1.0,
        noise: Tensor | Mapping[str, Tensor] | None = None,
        generator: torch.Generator | None = None,
        state: Mapping[str, Tensor] | None = None,
        other: Tensor | None = None,
        critic: nn.Module | None = None,
        likelihood: Likelihood | None = None,
    ) -> Loss:
        """Returns the loss of any module on a batch, for a custom training loop.

        Minimize `loss.total`; with a critic also `loss.critic`, which has gradients for the critic only. Some
        objectives need further inputs, and raise if one is missing.

        Args:
            model: A model of `Autoencoder.build`, or a module with `encode(x)`, which returns (mean, logvar) or a
                `Posterior`, and `decode(z)`, which returns logits of the shape of x.
            x: Images (batch, channel, height, width), or vectors (batch, number), from 0 to 1.
            dataset_size: Number of training images.
            progress: Progress of training from 0 to 1, which schedules read.
            noise: Standard normal numbers (batch, latent) for the codes; or draws by name: "z", "other", and the names
                of `draw_shapes`. Missing ones are drawn with `generator`.
            generator: Generator of the draws; by default the global one of torch.
            state: `state` of the last loss, for running estimates.
            other: A second, independent batch, for FactorVAE.
            critic: The critic, for objectives that have one; see `build_critic`.
            likelihood: p(x | z) of a plain module, by default Bernoulli, of logits. A model of `Autoencoder.build` has
                a likelihood already.

        Examples:
            >>> import torch
            >>> from unbraid import MLP, Autoencoder, BetaTCVAE
            >>> model = Autoencoder(MLP(hidden=(8,), decoder_hidden=(8,))).build((1, 4, 4), seed=0)
            >>> loss = BetaTCVAE(beta=6.0).loss(model, torch.rand(16, 1, 4, 4), dataset_size=1_000)
            >>> loss.total.backward()
        """
        from unbraid.objectives.own_loop import step_of_module

        step = step_of_module(
            self,
            model,
            x,
            dataset_size=dataset_size,
            progress=progress,
            noise=noise,
            generator=generator,
            state=state,
            other=other,
            critic=critic,
            likelihood=likelihood,
        )
        return self.at(step.progress)(step)

    @final
    def build_critic(
        self,
        num_latents: int,
        *,
        hidden: Sequence[int] = HIDDEN,
        image_shape: ImageShape | None = None,
        channels: Sequence[int] = CHANNELS,
        seed: int = 0,
    ) -> nn.Module:
        """Returns a new critic for `loss`, with the number of outputs that this objective needs.

        A critic of images, such as that of InfoGAN, needs `image_shape`.
        """
        match self.critic_reads:
            case None:
                raise SpecError(f"{type(self).__name__} has no critic. Call loss without one.")
            case "codes":
                return seeded(lambda: critic_of_codes(num_latents, self.critic_outputs, hidden), seed)
            case _ if image_shape is None:
                raise SpecError(
                    f"The critic of {type(self).__name__} reads images. Pass image_shape=(channels, height, width)."
                )
            case _:
                return seeded(lambda: critic_of_images(image_shape, self.critic_outputs, channels, hidden), seed)

    def general(self) -> "Objective":
        """Returns the same loss as a case of its most general objective, for sharing fleets; by default itself."""
        return self

    @property
    @final
    def is_bound(self) -> bool:
        """Whether hyperparameters are tensors, as in a fleet, so that their values cannot be checked."""
        return any(isinstance(value, Tensor) for value in self.hyperparameters.values())

    @final
    def trained_form(self) -> "Objective":
        """Returns the form that a fleet binds: `general()`, unless the class that defines `__call__` lacks it."""
        owner = next(cls for cls in type(self).__mro__ if "__call__" in vars(cls))
        return self.general() if "general" in vars(owner) else self

    def check_image_weights(self) -> None:
        """Raises if the formula is not defined for images that are not equally likely."""
        general = self.general()
        if general is not self:
            general.check_image_weights()

    def levers(self) -> Levers:
        """Returns advice for `diagnose` on the weights of the rate and of the dependence of latents."""
        return Levers("a smaller weight of the terms of codes")

    def rate_price(self) -> RatePrice:
        """Returns the weight of the rate in the loss of the trained form, without schedules (`at`), for `diagnose`."""
        form = self.trained_form()
        return RatePrice() if form is self else form.rate_price()

    def check(self, model: Autoencoder) -> None:
        """Raises if this objective cannot train the model; by default, if the rate is not finite."""
        check_rate(self, model)
        general = self.general()
        if general is not self:
            general.check(model)

    @property
    def critic_reads(self) -> CriticReads | None:
        """The input of the critic; None, the default, for no critic. A class variable works as well.

        A critic of "features" is called with images, and reads the output of the encoder before its last layer. The
        encoder then also learns from the loss of the critic, with the optimizer of the critic.
        """
        return None

    @property
    def generates(self) -> bool:
        """Whether the decoder learns from draws of the prior and of its noise inputs, not from codes of images."""
        return False

    @property
    def needs_other_batch(self) -> bool:
        """Whether a step needs a second, independent batch. By default it does not."""
        return False

    def draw_shapes(self, batch_size: int, model: Autoencoder, image_shape: ImageShape) -> Shapes:
        """Returns the shapes of the standard normal numbers of a step by name, except those of the codes."""
        del batch_size, model, image_shape
        return {}

    def initial_state(self, latents: Latents) -> Mapping[str, Tensor]:
        """Returns the `state` of the first step; empty by default."""
        del latents
        return {}

    @property
    def hyperparameters(self) -> dict[str, Weight]:
        """The numeric fields and schedules by name, without fields that are None."""
        return {name: value for name in _number_fields(type(self)) if (value := getattr(self, name)) is not None}

    def bind(self, hyperparameters: Mapping[str, Float[Tensor, ""] | float]) -> "Objective":
        """Returns a copy with these hyperparameters, for example of one fleet member."""
        if unknown := hyperparameters.keys() - set(_number_fields(type(self))):
            known = ", ".join(_number_fields(type(self))) or "none"
            raise SpecError(f"{type(self).__name__} has no hyperparameter {min(unknown)!r}; it has {known}.")
        bound = copy.copy(self)
        for name, value in hyperparameters.items():
            object.__setattr__(bound, name, value)
        return bound

    def at(self, progress: Float[Tensor, ""]) -> "Objective":
        """Returns the objective at this progress of training, with schedules resolved."""
        numbers: dict[str, Any] = {
            name: float(weight.at(progress))
            for name, weight in self.hyperparameters.items()
            if isinstance(weight, Schedule)
        }
        return replace(self, **numbers) if numbers else self


def check_density(objective: Objective, model: Autoencoder) -> None:
    """Raises if the posterior of the model has no density."""
    if not model.latents.has_density:
        raise SpecError(
            f"{type(objective).__name__} needs the density of q(z | x), and {type(model.latents).__name__} have none. "
            "Use GaussianLatents, or an "
            "objective that reads draws only, such as AAE."
        )


def check_rate(objective: Objective, model: Autoencoder) -> None:
    """Raises if the rate KL(q(z | x) || p(z)) of the model is not defined or not finite."""
    check_density(objective, model)
    if model.latents.prior_is_bounded:
        raise SpecError(
            f"{type(objective).__name__} needs a finite KL(q(z | x) || p(z)), and the prior of "
            f"{type(model.latents).__name__} is 0 where q is not. Use "
            "StandardNormalPrior, or an objective that only draws from the prior, such as InfoGAN."
        )


def check_fixed_prior(objective: Objective, model: Autoencoder) -> None:
    """Raises if the prior is learned, for objectives without a gradient for it."""
    with torch.device("meta"):
        prior = model.latents.make_prior()
    if any(True for _ in prior.parameters()):
        raise SpecError(
            f"{type(objective).__name__} does not train the prior, and that of {type(model.latents).__name__} is "
            "learned. Use a prior without weights, such as StandardNormalPrior or, if discrete, UniformCategories."
        )


def check_weights(objective: Objective, least: float = 0.0) -> None:
    """Raises if a weight is not finite, or below `least`, at any progress of training."""
    for name, value in objective.hyperparameters.items():
        if not isinstance(value, Tensor) and not all(math.isfinite(end) and end >= least for end in extremes(value)):
            expected = "a finite weight" + (" of 0 or more" if least == 0 else "")
            raise SpecError(f"{type(objective).__name__}: {name} is {value}; expected {expected}.")


@cache
def _number_fields(cls: type[Objective]) -> tuple[str, ...]:
    hints = typing.get_type_hints(cls)
    return tuple(f.name for f in fields(cls) if hints[f.name] in (float, Weight, Weight | None))
