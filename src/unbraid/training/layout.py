"""The tensors that a member of a fleet carries from step to step: their names and shapes, from its spec alone."""

from collections.abc import Mapping

import torch
from torch import Tensor, nn

from unbraid.models.seeded import seeded
from unbraid.runs.spec import RunSpec

_KINDS = ("weights", "first_moment", "second_moment")


def member_layout(spec: RunSpec) -> dict[str, Tensor]:
    """What `MemberState.tensors` of such a member looks like: tensors of its names, shapes and types that hold
    nothing.
    """
    model = spec.model.build(spec.dataset.image_shape, seed=0)
    critic = seeded(spec.make_critic, 0, "critic")
    with torch.device("cpu"):
        state = spec.objective.general().initial_state(spec.model.latents)
    found = {
        **_of_a_net("", model),
        **({} if critic is None else _of_a_net("critic_", critic)),
        **{f"state.{name}": tensor for name, tensor in state.items()},
    }
    return {name: torch.empty(tensor.shape, dtype=spec.dtype, device="meta") for name, tensor in found.items()}


def check_layout(tensors: Mapping[str, Tensor], layout: Mapping[str, Tensor]) -> None:
    """Refuse tensors that are not those of the layout, with a ValueError that names the first that differs."""
    for name in layout:
        if name not in tensors:
            raise ValueError(f"{name} is missing; expected {in_words(layout[name])}")
        if in_words(tensors[name]) != in_words(layout[name]):
            raise ValueError(f"{name} is {in_words(tensors[name])}; expected {in_words(layout[name])}")
    for name in tensors:
        if name not in layout:
            raise ValueError(f"it holds {name}, {in_words(tensors[name])}, which such a run does not have")


def in_words(tensor: Tensor) -> str:
    """Its type and shape, such as "float32 of (128, 10)"."""
    return f"{str(tensor.dtype).removeprefix('torch.')} of {tuple(tensor.shape)}"


def _of_a_net(prefix: str, net: nn.Module) -> dict[str, Tensor]:
    return {f"{prefix}{kind}.{name}": parameter for kind in _KINDS for name, parameter in net.named_parameters()}
