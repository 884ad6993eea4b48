"""A decoder's layers as JSON that decoder.js reads, their tensors packed."""

from typing import Any, Literal

from unbraid.show.explorer.decoder_graph import DecoderGraph
from unbraid.show.explorer.packing import Packer

# Weights of matrices are rounded; all else is small, and stays single.
_KINDS: dict[str, Literal["float32", "int32"]] = {"source": "int32"}


def serialized(graph: DecoderGraph, precision: Literal["half", "int8"], packer: Packer) -> dict[str, Any]:
    """Returns the layers as JSON, and adds their tensors to the packer."""
    layers = []
    for number, layer in enumerate(graph.layers):
        names = {
            name: packer.add(f"{number}.{name}", tensor, precision if name == "matrix" else _KINDS.get(name, "float32"))
            for name, tensor in layer.tensors.items()
        }
        matrix = layer.tensors.get("matrix")
        shape = {} if matrix is None else {"rows": matrix.shape[0], "inner": matrix.shape[1]}
        layers.append({"kind": layer.kind, **shape, **layer.settings, **names})
    return {"inputs": graph.num_inputs, "layers": layers}
