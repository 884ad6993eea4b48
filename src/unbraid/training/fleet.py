"""A fleet: any number of models trained side by side as one stack of weights.

The objective and the nets are written for one model; `vmap` maps them over the members. A member's batches and noise come from its own
seed and step, so it becomes the same model alone and in any company, up to the order in which floats are summed (docs/runs.md).
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, final

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn
from torch.func import functional_call, grad, replace_all_batch_norm_modules_, vmap
from torch.nn.utils import parameters_to_vector

from unbraid import draws
from unbraid.data.dataset import FactorImages
from unbraid.distributions.posterior import Posterior
from unbraid.models.autoencoder import AutoencoderModule, with_noise_inputs
from unbraid.models.batch_norm import set_population_statistics
from unbraid.models.critic import Critic
from unbraid.models.seeded import seeded
from unbraid.objectives.objective import EncodedBatch, Loss, Step
from unbraid.runs.spec import RunSpec
from unbraid.schedule import Schedule, Weight, value_at
from unbraid.training.adam import AdamMoments, adam_step_, clip_gradient
from unbraid.training.feed import Feed


@final
@dataclass(frozen=True)
class Member:
    """One model of a fleet: what to train, from which seed."""

    spec: RunSpec
    seed: int


@final
@dataclass(frozen=True)
class MemberState:
    """All that a member carries from step to step, so that a fleet can be left and joined.

    `step` counts the steps taken; `failed_at` is the step, counted from 1, at which the loss or its gradient was not finite. `tensors` holds the weights
    and moments of the model, those of the critic, and what the objective carries over, each by its name.
    """

    step: int
    tensors: Mapping[str, Tensor]
    failed_at: int | None


def fleet_key(spec: RunSpec) -> str:
    """Members with the same key can share a fleet: their specs differ at most in numbers of the objective and in the learning rate."""
    content = spec.to_json()
    objective = spec.objective.general()
    content["objective"] = [type(objective), {k: v for k, v in vars(objective).items() if k not in objective.hyperparameters}]
    del content["learning_rate"]
    return repr(content)


@final
class _Stack:
    """The weights of one kind of net, a row a member, with the moments of their Adam."""

    def __init__(self, template: nn.Module | None, initial: Sequence[nn.Module | None], like: Tensor) -> None:
        self.layout = {} if template is None else {name: parameter.shape for name, parameter in template.named_parameters()}
        rows = [like.new_zeros(0) if net is None else parameters_to_vector(net.parameters()).detach().to(like) for net in initial]
        self.weights = torch.stack(rows)
        self.moments = AdamMoments(torch.zeros_like(self.weights), torch.zeros_like(self.weights))

    def unflatten(self, weights: Float[Tensor, " parameter"]) -> dict[str, Tensor]:
        """One member's weights by name."""
        # split, not slices: its gradient is one concatenation.
        pieces = weights.split([math.prod(shape) for shape in self.layout.values()])
        return {name: piece.reshape(shape) for (name, shape), piece in zip(self.layout.items(), pieces, strict=True)}

    def descend(
        self, gradient: Float[Tensor, "member parameter"], step: int, learning_rate: Float[Tensor, " member"], betas: tuple[float, float]
    ) -> None:
        """One step of Adam with every member. `step` counts from 1."""
        adam_step_(self.weights, gradient, self.moments, step=step, learning_rate=learning_rate, beta1=betas[0], beta2=betas[1])

    def tensors(self, prefix: str) -> dict[str, Tensor]:
        """All that changes from step to step, by name. None, where there is no such net."""
        named = {"weights": self.weights, "first_moment": self.moments.first, "second_moment": self.moments.second}
        return {f"{prefix}{name}": tensor for name, tensor in named.items()} if self.layout else {}


@final
class Fleet:
    """Members of one `fleet_key`, their weights in one matrix with a row each."""

    def __init__(self, members: Sequence[Member], images: FactorImages) -> None:
        device, spec = images.device, members[0].spec
        like = torch.empty(0, dtype=spec.dtype, device=device)
        self.members = tuple(members)
        self.step = 0
        self._spec = spec
        self._images = images
        self._objective = spec.objective.general()
        self._model = spec.model.build(images.image_shape, seed=members[0].seed).to(device, spec.dtype)
        # BatchNorm without its running averages: vmap has no place for them. They are computed at the end, from all images.
        replace_all_batch_norm_modules_(self._model)
        self._critic = seeded(spec.make_critic, members[0].seed, "critic")
        self._seeds = torch.tensor([m.seed for m in members], device=device)
        self._feed = Feed(images, self._seeds, spec.batch_size)
        self._other_feed = Feed(images, self._seeds, spec.batch_size, "other batch")
        self._hyperparameters = {
            name: _Numbers([m.spec.objective.general().hyperparameters[name] for m in members], like)
            for name in self._objective.hyperparameters
        }
        self._learning_rate = _Numbers([m.spec.learning_rate for m in members], like)
        self._models = _Stack(self._model, [m.spec.model.build(images.image_shape, m.seed) for m in members], like)
        self._critics = _Stack(self._critic, [seeded(m.spec.make_critic, m.seed, "critic") for m in members], like)
        with torch.device("cpu"):
            initial_state = self._objective.initial_state(spec.model.latents)
        self._state = {name: value.to(like).expand(len(members), *value.shape).clone() for name, value in initial_state.items()}
        self._failed_at = torch.full((len(members),), -1, device=device)
        self._gradients = vmap(grad(self._member_loss, argnums=(0, 1), has_aux=True), in_dims=(0, 0, 0, None))

    @property
    def weights(self) -> Float[Tensor, "member parameter"]:
        """The models' weights."""
        return self._models.weights

    def advance(self) -> dict[str, Float[Tensor, " member"]]:
        """Take one step with every member that has not failed. Returns the loss and its parts, by name, before the step."""
        spec = self._spec
        # full, not tensor: a number that is copied to a GPU waits for all work there.
        progress = torch.full((), self.step / max(1, spec.num_steps - 1), dtype=spec.dtype, device=self._seeds.device)
        inputs = self._inputs(progress)
        (gradient, critic_gradient), (losses, state) = self._gradients(self._models.weights, self._critics.weights, inputs, progress)
        norms = [torch.linalg.vector_norm(each, dim=1) for each in (gradient, critic_gradient)]
        finite = torch.stack([losses["loss"], *norms]).isfinite().all(dim=0)
        self._failed_at = torch.where((self._failed_at < 0) & ~finite, self.step + 1, self._failed_at)
        alive = self._failed_at < 0
        self._state = {name: torch.where(_over(alive, new), new, self._state[name]) for name, new in state.items()}
        # A failed member takes zero gradients at learning rate zero: it keeps its last good weights, and the others do not notice.
        gradient = torch.where(alive[:, None], gradient, 0)
        if spec.max_gradient_norm is not None:
            gradient = clip_gradient(gradient, spec.max_gradient_norm)
        self.step += 1
        self._models.descend(gradient, self.step, self._learning_rate.at(progress) * alive, (spec.adam_beta1, spec.adam_beta2))
        if self._critic is not None:
            critic = spec.critic or Critic()
            rate = value_at(critic.learning_rate, progress) * alive.to(critic_gradient)
            self._critics.descend(torch.where(alive[:, None], critic_gradient, 0), self.step, rate, (critic.adam_beta1, critic.adam_beta2))
        return losses

    def _inputs(self, progress: Float[Tensor, ""]) -> dict[str, Any]:
        """All that members see at this step, with a leading axis of members: images, noise, hyperparameters, state."""
        spec, latents = self._spec, self._spec.model.latents
        rows, x = self._feed.rows_and_images(self.step)
        inputs: dict[str, Any] = {
            "hyperparameters": {name: numbers.at(progress) for name, numbers in self._hyperparameters.items()},
            "x": x.to(spec.dtype),
            "noise": self._normal("noise", (spec.batch_size, latents.num_noise)),
            "draws": {
                name: self._normal(f"objective {name}", shape)
                for name, shape in self._objective.draw_shapes(spec.batch_size, spec.model, self._images.image_shape).items()
            },
            "state": self._state,
        }
        if self._images.weights is not None:
            inputs["weights"] = self._images.weights[rows].to(spec.dtype)
        if self._objective.needs_other_batch:
            inputs["other x"] = self._other_feed.rows_and_images(self.step)[1].to(spec.dtype)
            inputs["other noise"] = self._normal("other noise", (spec.batch_size, latents.num_noise))
        return inputs

    def _normal(self, stream: str, shape: tuple[int, ...]) -> Float[Tensor, "member ..."]:
        return draws.normal(self._seeds, stream, self.step, shape).to(self._spec.dtype)

    @property
    def alive(self) -> Bool[Tensor, " member"]:
        return self._failed_at < 0

    def failed_at(self, index: int) -> int | None:
        """The step, counted from 1, at which the loss of member `index` or its gradient was not finite."""
        step = int(self._failed_at[index])
        return None if step < 0 else step

    def state(self, index: int) -> MemberState:
        """What member `index` would need to go on alone, on the CPU."""
        tensors = {name: tensor[index].cpu().clone() for name, tensor in self._tensors().items()}
        return MemberState(self.step, tensors, self.failed_at(index))

    def restore(self, states: Sequence[MemberState]) -> None:
        """Go on from these states, one a member, all of the same step. Without states, start at the beginning."""
        for index, state in enumerate(states):
            self.step = state.step
            for name, tensor in self._tensors().items():
                tensor[index] = state.tensors[name].to(tensor)
            self._failed_at[index] = -1 if state.failed_at is None else state.failed_at

    def _tensors(self) -> dict[str, Tensor]:
        """Everything that changes from step to step, by name."""
        return self._models.tensors("") | self._critics.tensors("critic_") | {f"state_{name}": value for name, value in self._state.items()}

    def model(self, index: int) -> AutoencoderModule:
        """Member `index` as a model of its own, on the fleet's device, ready for use."""
        model = self._spec.model.build(self._images.image_shape, self.members[index].seed).to(self._models.weights)
        model.load_state_dict(model.state_dict() | self._models.unflatten(self._models.weights[index]))
        set_population_statistics(model, self._images, self.members[index].seed)
        return model.eval()

    def _member_loss(
        self,
        weights: Float[Tensor, " parameter"],
        critic_weights: Float[Tensor, " critic_parameter"],
        inputs: Mapping[str, Any],
        progress: Float[Tensor, ""],
    ) -> tuple[Float[Tensor, ""], tuple[dict[str, Float[Tensor, ""]], dict[str, Tensor]]]:
        """The loss of one member; its parts by name, and the objective's new state. Runs under `vmap`.

        The model's loss and the critic's are added up, and one gradient is taken of both: neither depends on what the other is minimised over.
        """
        loss = self._objective.bind(inputs["hyperparameters"])(self._step(weights, critic_weights, inputs, progress))
        total = loss.total if loss.critic is None else loss.total + loss.critic
        return total, ({"loss": loss.total.detach(), **_detached(_parts(loss))}, _detached(loss.state))

    def _step(self, weights: Tensor, critic_weights: Tensor, inputs: Mapping[str, Any], progress: Float[Tensor, ""]) -> Step:
        parameters, model = self._models.unflatten(weights), self._model
        latents = model.latents

        def encode(x: Tensor) -> Posterior:
            return latents.posterior(functional_call(model.encoder, _under("encoder.", parameters), (x,)), progress)

        def decode(z: Tensor) -> Tensor:
            output: Tensor = functional_call(model.decoder, _under("decoder.", parameters), (z,))
            return output

        likelihood = functional_call(model.likelihood_module, _under("likelihood_module.", parameters), ())
        posterior = encode(inputs["x"])
        z = posterior.rsample(inputs["noise"])
        other = None
        if "other x" in inputs:
            other_posterior = encode(inputs["other x"])
            other = EncodedBatch(inputs["other x"], other_posterior, other_posterior.rsample(inputs["other noise"]))
        critic = self._critic
        of_critic = self._critics.unflatten(critic_weights)
        return Step(
            x=inputs["x"],
            posterior=posterior,
            z=z,
            log_likelihood=likelihood.log_prob(inputs["x"], decode(with_noise_inputs(z, model.noise_inputs))),
            prior=functional_call(model.prior_module, _under("prior_module.", parameters), (progress,)),
            dataset_size=len(self._images),
            progress=progress,
            draws=inputs["draws"],
            weights=inputs.get("weights"),
            other=other,
            encode=encode,
            decode=decode,
            critic=None if critic is None else lambda z: functional_call(critic, _detached(of_critic), (z,)),
            critic_in_training=None if critic is None else lambda z: functional_call(critic, of_critic, (z.detach(),)),
            state=inputs["state"],
            groups=latents.groups,
            widths=latents.widths,
            likelihood=likelihood,
        )


@final
class _Numbers:
    """One number a member, some of which may follow a schedule."""

    def __init__(self, weights: Sequence[Weight], like: Tensor) -> None:
        constants = [weight for weight in weights if not isinstance(weight, Schedule)]
        self._weights = weights
        self._constant = like.new_tensor(constants) if len(constants) == len(weights) else None
        self._like = like

    def at(self, progress: Float[Tensor, ""]) -> Float[Tensor, " member"]:
        if self._constant is not None:
            return self._constant
        return torch.stack([w.at(progress) if isinstance(w, Schedule) else self._like.new_tensor(w) for w in self._weights])


def _parts(loss: Loss) -> dict[str, Tensor]:
    return loss.parts if loss.critic is None else loss.parts | {"critic": loss.critic}


def _detached(tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    return {name: tensor.detach() for name, tensor in tensors.items()}


def _over(alive: Bool[Tensor, " member"], like: Tensor) -> Tensor:
    return alive.reshape(-1, *[1] * (like.ndim - 1))


def _under(prefix: str, parameters: Mapping[str, Tensor]) -> dict[str, Tensor]:
    return {name.removeprefix(prefix): parameter for name, parameter in parameters.items() if name.startswith(prefix)}
