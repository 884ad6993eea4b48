"""Loss of one member of a fleet, as a function of its weights and its batch."""

import copy
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import final

from jaxtyping import Float
from torch import Tensor, nn
from torch.func import functional_call

from unbraid._internal.precision import nets_run_in
from unbraid.models.autoencoder import AutoencoderModule, trunk_of, with_noise_inputs
from unbraid.models.batch_norm import make_batch_norm_stateless
from unbraid.models.categories import with_categories
from unbraid.models.distributions.distribution import Posterior
from unbraid.models.layers.initial_weights import seeded
from unbraid.objectives.objective import EncodedBatch, Step
from unbraid.training.state import Member, as_tree
from unbraid.training.vmap_errors import checked_loss, explain_vmap_errors

Weights = dict[str, dict[str, Tensor]]
"""Weights by kind of net ("model" or "critic") and by parameter name."""


@as_tree
@final
@dataclass(frozen=True)
class Inputs:
    """Inputs of all members at one step, with a leading axis of members: images, noise and image weights."""

    hyperparameters: dict[str, Tensor]
    x: dict[str, Tensor]
    noise: dict[str, Tensor]
    weights: dict[str, Tensor]
    draws: dict[str, Tensor]
    objective: dict[str, Tensor]


@final
class MemberLoss:
    """Loss function of a member, whose nets have the architecture of `template`.

    The hyperparameters named in `zeros` are 0 for every member of the fleet.
    """

    def __init__(
        self, member: Member, template: AutoencoderModule, dataset_size: int, zeros: Collection[str] = ()
    ) -> None:
        self._spec, self._dataset_size, self._zeros = member.spec, dataset_size, zeros
        self._objective = member.spec.objective.trained_form()
        # BatchNorm without running averages, which vmap does not support. The averages are computed from all images
        # at the end of training.
        self._model = copy.deepcopy(template)
        make_batch_norm_stateless(self._model)
        self._critic = seeded(member.spec.make_critic, member.seed, "critic")
        self._shares_trunk = self._objective.critic_reads == "features"

    def __call__(
        self, learned: Weights, inputs: Inputs, progress: Float[Tensor, ""], *, is_logged: bool = True
    ) -> tuple[Float[Tensor, ""], tuple[dict[str, Float[Tensor, ""]], dict[str, Tensor]]]:
        """Returns the loss of one member, and a pair of the loss terms by name and the new state of the objective.

        Runs under `vmap`. With `is_logged`, all loss terms are included.

        The losses of the model and the critic are summed and differentiated together. This is valid because neither
        loss has a gradient with respect to the weights that minimize the other.
        """
        # A hyperparameter that is 0 for every member is the number 0 instead of a tensor, so that the objective can
        # omit the term.
        objective = self._objective.bind(inputs.hyperparameters | dict.fromkeys(self._zeros, 0.0))
        with explain_vmap_errors():
            loss = checked_loss(objective(self._step(learned, inputs, progress, is_logged=is_logged)), objective)
        total, parts = loss.total, loss.parts
        if loss.critic is not None:
            total, parts = total + loss.critic, parts | {"critic": loss.critic}
        return total, ({"loss": loss.shown.detach(), **_detached(parts)}, _detached(loss.state))

    def _step(self, learned: Weights, inputs: Inputs, progress: Float[Tensor, ""], *, is_logged: bool) -> Step:
        """Returns the inputs of the objective for one member."""
        model, latents = self._model, self._model.latents

        def of_model(module: str) -> dict[str, Tensor]:
            return _under(f"{module}.", learned["model"])

        trunk = _SharedTrunk(model.encoder, of_model("encoder"), self._through) if self._shares_trunk else None

        def encode(x: Tensor) -> Posterior:
            numbers = None if trunk is None else trunk.encoded(x)
            if numbers is None:
                numbers = self._through(model.encoder, of_model("encoder"), x)
            return latents.posterior(numbers, progress)

        def decode(z: Tensor) -> Tensor:
            seen = with_categories(z, latents.widths, latents.hard_latents)
            return self._through(model.decoder, of_model("decoder"), seen)

        def encoded(which: str) -> EncodedBatch:
            posterior = encode(inputs.x[which])
            return EncodedBatch(inputs.x[which], posterior, posterior.rsample(inputs.noise[which]))

        likelihood = functional_call(model.likelihood_module, of_model("likelihood_module"), ())
        first = encoded("first")
        x, z = first.x, first.z
        return Step(
            x=x,
            posterior=first.posterior,
            z=z,
            other=encoded("other") if "other" in inputs.x else None,
            log_likelihood=likelihood.log_prob(x, decode(with_noise_inputs(z, model.noise_inputs))),
            prior=functional_call(model.prior_module, of_model("prior_module"), (progress,)),
            dataset_size=self._dataset_size,
            progress=progress,
            draws=inputs.draws,
            weights=inputs.weights.get("first"),
            encode=encode,
            decode=decode,
            critic=self._judge(learned, trunk, in_training=False),
            critic_in_training=self._judge(learned, trunk, in_training=True),
            state=inputs.objective,
            groups=latents.groups,
            widths=latents.widths,
            likelihood=likelihood,
            is_logged=is_logged,
        )

    def _judge(
        self, learned: Weights, trunk: "_SharedTrunk | None", *, in_training: bool
    ) -> Callable[[Tensor], Tensor] | None:
        """Returns the critic as a function, applied to features of the encoder's trunk if the trunk is shared.

        With `in_training`, the inputs of the critic are constant. Otherwise, its weights are constant.
        """
        critic = self._critic
        if critic is None:
            return None
        weights = learned["critic"] if in_training else _detached(learned["critic"])

        def judge(seen: Tensor) -> Tensor:
            if trunk is not None:
                features = (trunk.in_training(seen) if in_training else trunk.constant(seen)).flatten(1)
                return self._through(critic, weights, features)
            return self._through(critic, weights, seen.detach() if in_training else seen)

        return judge

    def _through(self, net: nn.Module, parameters: Mapping[str, Tensor], inputs: Tensor) -> Tensor:
        """Evaluates the net in the precision of the spec."""
        inner = nets_run_in(self._spec.precision)
        held = dict(net.named_buffers()) | dict(parameters)
        cast = {name: tensor.to(inner) if tensor.is_floating_point() else tensor for name, tensor in held.items()}
        output: Tensor = functional_call(net, cast, (inputs.to(inner),))
        return output.to(self._spec.dtype)


@final
class _SharedTrunk:
    """Features of the layers that critic and encoder share, computed once for each kind of gradient.

    Features with constant weights have gradients with respect to the images. Features of constant images have gradients
    with respect to the weights. The encoder needs both gradients. It uses the sum of both features minus the detached
    value of the second, which needs no other forward pass.
    """

    def __init__(
        self,
        encoder: nn.Module,
        weights: Mapping[str, Tensor],
        through: Callable[[nn.Module, Mapping[str, Tensor], Tensor], Tensor],
    ) -> None:
        self._trunk, self._through = trunk_of(encoder), through
        last_name, self._last = list(encoder.named_children())[-1]
        self._of_last = _under(f"{last_name}.", weights)
        self._of_trunk = {name: weights[name] for name, _ in self._trunk.named_parameters()}
        self._constant: dict[int, tuple[Tensor, Tensor]] = {}
        self._in_training: dict[int, tuple[Tensor, Tensor]] = {}

    def constant(self, x: Tensor) -> Tensor:
        """Returns the features of images, with constant weights."""
        return _kept(self._constant, x, lambda: self._through(self._trunk, _detached(self._of_trunk), x))

    def in_training(self, x: Tensor) -> Tensor:
        """Returns the features of constant images."""
        return _kept(self._in_training, x, lambda: self._through(self._trunk, self._of_trunk, x.detach()))

    def encoded(self, x: Tensor) -> Tensor | None:
        """Returns the encoder outputs for images that were input of the critic, or None for other images."""
        if id(x) not in self._constant:
            return None
        of_weights = self.in_training(x)
        return self._through(self._last, self._of_last, self.constant(x) + (of_weights - of_weights.detach()))


def _kept(features: dict[int, tuple[Tensor, Tensor]], x: Tensor, compute: Callable[[], Tensor]) -> Tensor:
    """Returns the cached features of images. Computes the features at the first call.

    The cache also contains the images, so that no other tensor can have the same `id`.
    """
    if id(x) not in features:
        features[id(x)] = x, compute()
    return features[id(x)][1]


def _detached(tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    return {name: tensor.detach() for name, tensor in tensors.items()}


def _under(prefix: str, parameters: Mapping[str, Tensor]) -> dict[str, Tensor]:
    return {name.removeprefix(prefix): parameter for name, parameter in parameters.items() if name.startswith(prefix)}
