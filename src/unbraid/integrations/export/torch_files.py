"""Encoder and decoder of a model as torch.export writes them. They are written, and never read here."""

import hashlib
import io
from pathlib import Path

import torch

from unbraid._internal import files
from unbraid.integrations.export.graphs import graphs_of
from unbraid.integrations.export.onnx_files import ExportedFile, targets
from unbraid.models.autoencoder import AutoencoderModule


def export_torch(model: AutoencoderModule, folder: Path | str, *, force: bool = False) -> tuple[ExportedFile, ...]:
    """Writes `encoder.pt2` and `decoder.pt2`, the graphs that `export_onnx` writes, and returns what was written.

    `torch.export.load` reads them, and unpickles what it reads: it can run code that a file holds. So unbraid has no
    reader for them; read those alone that you wrote or trust.
    """
    graphs = graphs_of(model)
    paths = targets(folder, [f"{graph.name}.pt2" for graph in graphs], force=force)
    contents = []
    for graph in graphs:
        stream = io.BytesIO()
        torch.export.save(graph.traced(), stream)
        contents.append(stream.getvalue())
    for path, content in zip(paths, contents, strict=True):
        files.write_bytes(path, content)
    return tuple(
        ExportedFile(path, hashlib.sha256(content).hexdigest()) for path, content in zip(paths, contents, strict=True)
    )
