"""Codes as a safetensors file."""

import json
from pathlib import Path

import torch
from safetensors import safe_open
from safetensors.torch import save

from unbraid import files
from unbraid.codes import Codes, Labels


def write_codes(path: Path, codes: Codes) -> None:
    """Keep means, stds, weights and factors; value indices below 256 take a byte each."""
    tensors = {"mean": codes.mean, "std": codes.std, "weights": codes.weights}
    for index, labels in enumerate(codes.factors):
        is_small = not labels.values.is_floating_point() and int(labels.values.max()) < 256
        tensors[f"factor_{index}"] = labels.values.to(torch.uint8) if is_small else labels.values
    names = json.dumps([{"name": labels.name, "ordered": labels.ordered} for labels in codes.factors])
    present = {name: tensor.cpu().contiguous() for name, tensor in tensors.items() if tensor is not None}
    files.write_bytes(path, save(present, metadata={"factors": names}))


def read_codes(path: Path) -> Codes:
    """What `write_codes` wrote."""
    with safe_open(path, framework="pt") as stream:
        tensors = {name: stream.get_tensor(name) for name in stream.keys()}  # noqa: SIM118 (not a dict)
        table = json.loads(stream.metadata()["factors"])
    columns = [tensors[f"factor_{index}"] for index in range(len(table))]
    return Codes(
        mean=tensors["mean"],
        std=tensors.get("std"),
        weights=tensors.get("weights"),
        factors=tuple(
            Labels(entry["name"], column if column.is_floating_point() else column.to(torch.int64), ordered=entry["ordered"])
            for entry, column in zip(table, columns, strict=True)
        ),
    )
