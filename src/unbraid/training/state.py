"""The state of the members of a fleet: a tree of named tensors.

The tree is flattened only for tracing a step and for checkpoints, where each tensor is named by its path.
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
"""A registered dataclass, a dict of trees, or a tensor."""
_Class = TypeVar("_Class", bound=type)


def as_tree(cls: _Class) -> _Class:
    """Registers a dataclass as a pytree node of torch. Each field must be a tree."""
    names = [field.name for field in fields(cls)]

    def grown(branches: Iterable[Tree], _: None) -> Tree:
        # Not through __init__, whose annotations speak of tensors: vmap makes trees of the numbers of axes.
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
    """Returns every tensor of a tree by its path, such as "model.weights.encoder.0.bias", in the order of the tree."""
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
    """One model of a fleet: its spec and its seed."""

    spec: RunSpec
    seed: int


@as_tree
@final
@dataclass(frozen=True)
class Net:
    """Weights of a net by name, and their optimizer state. Both are empty if the spec does not have this net."""

    weights: dict[str, Tensor]
    optimizer_state: dict[str, dict[str, Tensor]]


@as_tree
@final
@dataclass(frozen=True)
class Carried:
    """Tensors that persist between the steps of a member: two nets, and the state of the objective.

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
    """All tensors that a step changes in place.

    `failed_at` is -1 for a member that has not failed. `reason` is 0 for no failure, or the position in `Reason`,
    counted from 1.
    """

    carried: Carried
    failed_at: Int64[Tensor, " member"]
    reason: Int64[Tensor, " member"]
    step: Int64[Tensor, ""]


@final
@dataclass(frozen=True)
class MemberState:
    """The state of one member, for checkpoints.

    `step` is the number of steps taken. `failed_at` is the step, counted from 1, at which the loss or its gradient was
    not finite, or the loss exceeded `max_loss`.
    """

    step: int
    carried: Carried
    failed_at: int | None
    reason: Reason | None = None


def fleet_key(spec: RunSpec) -> str:
    """Returns a key that is equal for the specs of members that can share a fleet.

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
    """Returns the state of a fleet before its first step, in the type and on the device of `like`."""
    count, spec = len(members), members[0].spec
    with torch.device("cpu"):
        initial = spec.objective.trained_form().initial_state(spec.model.latents)
    models = [member.spec.model.build(image_shape, member.seed) for member in members]
    critics = [seeded(member.spec.make_critic, member.seed, "critic") for member in members]
    carried = Carried(
        model=_stacked("model", models, spec, like),
        critic=_stacked("critic", critics, spec, like),
        objective={name: value.to(like).expand(count, *value.shape).clone() for name, value in initial.items()},
    )
    return FleetState(
        carried,
        failed_at=torch.full((count,), -1, device=like.device),
        reason=torch.zeros(count, dtype=torch.int64, device=like.device),
        step=torch.zeros((), dtype=torch.int64, device=like.device),
    )


def of_member(carried: Carried, index: int) -> Carried:
    """Returns the tensors of one member of a fleet."""
    return tree_map(lambda tensor: tensor[index], carried)


def layout(spec: RunSpec) -> Carried:
    """Returns the state of a member of this spec, as tensors on the meta device."""
    like = torch.empty(0, dtype=spec.dtype, device="meta")
    return of_member(fresh_state([Member(spec, 0)], spec.dataset.image_shape, like).carried, 0)


def from_named(tensors: Mapping[str, Tensor], expected: Carried) -> Carried:
    """Returns the tree of the expected layout with these tensors. Raises a ValueError if names or shapes differ."""
    names = named_leaves(expected)
    for name, like in names.items():
        if name not in tensors:
            raise ValueError(f"{name} is missing; expected {tensor_text(like)}")
        if tensor_text(tensors[name]) != tensor_text(like):
            raise ValueError(f"{name} is {tensor_text(tensors[name])}; expected {tensor_text(like)}")
    for name in tensors:
        if name not in names:
            raise ValueError(f"it holds {name}, {tensor_text(tensors[name])}, which such a run does not have")
    return tree_unflatten([tensors[name] for name in names], tree_structure(expected))


def tensor_text(tensor: Tensor) -> str:
    """Returns the type and shape of a tensor as text, such as "float32 of (128, 10)"."""
    return f"{str(tensor.dtype).removeprefix('torch.')} of {tuple(tensor.shape)}"


def learns_with(spec: RunSpec, which: str, name: str) -> str:
    """Returns the name of the optimizer for these weights of a net: "model" or "critic".

    The critic's optimizer updates an encoder that shares its trunk with the critic.
    """
    return "critic" if name.startswith("encoder.") and spec.objective.critic_reads == "features" else which


def optimizers(spec: RunSpec) -> dict[str, Optimizer]:
    """Returns the optimizers of the model and of the critic."""
    return {"model": spec.optimizer, "critic": spec.critic_or_default.optimizer}


def _stacked(which: str, nets: Sequence[nn.Module | None], spec: RunSpec, like: Tensor) -> Net:
    """Returns the stacked weights of one kind of net, and the initial state of their optimizers."""
    named = [{} if net is None else dict(net.named_parameters()) for net in nets]
    weights = {name: torch.stack([of_net[name].detach() for of_net in named]).to(like) for name in named[0]}
    optimizer_state: dict[str, dict[str, Tensor]] = {}
    for name, tensor in weights.items():
        for kind, first in optimizers(spec)[learns_with(spec, which, name)].state.items():
            optimizer_state.setdefault(kind, {})[name] = torch.full_like(tensor, first)
    return Net(weights, optimizer_state)
