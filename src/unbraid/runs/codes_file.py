"""Codes as a safetensors file."""

import hashlib
import json
from pathlib import Path

import torch
from safetensors import safe_open
from torch import Tensor

from unbraid import files
from unbraid.codes import Codes, Labels, LatentPrior
from unbraid.runs.tensor_file import write_tensors
from unbraid.version import __version__

PRIOR = "prior_"


def write_codes(path: Path, codes: Codes) -> "hashlib._Hash":
    """Keep everything; value indices from 0 to 255 take a byte each. Returns the SHA-256 of what was written."""
    tensors = {name: getattr(codes, name) for name in ("mean", "std", "covariance", "samples", "weights")}
    tensors |= {f"probabilities_{index}": table for index, table in enumerate(codes.probabilities)}
    for index, labels in enumerate(codes.factors):
        tensors |= {f"factor_{index}": _small(labels.values), f"known_{index}": labels.known}
    if codes.prior is not None:
        tensors |= {f"{PRIOR}{name}": tensor for name, tensor in codes.prior.tensors().items()}
    metadata = {
        "factors": json.dumps([{"name": labels.name, "ordered": labels.ordered} for labels in codes.factors]),
        "groups": json.dumps(codes.groups),
        "unbraid": __version__,
    }
    return write_tensors(path, {name: tensor for name, tensor in tensors.items() if tensor is not None}, metadata)


def read_codes(path: Path) -> Codes:
    """What `write_codes` wrote."""
    with safe_open(files.regular(path), framework="pt") as stream:
        tensors = {name: stream.get_tensor(name) for name in stream.keys()}  # noqa: SIM118 (not a dict)
        metadata = stream.metadata()
    prior = {name.removeprefix(PRIOR): tensor for name, tensor in tensors.items() if name.startswith(PRIOR)}
    num_tables = sum(name.startswith("probabilities_") for name in tensors)
    return Codes(
        mean=tensors["mean"],
        std=tensors.get("std"),
        covariance=tensors.get("covariance"),
        samples=tensors.get("samples"),
        weights=tensors.get("weights"),
        prior=LatentPrior.from_arrays(prior) if prior else None,
        probabilities=tuple(tensors[f"probabilities_{index}"] for index in range(num_tables)),
        groups=tuple(map(tuple, json.loads(metadata["groups"]))),
        factors=tuple(
            Labels(entry["name"], _wide(tensors[f"factor_{index}"]), tensors.get(f"known_{index}"), entry["ordered"])
            for index, entry in enumerate(json.loads(metadata["factors"]))
        ),
    )


def _small(values: Tensor) -> Tensor:
    if values.is_floating_point():
        return values
    return values.to(torch.uint8 if 0 <= int(values.min()) <= int(values.max()) < 256 else torch.int64)


def _wide(values: Tensor) -> Tensor:
    return values if values.is_floating_point() else values.to(torch.int64)
