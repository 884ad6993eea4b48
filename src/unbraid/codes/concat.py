"""Concatenation of the codes of several sets of images."""

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from unbraid.codes.labels import Labels
from unbraid.errors import CodesError

if TYPE_CHECKING:
    from unbraid.codes.codes import Codes


def concat_codes(parts: "Sequence[Codes]") -> "Codes":
    """Concatenates codes. Raises if the parts differ in their latents, factors, groups or prior."""
    if not parts:
        raise CodesError("parts is empty; expected at least one Codes. Pass e.g. [codes].")
    if wrong := [part for part in parts if type(part) is not type(parts[0])]:
        raise CodesError(f"A part is a {type(wrong[0]).__name__}; expected unbraid.Codes. Pass only Codes.")
    for part in parts:
        theirs = _common(part)
        for name, value in _common(parts[0]).items():
            if theirs[name] != value:
                shown = "" if name == "prior" else f": {value} and {theirs[name]}"
                raise CodesError(
                    f"The codes differ in their {name}{shown}; expected equal latents, groups, prior and types of "
                    "factors. Concatenate codes of one encoder, with the same factors."
                )

    def cat(name: str, axis: int = 0) -> Tensor | None:
        tables = [getattr(part, name) for part in parts]
        return None if tables[0] is None else torch.cat(tables, dim=axis)

    return replace(
        parts[0],
        mean=torch.cat([part.mean for part in parts]),
        std=cat("std"),
        covariance=cat("covariance"),
        samples=cat("samples", 1),
        probabilities=tuple(map(torch.cat, zip(*(part.probabilities for part in parts), strict=True))),
        factors=tuple(map(_concat_labels, zip(*(part.factors for part in parts), strict=True))),
        weights=None if all(part.weights is None for part in parts) else torch.cat([_scaled(part) for part in parts]),
    )


def _common(codes: "Codes") -> dict[str, Any]:
    """Returns the properties that must be equal in concatenated codes, by name."""
    return {
        "number of continuous latents": codes.mean.shape[1],
        "categories of discrete latents": [table.shape[1] for table in codes.probabilities],
        "tensors": [name for name in ("std", "covariance", "samples") if getattr(codes, name) is not None],
        "draws of each image": 0 if codes.samples is None else len(codes.samples),
        "factors": list(codes.factor_names),
        "continuous factors": [labels.name for labels in codes.factors if labels.is_continuous],
        "values of soft labels": [labels.values.shape[1] for labels in codes.factors if labels.is_soft],
        "groups of latents": codes.groups,
        "prior": codes.prior,
    }


def _concat_labels(parts: Sequence[Labels]) -> Labels:
    """Concatenates the labels of a factor."""
    all_known = all(part.known is None for part in parts)
    return Labels(
        parts[0].name,
        torch.cat([part.values for part in parts]),
        None if all_known else torch.cat([part.is_known for part in parts]),
        all(part.ordered for part in parts),
    )


def _scaled(codes: "Codes") -> Tensor:
    """Scales the weights to sum to the number of images."""
    if codes.weights is None:
        return codes.mean.new_ones(len(codes))
    return (codes.weights.double() / codes.weights.double().sum() * len(codes)).to(codes.mean)
