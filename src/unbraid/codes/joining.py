"""Codes of the same latents and factors, put below each other."""

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from unbraid.codes.labels import Labels
from unbraid.errors import CodesError

JOINED = ("mean", "std", "covariance", "samples", "probabilities", "factors")
"""The fields of codes that are put below each other as they are."""


def joined_tables(ours: Mapping[str, Any], theirs: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the `JOINED` fields of both. Raises if the codes have other latents or factors."""
    check_alike(described(**ours), described(**theirs))

    def both(name: str, axis: int = 0) -> Tensor | None:
        return None if ours[name] is None else torch.cat([ours[name], theirs[name]], dim=axis)

    return {
        "mean": both("mean"),
        "std": both("std"),
        "covariance": both("covariance"),
        "samples": both("samples", 1),
        "probabilities": tuple(map(torch.vstack, zip(ours["probabilities"], theirs["probabilities"], strict=True))),
        "factors": tuple(map(joined_labels, ours["factors"], theirs["factors"])),
    }


def check_alike(ours: dict[str, Any], theirs: dict[str, Any]) -> None:
    """Raises if the codes have other latents or factors. Each is described by name."""
    for name, value in ours.items():
        if theirs[name] != value:
            raise CodesError(
                f"The codes differ in their {name}: {_shown(value)} and {_shown(theirs[name])}. Codes that belong "
                "together come from one encoder, and have the same factors in the same form."
            )


def described(
    mean: Tensor,
    std: Tensor | None,
    covariance: Tensor | None,
    samples: Tensor | None,
    probabilities: Sequence[Tensor],
    factors: Sequence[Labels],
) -> dict[str, Any]:
    """Returns what codes must share to be joined, by name."""
    return {
        "number of continuous latents": mean.shape[1],
        "categories of discrete latents": tuple(table.shape[1] for table in probabilities),
        "std": std is not None,
        "covariance": covariance is not None,
        "draws of each image": 0 if samples is None else len(samples),
        "factors": tuple(labels.name for labels in factors),
        "continuous factors": tuple(labels.name for labels in factors if labels.is_continuous),
        "values of soft labels": tuple(labels.values.shape[1] for labels in factors if labels.is_soft),
    }


def joined_labels(first: Labels, second: Labels) -> Labels:
    """Returns the labels of both. Their values count as the same numbers."""
    known = None if first.known is second.known is None else torch.cat([first.is_known, second.is_known])
    return Labels(first.name, torch.cat([first.values, second.values]), known, first.ordered and second.ordered)


def joined_weights(
    first: Tensor | None, num_first: int, second: Tensor | None, num_second: int, like: Tensor
) -> Tensor | None:
    """Returns the weights of both, each scaled so that they sum to the number of their images."""
    if first is None and second is None:
        return None

    def scaled(weights: Tensor | None, number: int) -> Tensor:
        if weights is None:
            return torch.ones(number, dtype=like.dtype, device=like.device)
        return (weights.double() / weights.double().sum() * number).to(like.dtype)

    return torch.cat([scaled(first, num_first), scaled(second, num_second)])


def _shown(value: Any) -> str:
    if isinstance(value, tuple):
        return ", ".join(map(str, value)) or "none"
    return {True: "given", False: "not given"}.get(value, str(value)) if isinstance(value, bool) else str(value)
