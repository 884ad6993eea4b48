"""State of a fleet and of its members: trees of named tensors.

A tree is flattened only for tracing a step and for checkpoints, where each tensor is named by its path.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, Literal, TypeVar, final

import torch
from jaxtyping import Int64
from torch import Tensor, nn
from torch.utils._pytree import (
    GetAttrKey,
    register_pytree_node,
    tree_flatten_with_path,
    tree_map,
    tree_structure,
    tree_unflatten,
)

from unbraid.config.digest import user_source
from unbraid.models.architecture import ImageShape
from unbraid.models.layers.initial_weights import seeded
from unbraid.training.optimizers.optimizer import Optimizer
from unbraid.training.runs.spec import RunSpec

Tree = Any
"""Tree of tensors: a registered dataclass, a dict of trees, or a tensor."""
_Class = TypeVar("_Class", bound=type)


def as_tree(cls: _Class) -> _Class:
    """Registers a dataclass as a pytree node of torch. Each field must be a tree."""
    names = [field.name for field in fields(cls)]

    def grown(branches: Iterable[Tree], _: None) -> Tree:
        # Not through __init__, which checks for tensors, because vmap creates trees of axis numbers.
        tree: Tree = object.__new__(cls)
        for name, branch in zip(names, branches, strict=True):
            object.__setattr__(tree, name, branch)
        return tree

    register_pytree_node(
        cls,
        lambda tree: ([getattr(tree, name) for name in names], None),
        grown,
        flatten_with_keys_fn=lambda tree: ([(GetAttrKey(name), getattr(tree, name)) for name in names], None),
    )
    return cls


def named_leaves(tree: Tree) -> dict[str, Tensor]:
    """Returns the tensors of a tree by path, such as "model.weights.encoder.0.bias", in the order of the tree."""
    leaves, _ = tree_flatten_with_path(tree)
    named: dict[str, Tensor] = {}
    for path, leaf in leaves:
        keys: Sequence[Any] = path
        named[".".join(str(key.name if isinstance(key, GetAttrKey) else key.key) for key in keys)] = leaf
    return named


Reason = Literal["loss not finite", "loss above max_loss", "gradient not finite"]
"""Reason for the failure of a member."""


@final
@dataclass(frozen=True)
class Member:
    """Model of a fleet, given by spec and seed."""

    spec: RunSpec
    seed: int


@as_tree
@final
@dataclass(frozen=True)
class Net:
    """Weights and optimizer state of a net by parameter name. Both are empty for a spec without this net."""

    weights: dict[str, Tensor]
    optimizer_state: dict[str, dict[str, Tensor]]


@as_tree
@final
@dataclass(frozen=True)
class TrainState:
    """Tensors that persist between steps: weights and optimizer states of the nets, and the state of the objective.

    In a fleet, each tensor has a leading axis of members.
    """

    model: Net
    critic: Net
    objective: dict[str, Tensor]

    @property
    def nets(self) -> dict[str, Net]:
        """Nets of the spec by kind, "model" and "critic"."""
        return {name: net for name, net in (("model", self.model), ("critic", self.critic)) if net.weights}


@as_tree
@final
@dataclass(frozen=True)
class FleetState:
    """State of a fleet: all tensors that a step changes in place.

    `failed_at` is -1 for a member that has not failed. `reason` is 0 for no failure, or the position in `Reason`,
    counted from 1.
    """

    tensors: TrainState
    failed_at: Int64[Tensor, " member"]
    reason: Int64[Tensor, " member"]
    step: Int64[Tensor, ""]


@final
@dataclass(frozen=True)
class MemberState:
    """State of one member, for checkpoints.

    `step` is the number of steps taken. `failed_at` is the step, counted from 1, at which the loss or its gradient was
    not finite, or the loss exceeded `max_loss`.
    """

    step: int
    tensors: TrainState
    failed_at: int | None
    reason: Reason | None = None


def fleet_key(spec: RunSpec) -> str:
    """Returns a key that is equal for specs that can be trained in the same fleet.

    Such specs differ only in hyperparameters of the objective and in the learning rate.
    """
    content = spec.to_json()
    objective = spec.objective.trained_form()
    content["objective"] = [
        type(objective),
        {k: v for k, v in vars(objective).items() if k not in objective.hyperparameters},
    ]
    del content["optimizer"]["learning_rate"]
    return repr((content, user_source(spec).identity))


def fresh_state(members: Sequence[Member], image_shape: ImageShape, like: Tensor) -> FleetState:
    """Creates the state of a fleet before its first step, with the dtype and device of `like`."""
    count, spec = len(members), members[0].spec
    with torch.device("cpu"):
        initial = spec.objective.trained_form().initial_state(spec.model.latents)
    models = [member.spec.model.build(image_shape, member.seed) for member in members]
    critics = [seeded(member.spec.make_critic, member.seed, "critic") for member in members]
    train_state = TrainState(
        model=_stacked("model", models, spec, like),
        critic=_stacked("critic", critics, spec, like),
        objective={name: value.to(like).expand(count, *value.shape).clone() for name, value in initial.items()},
    )
    return FleetState(
        train_state,
        failed_at=torch.full((count,), -1, device=like.device),
        reason=torch.zeros(count, dtype=torch.int64, device=like.device),
        step=torch.zeros((), dtype=torch.int64, device=like.device),
    )


def of_member(train_state: TrainState, index: int) -> TrainState:
    """Returns the tensors of one member of a fleet."""
    return tree_map(lambda tensor: tensor[index], train_state)


def layout(spec: RunSpec) -> TrainState:
    """Returns the tree of names, dtypes and shapes of a member's tensors, as tensors on the meta device."""
    like = torch.empty(0, dtype=spec.dtype, device="meta")
    return of_member(fresh_state([Member(spec, 0)], spec.dataset.image_shape, like).tensors, 0)


def from_named(tensors: Mapping[str, Tensor], expected: TrainState) -> TrainState:
    """Builds a tree with the expected layout from named tensors. Raises a ValueError for other names or shapes."""
    names = named_leaves(expected)
    for name, like in names.items():
        if name not in tensors:
            raise ValueError(f"{name} is missing; expected {tensor_text(like)}")
        if tensor_text(tensors[name]) != tensor_text(like):
            raise ValueError(f"{name} is {tensor_text(tensors[name])}; expected {tensor_text(like)}")
    for name in tensors:
        if name not in names:
            raise ValueError(f"{name}, {tensor_text(tensors[name])}, is not expected in this run")
    return tree_unflatten([tensors[name] for name in names], tree_structure(expected))


def tensor_text(tensor: Tensor) -> str:
    """Formats the dtype and shape of a tensor, such as "float32 of (128, 10)"."""
    return f"{str(tensor.dtype).removeprefix('torch.')} of {tuple(tensor.shape)}"


def learns_with(spec: RunSpec, which: str, name: str) -> str:
    """Returns the optimizer of a weight tensor: "model" or "critic".

    The optimizer of the critic updates the encoder layers that are shared with the critic.
    """
    return "critic" if name.startswith("encoder.") and spec.objective.critic_reads == "features" else which


def optimizers(spec: RunSpec) -> dict[str, Optimizer]:
    """Returns the optimizers of a spec by kind of net, "model" and "critic"."""
    return {"model": spec.optimizer, "critic": spec.critic_or_default.optimizer}


def _stacked(which: str, nets: Sequence[nn.Module | None], spec: RunSpec, like: Tensor) -> Net:
    """Stacks the weights of one kind of net over members, and creates the initial optimizer states."""
    named = [{} if net is None else dict(net.named_parameters()) for net in nets]
    weights = {name: torch.stack([of_net[name].detach() for of_net in named]).to(like) for name in named[0]}
    optimizer_state: dict[str, dict[str, Tensor]] = {}
    for name, tensor in weights.items():
        for kind, first in optimizers(spec)[learns_with(spec, which, name)].state.items():
            optimizer_state.setdefault(kind, {})[name] = torch.full_like(tensor, first)
    return Net(weights, optimizer_state)
