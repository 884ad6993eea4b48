"""A fleet: any number of models trained side by side as one stack of weights.

The objective and the nets are written for one model; `vmap` maps them over the members. A member's batches and noise come from its own
seed and step, so it becomes the same model alone and in any company, up to the order in which floats are summed (docs/runs.md).
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import final

import torch
from jaxtyping import Bool, Float
from torch import Tensor
from torch.func import functional_call, grad, vmap
from torch.nn.utils import parameters_to_vector

from unbraid import draws
from unbraid.data.dataset import FactorImages
from unbraid.distributions.posterior import Posterior
from unbraid.models.autoencoder import AutoencoderModule
from unbraid.objectives.objective import Step
from unbraid.runs.spec import RunSpec
from unbraid.training.adam import AdamMoments, adam_step_, clip_gradient
from unbraid.training.batches import Batches


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

    `step` counts the steps taken; `failed_at` is the step, counted from 1, at which the loss or its gradient was not finite.
    """

    step: int
    weights: Float[Tensor, " parameter"]
    first_moment: Float[Tensor, " parameter"]
    second_moment: Float[Tensor, " parameter"]
    failed_at: int | None


def fleet_key(spec: RunSpec) -> str:
    """Members with the same key can share a fleet: their specs differ at most in float hyperparameters and in the learning rate."""
    content = spec.to_json()
    objective = spec.objective.general()
    content["objective"] = [type(objective), {k: v for k, v in vars(objective).items() if k not in objective.hyperparameters}]
    del content["learning_rate"]
    return repr(content)


@final
class Fleet:
    """Members of one `fleet_key`, their weights in one matrix with a row each."""

    def __init__(self, members: Sequence[Member], images: FactorImages) -> None:
        device, spec = images.pixels.device, members[0].spec
        self.members = tuple(members)
        self.step = 0
        self._spec = spec
        self._images = images
        self._objective = spec.objective.general()
        self._model = spec.model.build(images.image_shape, seed=members[0].seed).to(device, spec.dtype)
        self._layout = {name: parameter.shape for name, parameter in self._model.named_parameters()}
        self._seeds = torch.tensor([m.seed for m in members], device=device)
        self._batches = Batches(self._seeds, len(images), spec.batch_size, images.weights)
        self._hyperparameters = {
            name: torch.tensor([m.spec.objective.general().hyperparameters[name] for m in members], dtype=spec.dtype, device=device)
            for name in self._objective.hyperparameters
        }
        self._learning_rate = torch.tensor([m.spec.learning_rate for m in members], dtype=spec.dtype, device=device)
        initial = [parameters_to_vector(m.spec.model.build(images.image_shape, m.seed).parameters()) for m in members]
        self.weights = torch.stack(initial).detach().to(device, spec.dtype)
        self._moments = AdamMoments(torch.zeros_like(self.weights), torch.zeros_like(self.weights))
        self._failed_at = torch.full((len(members),), -1, device=device)
        self._gradients = vmap(grad(self._member_loss, has_aux=True), in_dims=(0, 0, 0, 0, 0 if images.weights is not None else None, None))

    def advance(self) -> dict[str, Float[Tensor, " member"]]:
        """Take one step with every member that has not failed. Returns the loss and its parts, by name, before the step."""
        spec, shape = self._spec, (self._spec.batch_size, self._spec.model.latents.num_latents)
        rows = self._batches.rows(self.step)
        gradient, losses = self._gradients(
            self.weights,
            self._hyperparameters,
            self._images.batch(rows).to(spec.dtype),
            draws.normal(self._seeds, "noise", self.step, shape).to(spec.dtype),
            None if self._images.weights is None else self._images.weights[rows].to(spec.dtype),
            torch.tensor(self.step / max(1, spec.num_steps - 1), dtype=spec.dtype, device=rows.device),
        )
        finite = losses["loss"].isfinite() & torch.linalg.vector_norm(gradient, dim=1).isfinite()
        self._failed_at = torch.where((self._failed_at < 0) & ~finite, self.step + 1, self._failed_at)
        alive = self._failed_at < 0
        # A failed member takes zero gradients at learning rate zero: it keeps its last good weights, and the others do not notice.
        gradient = torch.where(alive[:, None], gradient, 0)
        if spec.max_gradient_norm is not None:
            gradient = clip_gradient(gradient, spec.max_gradient_norm)
        self.step += 1
        adam_step_(
            self.weights,
            gradient,
            self._moments,
            step=self.step,
            learning_rate=self._learning_rate * alive,
            beta1=spec.adam_beta1,
            beta2=spec.adam_beta2,
        )
        return losses

    @property
    def alive(self) -> Bool[Tensor, " member"]:
        return self._failed_at < 0

    def failed_at(self, index: int) -> int | None:
        """The step, counted from 1, at which the loss of member `index` or its gradient was not finite."""
        step = int(self._failed_at[index])
        return None if step < 0 else step

    def state(self, index: int) -> MemberState:
        """What member `index` would need to go on alone, on the CPU."""
        weights, first, second = (tensor[index].cpu().clone() for tensor in (self.weights, self._moments.first, self._moments.second))
        return MemberState(self.step, weights, first, second, self.failed_at(index))

    def restore(self, states: Sequence[MemberState]) -> None:
        """Go on from these states, one a member, all of the same step. Without states, start at the beginning."""
        for index, state in enumerate(states):
            self.step = state.step
            self.weights[index] = state.weights.to(self.weights)
            self._moments.first[index] = state.first_moment.to(self.weights)
            self._moments.second[index] = state.second_moment.to(self.weights)
            self._failed_at[index] = -1 if state.failed_at is None else state.failed_at

    def model(self, index: int) -> AutoencoderModule:
        """Member `index` as a model of its own, on the fleet's device."""
        model = self._spec.model.build(self._images.image_shape, self.members[index].seed).to(self.weights)
        model.load_state_dict(model.state_dict() | self._unflatten(self.weights[index]))
        return model

    def _member_loss(
        self,
        weights: Float[Tensor, " parameter"],
        hyperparameters: Mapping[str, Float[Tensor, ""]],
        x: Float[Tensor, "batch channel height width"],
        noise: Float[Tensor, "batch latent"],
        image_weights: Float[Tensor, " batch"] | None,
        progress: Float[Tensor, ""],
    ) -> tuple[Float[Tensor, ""], dict[str, Float[Tensor, ""]]]:
        """The loss of one member, and its parts by name. Runs under `vmap`."""
        parameters, model = self._unflatten(weights), self._model

        def encode(x: Tensor) -> Posterior:
            return model.latents.posterior(functional_call(model.encoder, _under("encoder.", parameters), (x,)))

        def decode(z: Tensor) -> Tensor:
            output: Tensor = functional_call(model.decoder, _under("decoder.", parameters), (z,))
            return output

        posterior = encode(x)
        z = posterior.rsample(noise)
        step = Step(
            x=x,
            posterior=posterior,
            z=z,
            log_likelihood=model.likelihood.log_prob(x, decode(z)),
            prior=model.prior,
            dataset_size=len(self._images),
            progress=progress,
            weights=image_weights,
            encode=encode,
            decode=decode,
        )
        loss = self._objective.bind(hyperparameters)(step)
        return loss.total, {"loss": loss.total, **loss.parts}

    def _unflatten(self, weights: Float[Tensor, " parameter"]) -> dict[str, Tensor]:
        # split, not slices: its gradient is one concatenation.
        pieces = weights.split([math.prod(shape) for shape in self._layout.values()])
        return {name: piece.reshape(shape) for (name, shape), piece in zip(self._layout.items(), pieces, strict=True)}


def _under(prefix: str, parameters: Mapping[str, Tensor]) -> dict[str, Tensor]:
    return {name.removeprefix(prefix): parameter for name, parameter in parameters.items() if name.startswith(prefix)}
