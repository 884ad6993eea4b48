"""Base class of objectives, its input (`Step`) and its output (`Loss`)."""

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
from unbraid.objectives.weight_advice import RateWeight, WeightAdvice

CriticReads = Literal["codes", "images", "features"]
Shapes = Mapping[str, tuple[int, ...]]
"""Shapes of draws by name."""


@final
@dataclass(frozen=True)
class EncodedBatch:
    """A batch of images with their posterior and a draw of their codes."""

    x: Float[Tensor, "batch channel height width"]
    posterior: Posterior
    z: Float[Tensor, "batch column"]


@final
@dataclass(frozen=True)
class Step:
    """Input of an objective: one batch and one model. A fleet maps the objective over many models.

    Attributes:
        draws: Standard normal numbers by name, with the shapes `draw_shapes`.
        progress: Progress of training from 0 to 1.
        weights: Probabilities p(n) of the images of the batch, if images are weighted.
        other: A second, independent batch, if the objective needs one.
        encode, decode: The nets of the model. The input of `likelihood` is the output of `decode`.
        critic: The critic with constant weights, also where it shares weights with the encoder; for the model's loss.
        critic_in_training: The critic with a constant input, for the critic's loss.
        state: The state that the loss of the previous step returned.
        groups: Groups of latent indices.
        widths: Number of columns of each latent; by default 1 each.
        is_logged: Whether the parts of the loss are logged. If not, the objective may omit logged-only terms.
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
        """Returns the step with the density of its draws instead of the training density, for logged values."""
        true = self.posterior.with_true_density()
        return self if true is self.posterior else replace(self, posterior=true)


@final
@dataclass(frozen=True)
class Loss:
    """Loss to minimize and its parts.

    `parts` are unweighted, in nats per image. `critic` is the loss of the critic; it also trains the encoder if the
    critic reads features. `state` is the state of the next step, without gradient. `total` includes `constant`, a
    constant of the estimator, and `parts` do not.
    """

    total: Float[Tensor, ""]
    parts: dict[str, Float[Tensor, ""]]
    critic: Float[Tensor, ""] | None = None
    state: Mapping[str, Tensor] = field(default_factory=dict)
    constant: Float[Tensor, ""] | float = 0.0

    @property
    def shown(self) -> Float[Tensor, ""]:
        """Loss to log: `total` without `constant`, which agrees with `parts`."""
        return self.total - self.constant


@dataclass(frozen=True)
class Objective(Config, ABC):
    """Base class of losses, with hyperparameters as fields and without weights, optimizer or random numbers.

    Numeric fields and schedules may differ between the members of a fleet. In a fleet their values are 0-d tensors, so
    `__call__` must not branch on them. Properties and methods declare further inputs. `critic_outputs` is the number of
    outputs of the critic, if the objective has a critic.
    """

    critic_outputs: ClassVar[int] = 1
    weights_are_nonnegative: ClassVar[bool] = False
    """Whether all numeric fields must be finite and nonnegative."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.weights_are_nonnegative:
            check_weights(self)

    @final
    def _check_field(self, name: str, given: Any, annotation: Any) -> Any:
        # In a fleet, `general_form` receives tensors as values of numeric fields.
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
        """Computes the loss of any module on a batch, for a custom training loop.

        Minimize `loss.total`. With a critic, also minimize `loss.critic`, which has gradients only for the critic.

        Args:
            model: A model of `Autoencoder.build`, or a module with `encode(x)`, which returns (mean, logvar) or a
                `Posterior`, and `decode(z)`, which returns logits of the shape of x.
            x: Images (batch, channel, height, width) or vectors (batch, number), with values from 0 to 1.
            dataset_size: Number of training images.
            progress: Progress of training from 0 to 1, for schedules.
            noise: Standard normal numbers (batch, latent) for the codes, or a dictionary with the names "z", "other"
                and those of `draw_shapes`. Missing names are drawn with `generator`.
            generator: Random generator of the draws; by default torch's global generator.
            state: `state` of the previous loss, for moving averages.
            other: A second, independent batch, for FactorVAE.
            critic: The critic, for objectives with a critic; see `build_critic`.
            likelihood: p(x | z) of a plain module; by default Bernoulli with logits. Must be None for a model of
                `Autoencoder.build`, which has a likelihood.

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
        """Builds a critic for `loss`, with `critic_outputs` outputs.

        `image_shape` is required if the critic reads images, as for InfoGAN.
        """
        match self.critic_reads:
            case None:
                raise SpecError(
                    f"{type(self).__name__} has no critic; expected an objective with a critic. Call loss without "
                    "critic."
                )
            case "codes":
                return seeded(lambda: critic_of_codes(num_latents, self.critic_outputs, hidden), seed)
            case _ if image_shape is None:
                raise SpecError(
                    f"image_shape is None; expected the shape of the images that the critic of {type(self).__name__} "
                    "reads. Pass image_shape=(channels, height, width)."
                )
            case _:
                return seeded(lambda: critic_of_images(image_shape, self.critic_outputs, channels, hidden), seed)

    def general_form(self) -> "Objective":
        """Returns an equal objective of the most general class, so that special cases can share a fleet.

        The default is the objective itself.
        """
        return self

    @property
    @final
    def is_bound(self) -> bool:
        """Whether hyperparameters are tensors, as in a fleet. Values of tensors are not checked."""
        return any(isinstance(value, Tensor) for value in self.hyperparameters.values())

    @final
    def trained_form(self) -> "Objective":
        """Returns the objective that a fleet trains: `general_form()`, or itself if a subclass overrides `__call__`."""
        owner = next(cls for cls in type(self).__mro__ if "__call__" in vars(cls))
        return self.general_form() if "general_form" in vars(owner) else self

    def check_image_weights(self) -> None:
        """Raises if the objective does not support weighted images."""
        general = self.general_form()
        if general is not self:
            general.check_image_weights()

    def weight_advice(self) -> WeightAdvice:
        """Returns advice for `diagnose` on the weights of the rate and the total correlation."""
        return WeightAdvice("a smaller weight of the terms of codes")

    def rate_weight(self) -> RateWeight:
        """Returns the weight of the rate in the trained loss, for `diagnose`. Resolve schedules with `at` first."""
        form = self.trained_form()
        return RateWeight() if form is self else form.rate_weight()

    def check(self, model: Autoencoder) -> None:
        """Raises if this objective does not support the model; by default, if the rate is not finite."""
        check_rate(self, model)
        general = self.general_form()
        if general is not self:
            general.check(model)

    @property
    def critic_reads(self) -> CriticReads | None:
        """Input of the critic; None, the default, for no critic. A subclass may also use a class variable.

        A critic of "features" is called with images and reads the input of the encoder's last layer. The encoder is
        then also trained on the loss of the critic, by the optimizer of the critic.
        """
        return None

    @property
    def generates(self) -> bool:
        """Whether the decoder is trained on draws from the prior and its noise inputs instead of codes of images."""
        return False

    @property
    def needs_other_batch(self) -> bool:
        """Whether a step needs a second, independent batch; by default False."""
        return False

    def draw_shapes(self, batch_size: int, model: Autoencoder, image_shape: ImageShape) -> Shapes:
        """Returns the shapes of the standard normal draws of a step by name, without the noise of the codes."""
        del batch_size, model, image_shape
        return {}

    def initial_state(self, latents: Latents) -> Mapping[str, Tensor]:
        """Returns the `state` of the first step; empty by default."""
        del latents
        return {}

    @property
    def hyperparameters(self) -> dict[str, Weight]:
        """Numeric fields and schedules by name, without fields that are None."""
        return {name: value for name in _number_fields(type(self)) if (value := getattr(self, name)) is not None}

    def bind(self, hyperparameters: Mapping[str, Float[Tensor, ""] | float]) -> "Objective":
        """Returns a copy with the given hyperparameters, e.g. of a fleet member."""
        if unknown := hyperparameters.keys() - set(_number_fields(type(self))):
            known = ", ".join(_number_fields(type(self))) or "none"
            raise SpecError(f"{type(self).__name__} has no hyperparameter {min(unknown)!r}. Pass some of: {known}.")
        bound = copy.copy(self)
        for name, value in hyperparameters.items():
            object.__setattr__(bound, name, value)
        return bound

    def at(self, progress: Float[Tensor, ""]) -> "Objective":
        """Returns a copy with the values of all schedules at the given progress of training."""
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
            f"{type(model.latents).__name__} have no density; expected latents with a density of q(z | x) for "
            f"{type(objective).__name__}. Use GaussianLatents, or an objective without densities, such as AAE."
        )


def check_rate(objective: Objective, model: Autoencoder) -> None:
    """Raises if the rate KL(q(z | x) || p(z)) of the model is undefined or infinite."""
    check_density(objective, model)
    if model.latents.prior_is_bounded:
        raise SpecError(
            f"{type(model.latents).__name__} have a bounded prior, with an infinite KL(q(z | x) || p(z)); expected a "
            f"finite KL for {type(objective).__name__}. Use StandardNormalPrior, or an objective without this KL, such "
            "as InfoGAN."
        )


def check_fixed_prior(objective: Objective, model: Autoencoder) -> None:
    """Raises if the prior is learned, for objectives without a gradient for the prior."""
    with torch.device("meta"):
        prior = model.latents.make_prior()
    if any(True for _ in prior.parameters()):
        raise SpecError(
            f"{type(model.latents).__name__} have a learned prior; expected a prior without weights, because "
            f"{type(objective).__name__} does not train the prior. Use e.g. StandardNormalPrior, or UniformCategories "
            "for discrete latents."
        )


def check_weights(objective: Objective, least: float = 0.0) -> None:
    """Raises if a weight is not finite or is below `least` at any progress of training."""
    for name, value in objective.hyperparameters.items():
        if not isinstance(value, Tensor) and not all(math.isfinite(end) and end >= least for end in extremes(value)):
            expected = "a finite weight" + (" >= 0" if least == 0 else "")
            raise SpecError(f"{type(objective).__name__}: {name} is {value}; expected {expected}. Change {name}.")


@cache
def _number_fields(cls: type[Objective]) -> tuple[str, ...]:
    hints = typing.get_type_hints(cls)
    return tuple(f.name for f in fields(cls) if hints[f.name] in (float, Weight, Weight | None))
