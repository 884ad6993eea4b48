"""Training step of a fleet, as a function of tensors.

Objectives and nets are written for one model, and `vmap` maps the loss over the members. A step changes the state in
place, and reads only its inputs and the images. A step can therefore be traced once and replayed (see `compilation`).
"""

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, final

import torch
from jaxtyping import Float, Int64
from torch import Tensor
from torch.func import grad, vmap
from torch.utils._pytree import tree_map

from unbraid._internal import draws
from unbraid._internal.device import wide_device
from unbraid._internal.precision import nets_run_in, widened
from unbraid.config.schedule import Schedule, Weight, value_at
from unbraid.datasets.dataset import FactorImages
from unbraid.models.autoencoder import AutoencoderModule
from unbraid.training.batches import Feed
from unbraid.training.compilation import traced_later
from unbraid.training.member_loss import Inputs, MemberLoss, Weights
from unbraid.training.optimizers.optimizer import StepSize, over_members
from unbraid.training.state import FleetState, Member, Net, as_tree, fleet_key, learns_with, optimizers

_STREAMS = {"first": ("batch", "noise"), "other": ("other batch", "other noise")}
"""Names of the two random streams of each batch: for the row numbers and for the noise."""

_MIN_STEPS_TO_TRACE = 1000  # tracing takes as long as some hundred steps of small nets


@as_tree
@final
@dataclass(frozen=True)
class StaticInputs:
    """Inputs of a step with fixed memory addresses, as a CUDA graph requires.

    These inputs are the state, the hyperparameters of each member and the source of the next batches. `rounded` has
    copies of the weights in the compute precision of the nets, if this precision is lower.
    """

    state: FleetState
    rounded: Weights
    hyperparameters: dict[str, Tensor]
    learning_rate: Tensor
    supplied: dict[str, dict[str, Tensor]]


@as_tree
@final
@dataclass(frozen=True)
class StepInputs:
    """All inputs of a step: static inputs, random numbers, and the `progress` of training from 0 to 1."""

    static: StaticInputs
    rows: dict[str, Tensor]
    noise: dict[str, Tensor]
    step_constants: dict[str, dict[str, Tensor]]
    progress: Tensor
    draws: dict[str, Tensor]

    @property
    def learned(self) -> Weights:
        """Weights of the nets, replaced by `rounded` copies where these exist."""
        rounded = self.static.rounded
        return {which: net.weights | rounded.get(which, {}) for which, net in self.static.state.tensors.nets.items()}


@final
class FleetStep:
    """Training step that computes the losses and gradients of all members at once, and updates the weights."""

    def __init__(self, members: Sequence[Member], images: FactorImages, template: AutoencoderModule) -> None:
        spec = members[0].spec
        like = torch.empty(0, dtype=spec.dtype, device=images.device)
        self._members, self._spec, self._images = tuple(members), spec, images
        self._objective = spec.objective.trained_form()
        self._optimizers = optimizers(spec)
        self._seeds = torch.tensor([member.seed for member in members], device=images.device)
        batches = ("first", "other") if self._objective.needs_other_batch else ("first",)
        self.feeds = {which: Feed(images, self._seeds, spec.batch_size, _STREAMS[which][0]) for which in batches}
        self._hyperparameters = {
            name: Numbers([member.spec.objective.trained_form().hyperparameters[name] for member in members], like)
            for name in self._objective.hyperparameters
        }
        self._learning_rate = Numbers([member.spec.optimizer.learning_rate for member in members], like)
        zeros = [name for name, numbers in self._hyperparameters.items() if numbers.are_zero]
        loss = MemberLoss(members[0], template, len(images), zeros)
        is_on_cpu = images.device.type == "cpu"
        mapped = _alone if is_on_cpu and len(members) == 1 else partial(vmap, in_dims=(0, 0, None))
        self._losses = mapped(loss)
        self._gradients = {
            is_logged: mapped(grad(partial(loss, is_logged=is_logged), has_aux=True)) for is_logged in (True, False)
        }
        if is_on_cpu and spec.num_steps >= _MIN_STEPS_TO_TRACE:
            self._gradients[False] = traced_later(self._gradients[False])

    @property
    def key(self) -> tuple[Hashable, ...]:
        """Cache key of the compiled step: specs without numeric hyperparameters, number of members, schedules."""
        schedules = [numbers.key for numbers in (*self._hyperparameters.values(), self._learning_rate)]
        return fleet_key(self._spec), len(self._members), *schedules

    def rounded(self, state: FleetState) -> Weights:
        """Returns copies of the weights in the compute precision of the nets, or {} for weights of this precision."""
        coarse = nets_run_in(self._spec.precision)
        if coarse == self._spec.dtype:
            return {}
        return {
            which: {
                name: tensor.to(coarse)
                for name, tensor in net.weights.items()
                if which == "critic" or name.startswith(("encoder.", "decoder."))
            }
            for which, net in state.tensors.nets.items()
        }

    def static_inputs(self, state: FleetState, rounded: Weights, step: int) -> StaticInputs:
        """Returns the inputs with fixed memory addresses, including the source of the batches of this step."""
        return StaticInputs(
            state,
            rounded,
            {name: numbers.constant for name, numbers in self._hyperparameters.items()},
            self._learning_rate.constant,
            {which: feed.supply(step) for which, feed in self.feeds.items()},
        )

    def step_inputs(self, static: StaticInputs) -> StepInputs:
        """Computes all inputs of a step from the static inputs."""
        spec, step, device = self._spec, static.state.step, self._images.device
        counted = step.to(wide_device(device))

        def normal(stream: str, shape: tuple[int, ...]) -> Float[Tensor, "member ..."]:
            return draws.normal(self._seeds, stream, step, shape).to(device, spec.dtype)

        shapes = self._objective.draw_shapes(spec.batch_size, spec.model, self._images.image_shape)
        noise_shape = spec.batch_size, spec.model.latents.num_noise
        return StepInputs(
            static,
            rows={which: feed.rows(static.supplied[which], step) for which, feed in self.feeds.items()},
            noise={which: normal(_STREAMS[which][1], noise_shape) for which in self.feeds},
            # Not in the compiled step, which would compute the constants again for every weight.
            step_constants={
                which: {
                    name: number.to(device, spec.dtype)
                    for name, number in self._optimizers[which].step_constants(counted + 1).items()
                }
                for which in static.state.tensors.nets
            },
            progress=(counted.double() / max(1, spec.num_steps - 1)).to(device, spec.dtype),
            draws={name: normal(f"objective {name}", shape) for name, shape in shapes.items()},
        )

    def observe(self, inputs: StepInputs) -> dict[str, Tensor]:
        """Returns the loss and its terms at this step, without changing the state."""
        _, (losses, _) = self._losses(inputs.learned, self._loss_inputs(inputs), inputs.progress)
        return losses

    def advance(self, inputs: StepInputs, *, log: bool = False) -> dict[str, Tensor]:
        """Updates the state in place by one step. Returns the loss and its terms if `log`, else {}."""
        spec, state = self._spec, inputs.static.state
        gradient, (losses, carried_over) = self._gradients[log](
            inputs.learned, self._loss_inputs(inputs), inputs.progress
        )
        norms = {which: gradient_norm(each).to(spec.dtype) for which, each in gradient.items()}
        state.step.add_(1)
        reason = _reasons(losses["loss"], torch.stack(list(norms.values())), spec.max_loss)
        fails_now = (state.failed_at < 0) & (reason > 0)
        state.failed_at.copy_(torch.where(fails_now, state.step, state.failed_at))
        state.reason.copy_(torch.where(fails_now, reason, state.reason))
        alive = state.failed_at < 0
        for name, new in carried_over.items():
            old = state.tensors.objective[name]
            old.copy_(torch.where(over_members(alive, new), new, old))
        scale = None if spec.max_gradient_norm is None else clipping(norms["model"], spec.max_gradient_norm)
        rate = self._learning_rate.at(inputs.progress, inputs.static.learning_rate) * alive
        step_sizes = {"model": StepSize(rate, alive, inputs.step_constants["model"])}
        if "critic" in gradient:
            rate = value_at(self._optimizers["critic"].learning_rate, inputs.progress) * alive.to(spec.dtype)
            step_sizes["critic"] = StepSize(rate, alive, inputs.step_constants["critic"])
        self._update("model", inputs, gradient["model"], step_sizes, scale)
        if "critic" in gradient:
            self._update("critic", inputs, gradient["critic"], step_sizes)
        return losses if log else {}

    def _update(
        self,
        which: str,
        inputs: StepInputs,
        gradient: Mapping[str, Tensor],
        step_sizes: Mapping[str, StepSize],
        scale: Float[Tensor, " member"] | None = None,
    ) -> None:
        """Updates the weights of one kind of net, with the gradient times `scale`.

        The weights and optimizer state of failed members do not change.
        """
        net: Net = inputs.static.state.tensors.nets[which]
        rounded = inputs.static.rounded.get(which, {})
        for name, weights in net.weights.items():
            learner = learns_with(self._spec, which, name)
            step_size = step_sizes[learner]
            slope = gradient[name].to(weights.dtype)
            slope = slope if scale is None else slope * over_members(scale, slope)
            self._optimizers[learner].update_(
                weights,
                torch.where(over_members(step_size.alive, slope), slope, 0),
                {kind: of_weights[name] for kind, of_weights in net.optimizer_state.items() if name in of_weights},
                step_size,
            )
            if name in rounded:
                rounded[name].copy_(weights)

    def _loss_inputs(self, inputs: StepInputs) -> Inputs:
        """Returns the inputs of the loss function of the members."""
        spec, static, rows = self._spec, inputs.static, inputs.rows["first"]
        weights, place = self._images.weights, self._images.device
        return Inputs(
            hyperparameters={
                name: numbers.at(inputs.progress, static.hyperparameters[name])
                for name, numbers in self._hyperparameters.items()
                if not numbers.are_zero
            },
            x={
                which: feed.images(static.supplied[which], inputs.rows[which]).to(spec.dtype)
                for which, feed in self.feeds.items()
            },
            noise=inputs.noise,
            weights={} if weights is None else {"first": weights[rows.to(weights.device)].to(place, spec.dtype)},
            draws=inputs.draws,
            objective=static.state.tensors.objective,
        )


def _alone(function: Callable[..., Any]) -> Callable[..., Any]:
    """Returns the function, applied to the only member of a fleet, as `vmap` would.

    On a CPU its convolutions are faster than those of `vmap`, which have groups.
    """

    def of_one(learned: Weights, inputs: Inputs, progress: Tensor) -> Any:
        results = function(*tree_map(lambda tensor: tensor[0], (learned, inputs)), progress)
        return tree_map(lambda tensor: tensor[None], results)

    return of_one


def _reasons(
    loss: Float[Tensor, " member"], norms: Float[Tensor, "net member"], max_loss: float
) -> Int64[Tensor, " member"]:
    """Returns the failure of each member at this step: 0 for no failure, or the position in `Reason` from 1 on."""
    of_gradient = torch.where(norms.isfinite().all(dim=0), 0, 3)
    return torch.where(loss.isfinite(), torch.where(loss > max_loss, 2, of_gradient), 1)


@final
class Numbers:
    """Numeric hyperparameter with one value per member. Values may follow schedules."""

    def __init__(self, weights: Sequence[Weight], like: Tensor) -> None:
        self._weights = tuple(weights)
        self.constant: Float[Tensor, " member"] = like.new_tensor(
            [0.0 if isinstance(weight, Schedule) else weight for weight in weights]
        )
        """Values of the members, with 0 for members that follow a schedule."""

    @property
    def are_zero(self) -> bool:
        """Whether the value is always 0 for every member."""
        return not any(isinstance(weight, Schedule) or weight for weight in self._weights)

    @property
    def key(self) -> Hashable:
        """Cache key: the schedules of the members, whose values `constant` does not contain."""
        return self.are_zero, tuple(weight if isinstance(weight, Schedule) else None for weight in self._weights)

    def at(self, progress: Float[Tensor, ""], constant: Float[Tensor, " member"]) -> Float[Tensor, " member"]:
        """Returns the values at this progress. Values without a schedule are read from `constant`."""
        if not any(isinstance(weight, Schedule) for weight in self._weights):
            return constant
        return torch.stack(
            [
                w.at(progress) if isinstance(w, Schedule) else own
                for w, own in zip(self._weights, constant.unbind(), strict=True)
            ]
        )


def gradient_norm(gradient: Mapping[str, Float[Tensor, "member ..."]]) -> Float[Tensor, " member"]:
    """Returns the gradient norm of each member over all weight tensors."""
    lengths = [torch.linalg.vector_norm(widened(each).reshape(len(each), -1), dim=1) for each in gradient.values()]
    return torch.linalg.vector_norm(torch.stack(lengths), dim=0)


def clipping(norm: Float[Tensor, " member"], max_norm: float) -> Float[Tensor, " member"]:
    """Returns the factor per member that clips the gradient norm to `max_norm`."""
    return (max_norm / norm).clamp(max=1)
