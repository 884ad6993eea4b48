"""A fleet: any number of models trained side by side as one stack of weights.

The objective and the nets are written for one model; `vmap` maps them over the members. A member's batches and noise
come from its own seed and step, so it becomes the same model alone and in any company, up to the order in which floats
are summed (docs/runs.md).
"""

import copy
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, final, get_args

import torch
from jaxtyping import Bool, Float, Int64
from torch import Tensor, nn
from torch.func import functional_call, grad, replace_all_batch_norm_modules_, vmap

from unbraid import draws
from unbraid.data.dataset import FactorImages
from unbraid.distributions.categories import with_categories
from unbraid.distributions.posterior import Posterior
from unbraid.models.autoencoder import AutoencoderModule, with_noise_inputs
from unbraid.models.batch_norm import set_population_statistics
from unbraid.models.critic import Critic
from unbraid.models.seeded import seeded
from unbraid.objectives.objective import EncodedBatch, Loss, Step
from unbraid.precision import matrix_units, nets_run_in
from unbraid.runs.spec import RunSpec
from unbraid.schedule import value_at
from unbraid.training.adam import AdamMoments, adam_step_, bias_correction, clipping, gradient_norm, over_members
from unbraid.training.feed import Feed
from unbraid.training.numbers import Numbers
from unbraid.training.program import Programs, Replayed, Tensors


@final
@dataclass(frozen=True)
class Member:
    """One model of a fleet: what to train, from which seed."""

    spec: RunSpec
    seed: int


Reason = Literal["loss not finite", "loss above max_loss", "gradient not finite"]
"""Why a member failed."""


@final
@dataclass(frozen=True)
class MemberState:
    """All that a member carries from step to step, so that a fleet can be left and joined.

    `step` counts the steps taken; `failed_at` is the step, counted from 1, at which the loss or its gradient was not
    finite. `tensors` holds the weights and moments of the model, those of the critic, and what the objective carries
    over, each by its name.
    """

    step: int
    tensors: Mapping[str, Tensor]
    failed_at: int | None
    reason: Reason | None = None


def fleet_key(spec: RunSpec) -> str:
    """Members with the same key can share a fleet: their specs differ at most in numbers of the objective and in the
    learning rate.
    """
    content = spec.to_json()
    objective = spec.objective.general()
    content["objective"] = [
        type(objective),
        {k: v for k, v in vars(objective).items() if k not in objective.hyperparameters},
    ]
    del content["learning_rate"]
    return repr(content)


@final
class Fleet:
    """Members of one `fleet_key`, their weights stacked: every tensor has a row a member.

    On a CPU a step runs as it is written. On a GPU `prepare` compiles it, and `programs` keeps what was compiled for
    the next fleet of the same images.
    """

    def __init__(self, members: Sequence[Member], images: FactorImages, *, programs: Programs | None = None) -> None:
        device, spec = images.device, members[0].spec
        like = torch.empty(0, dtype=spec.dtype, device=device)
        self.members = tuple(members)
        self.step = 0
        self._spec = spec
        self._images = images
        self._objective = spec.objective.general()
        self._template = spec.model.build(images.image_shape, seed=members[0].seed).to(device, spec.dtype)
        # BatchNorm without its running averages: vmap has no place for them. They are computed at the end, from all
        # images.
        self._model = copy.deepcopy(self._template)
        replace_all_batch_norm_modules_(self._model)
        self._critic = seeded(spec.make_critic, members[0].seed, "critic")
        self._betas = {"": (spec.adam_beta1, spec.adam_beta2)}
        if self._critic is not None:
            critic = spec.critic or Critic()
            self._betas["critic_"] = critic.adam_beta1, critic.adam_beta2
        self._seeds = torch.tensor([m.seed for m in members], device=device)
        self._feeds = {"": Feed(images, self._seeds, spec.batch_size)}
        if self._objective.needs_other_batch:
            self._feeds["other_"] = Feed(images, self._seeds, spec.batch_size, "other batch")
        self._numbers = {
            name: Numbers([m.spec.objective.general().hyperparameters[name] for m in members], like)
            for name in self._objective.hyperparameters
        }
        self._learning_rate = Numbers([m.spec.learning_rate for m in members], like)
        with torch.device("cpu"):
            state = self._objective.initial_state(spec.model.latents)
        self._changing = {
            **_fresh("", [m.spec.model.build(images.image_shape, m.seed) for m in members], like),
            **_fresh("critic_", [seeded(m.spec.make_critic, m.seed, "critic") for m in members], like),
            **{
                f"state.{name}": value.to(like).expand(len(members), *value.shape).clone()
                for name, value in state.items()
            },
            "failed_at": torch.full((len(members),), -1, device=device),
            "reason": torch.zeros(len(members), dtype=torch.int64, device=device),  # 0 for none, then those of `Reason`
            "step": torch.zeros((), dtype=torch.int64, device=device),
        }
        self._rounded = {
            f"rounded.{name}": tensor.to(nets_run_in(spec.precision)) for name, tensor in self._to_round().items()
        }
        self._constant = {
            **{f"number.{name}": numbers.constant for name, numbers in self._numbers.items()},
            "number.learning_rate": self._learning_rate.constant,
        }
        self._gradients = vmap(grad(self._member_loss, has_aux=True), in_dims=(0, 0, None))
        self._programs = programs or Programs()
        self._replayed: dict[str, Replayed] = {}

    @property
    def weights(self) -> Float[Tensor, "member parameter"]:
        """The models' weights, all in one row a member."""
        return torch.cat(
            [tensor.reshape(len(tensor), -1) for tensor in _under("weights.", self._changing).values()], dim=1
        )

    def prepare(self) -> float:
        """Compile the step, where that pays: on a GPU. Returns the seconds that compiling took, 0 where it was found
        compiled.
        """
        if self._images.device.type != "cuda" or self._replayed:
            return 0.0
        before = self._programs.seconds
        with matrix_units(self._spec.precision):
            advance = self._programs.compiled(
                self._key(), self._advance, self._given(self._tensors()), self._images, self._scratch
            )
            self._observe(self._given(self._tensors()))  # once as it is: what it sets up cannot be recorded
            torch.cuda.empty_cache()
            pool = torch.cuda.graph_pool_handle()
            self._replayed = {
                "advance": Replayed(advance, self._given, self._tensors(), pool),
                # Not compiled: it is run too rarely to earn back what that takes.
                "observe": Replayed(self._observe, self._given, self._tensors(), pool),
            }
        return self._programs.seconds - before

    def advance(self, log: bool = True) -> dict[str, Float[Tensor, " member"]]:
        """Take one step with every member that has not failed. Returns the loss and its parts, by name, before the
        step; nothing without `log`.
        """
        tensors = self._tensors()
        with matrix_units(self._spec.precision):
            if self._replayed:
                losses = {name: value.clone() for name, value in self._replayed["observe"]().items()} if log else {}
                self._replayed["advance"]()
            else:
                losses = self._advance(self._given(tensors), log=log)
        self.step += 1
        return losses

    def _tensors(self) -> dict[str, Tensor]:
        """All that stays in its place, by name: what changes from step to step, what never does, and what the next
        batches are made of.
        """
        supplied = {
            f"{which}{name}": tensor
            for which, feed in self._feeds.items()
            for name, tensor in feed.supply(self.step).items()
        }
        return self._changing | self._rounded | self._constant | supplied

    def _given(self, tensors: Tensors) -> dict[str, Tensor]:
        """All that a step sees: these tensors, what is drawn for it, and where in training it is (`progress`, from 0 to
        1).
        """
        spec, latents, step = self._spec, self._spec.model.latents, tensors["step"]

        def normal(stream: str, shape: tuple[int, ...]) -> Float[Tensor, "member ..."]:
            return draws.normal(self._seeds, stream, step, shape).to(spec.dtype)

        drawn = {f"{which}drawn_rows": feed.rows(_under(which, tensors), step) for which, feed in self._feeds.items()}
        # The stream of the first batch is called noise, that of the second other noise.
        drawn |= {
            f"{which}noise": normal(f"{which}noise".replace("_", " "), (spec.batch_size, latents.num_noise))
            for which in self._feeds
        }
        shapes = self._objective.draw_shapes(spec.batch_size, spec.model, self._images.image_shape)
        # Here and not in the compiled step, which would compute them anew for every weight.
        drawn |= {
            f"{which}correction": bias_correction(step + 1, *betas).to(spec.dtype)
            for which, betas in self._betas.items()
        }
        drawn["progress"] = (step.double() / max(1, spec.num_steps - 1)).to(spec.dtype)
        return {
            **tensors,
            **drawn,
            **{f"drawn.{name}": normal(f"objective {name}", shape) for name, shape in shapes.items()},
        }

    def _scratch(self) -> dict[str, Tensor]:
        """Copies that a step may spoil."""
        return self._given(
            self._tensors() | {name: tensor.clone() for name, tensor in (self._changing | self._rounded).items()}
        )

    def _key(self) -> tuple[Hashable, ...]:
        """What the compiled step depends on, beside the images: what fleets may share, how many they are, and numbers
        that are no inputs.
        """
        schedules = [numbers.key for numbers in (*self._numbers.values(), self._learning_rate)]
        return fleet_key(self._spec), len(self.members), *schedules

    def _observe(self, given: Tensors) -> dict[str, Tensor]:
        """The loss and its parts at this step, changing nothing."""
        progress = given["progress"]
        _, (losses, _) = vmap(self._member_loss, in_dims=(0, 0, None))(
            _learned(given), self._inputs(given, progress), progress
        )
        return losses

    def _advance(self, given: Tensors, log: bool = False) -> dict[str, Tensor]:
        """One step: changes what changes in place. Returns the losses if they are to be logged."""
        spec, progress = self._spec, given["progress"]
        gradient, (losses, state) = self._gradients(_learned(given), self._inputs(given, progress), progress)
        norms = {which: gradient_norm(_under(f"{which}weights.", gradient)).to(spec.dtype) for which in self._betas}
        step, failed_at = given["step"], given["failed_at"]
        step.add_(1)
        reason = _reasons(losses["loss"], torch.stack(list(norms.values())), spec.max_loss)
        fails_now = (failed_at < 0) & (reason > 0)
        failed_at.copy_(torch.where(fails_now, step, failed_at))
        given["reason"].copy_(torch.where(fails_now, reason, given["reason"]))
        alive = failed_at < 0
        for name, new in state.items():
            old = given[f"state.{name}"]
            old.copy_(torch.where(over_members(alive, new), new, old))
        scale = None if spec.max_gradient_norm is None else clipping(norms[""], spec.max_gradient_norm)
        rate = self._learning_rate.at(progress, given["number.learning_rate"]) * alive
        self._descend("", given, gradient, alive, rate, scale)
        if self._critic is not None:
            rate = value_at((spec.critic or Critic()).learning_rate, progress) * alive.to(spec.dtype)
            self._descend("critic_", given, gradient, alive, rate)
        return losses if log else {}

    def _descend(
        self,
        which: str,
        given: Tensors,
        gradient: Mapping[str, Tensor],
        alive: Bool[Tensor, " member"],
        learning_rate: Float[Tensor, " member"],
        scale: Float[Tensor, " member"] | None = None,
    ) -> None:
        """One step of Adam with one kind of net, down the gradient times `scale`.

        A failed member keeps its last good weights and moments, and the others do not notice.
        """
        for name, weights in _under(f"{which}weights.", given).items():
            slope = gradient[f"{which}weights.{name}"].to(weights.dtype)
            slope = slope if scale is None else slope * over_members(scale, slope)
            adam_step_(
                weights,
                slope,
                AdamMoments(given[f"{which}first_moment.{name}"], given[f"{which}second_moment.{name}"]),
                correction=given[f"{which}correction"],
                learning_rate=learning_rate,
                alive=alive,
                beta1=self._betas[which][0],
                beta2=self._betas[which][1],
            )
            if (rounded := given.get(f"rounded.{which}weights.{name}")) is not None:
                rounded.copy_(weights)

    def _inputs(self, given: Tensors, progress: Float[Tensor, ""]) -> dict[str, Any]:
        """All that members see at this step, with a leading axis of members: images, noise, hyperparameters, state."""
        spec = self._spec

        def images(which: str) -> Float[Tensor, "member batch channel height width"]:
            return self._feeds[which].images(_under(which, given), given[f"{which}drawn_rows"]).to(spec.dtype)

        inputs: dict[str, Any] = {
            "hyperparameters": {
                name: numbers.at(progress, given[f"number.{name}"])
                for name, numbers in self._numbers.items()
                if not numbers.are_zero
            },
            "x": images(""),
            "noise": given["noise"],
            "draws": _under("drawn.", given),
            "state": _under("state.", given),
        }
        if self._images.weights is not None:
            inputs["weights"] = self._images.weights[given["drawn_rows"]].to(spec.dtype)
        if self._objective.needs_other_batch:
            inputs |= {"other x": images("other_"), "other noise": given["other_noise"]}
        return inputs

    @property
    def alive(self) -> Bool[Tensor, " member"]:
        return self._changing["failed_at"] < 0

    def failed_at(self, index: int) -> int | None:
        """The step, counted from 1, at which the loss of member `index` or its gradient was not finite, or the loss too
        large.
        """
        step = int(self._changing["failed_at"][index])
        return None if step < 0 else step

    def state(self, index: int) -> MemberState:
        """What member `index` would need to go on alone, on the CPU."""
        tensors = {name: tensor[index].cpu().clone() for name, tensor in self._carried().items()}
        reason = int(self._changing["reason"][index])
        return MemberState(self.step, tensors, self.failed_at(index), get_args(Reason)[reason - 1] if reason else None)

    def restore(self, states: Sequence[MemberState]) -> None:
        """Go on from these states, one a member, all of the same step. Without states, nothing changes."""
        for index, state in enumerate(states):
            self.step = state.step
            self._changing["step"].fill_(state.step)
            for name, tensor in self._carried().items():
                tensor[index] = state.tensors[name].to(tensor)
            for name, tensor in self._to_round().items():
                self._rounded[f"rounded.{name}"][index] = tensor[index].to(nets_run_in(self._spec.precision))
            self._changing["failed_at"][index] = -1 if state.failed_at is None else state.failed_at
            self._changing["reason"][index] = 0 if state.reason is None else 1 + get_args(Reason).index(state.reason)

    def _carried(self) -> dict[str, Tensor]:
        """What a member carries from step to step, by name."""
        return {name: tensor for name, tensor in self._changing.items() if name not in ("step", "failed_at", "reason")}

    def _to_round(self) -> dict[str, Tensor]:
        """The weights that nets read in a coarser type than they are kept in. Rounded copies spare every step the
        rounding of them all.
        """
        nets = ("weights.encoder.", "weights.decoder.", "critic_weights.")
        is_coarser = nets_run_in(self._spec.precision) != self._spec.dtype
        return {name: tensor for name, tensor in self._changing.items() if is_coarser and name.startswith(nets)}

    @property
    def num_bytes(self) -> int:
        """How large the states of all members are."""
        return sum(tensor.nbytes for tensor in self._carried().values())

    def model(self, index: int) -> AutoencoderModule:
        """Member `index` as a model of its own, on the fleet's device, ready for use."""
        model = copy.deepcopy(self._template)
        weights = {name: tensor[index] for name, tensor in _under("weights.", self._changing).items()}
        model.load_state_dict(model.state_dict() | weights)
        with matrix_units(self._spec.precision):
            set_population_statistics(model, self._images, self.members[index].seed)
        return model.eval()

    def _member_loss(
        self, learned: Mapping[str, Tensor], inputs: Mapping[str, Any], progress: Float[Tensor, ""]
    ) -> tuple[Float[Tensor, ""], tuple[dict[str, Float[Tensor, ""]], dict[str, Tensor]]]:
        """The loss of one member; its parts by name, and the objective's new state. Runs under `vmap`.

        The model's loss and the critic's are added up, and one gradient is taken of both: neither depends on what the
        other is minimised over.
        """
        # A number that is 0 for every member is given as such, and not as a tensor: the objective may leave out what it
        # would multiply.
        zeros = {name: 0.0 for name, numbers in self._numbers.items() if numbers.are_zero}
        objective = self._objective.bind(inputs["hyperparameters"] | zeros)
        loss = objective(self._step(_under("weights.", learned), _under("critic_weights.", learned), inputs, progress))
        total = loss.total if loss.critic is None else loss.total + loss.critic
        return total, ({"loss": loss.shown.detach(), **_detached(_parts(loss))}, _detached(loss.state))

    def _step(
        self,
        parameters: Mapping[str, Tensor],
        critic_parameters: Mapping[str, Tensor],
        inputs: Mapping[str, Any],
        progress: Float[Tensor, ""],
    ) -> Step:
        model, critic = self._model, self._critic
        latents = model.latents

        def encode(x: Tensor) -> Posterior:
            return latents.posterior(self._through(model.encoder, _under("encoder.", parameters), x), progress)

        def decode(z: Tensor) -> Tensor:
            seen = with_categories(z, latents.widths, latents.hard_latents)
            return self._through(model.decoder, _under("decoder.", parameters), seen)

        likelihood = functional_call(model.likelihood_module, _under("likelihood_module.", parameters), ())
        posterior = encode(inputs["x"])
        z = posterior.rsample(inputs["noise"])
        other = None
        if "other x" in inputs:
            other_posterior = encode(inputs["other x"])
            other = EncodedBatch(inputs["other x"], other_posterior, other_posterior.rsample(inputs["other noise"]))
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
            critic=None if critic is None else lambda z: self._through(critic, _detached(critic_parameters), z),
            critic_in_training=None
            if critic is None
            else lambda z: self._through(critic, critic_parameters, z.detach()),
            state=inputs["state"],
            groups=latents.groups,
            widths=latents.widths,
            likelihood=likelihood,
        )

    def _through(self, net: nn.Module, parameters: Mapping[str, Tensor], inputs: Tensor) -> Tensor:
        """What the net makes of its inputs, computed in the type that the spec asks for."""
        inner = nets_run_in(self._spec.precision)
        held = dict(net.named_buffers()) | dict(parameters)
        output: Tensor = functional_call(
            net, {name: _in_type(inner, tensor) for name, tensor in held.items()}, (inputs.to(inner),)
        )
        return output.to(self._spec.dtype)


def _reasons(
    loss: Float[Tensor, " member"], norms: Float[Tensor, "net member"], max_loss: float
) -> Int64[Tensor, " member"]:
    """Why each member fails at this step, as a number: 0 if it does not, else its place in `Reason`, counted from 1."""
    of_gradient = torch.where(norms.isfinite().all(dim=0), 0, 3)
    return torch.where(loss.isfinite(), torch.where(loss > max_loss, 2, of_gradient), 1)


def _parts(loss: Loss) -> dict[str, Tensor]:
    return loss.parts if loss.critic is None else loss.parts | {"critic": loss.critic}


def _detached(tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    return {name: tensor.detach() for name, tensor in tensors.items()}


def _under(prefix: str, parameters: Mapping[str, Tensor]) -> dict[str, Tensor]:
    return {name.removeprefix(prefix): parameter for name, parameter in parameters.items() if name.startswith(prefix)}


def _in_type(dtype: torch.dtype, tensor: Tensor) -> Tensor:
    return tensor.to(dtype) if tensor.is_floating_point() else tensor


def _learned(tensors: Tensors) -> dict[str, Tensor]:
    """The weights as the nets read them."""
    weights = {name: tensor for name, tensor in tensors.items() if name.startswith(("weights.", "critic_weights."))}
    return weights | _under("rounded.", tensors)


def _fresh(which: str, nets: Sequence[nn.Module | None], like: Tensor) -> dict[str, Tensor]:
    """The stacked weights of one kind of net, and the moments of their Adam. Empty, where there is no such net."""
    named = [{} if net is None else dict(net.named_parameters()) for net in nets]
    stacked = {name: torch.stack([of_net[name].detach() for of_net in named]).to(like) for name in named[0]}
    return {
        **{f"{which}weights.{name}": tensor for name, tensor in stacked.items()},
        **{
            f"{which}{moment}.{name}": torch.zeros_like(tensor)
            for moment in ("first_moment", "second_moment")
            for name, tensor in stacked.items()
        },
    }
