"""Encoder and decoder of a model as ONNX files, each compared with torch before it is written."""

import contextlib
import hashlib
import logging
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, final

import torch

from unbraid._internal import files
from unbraid._internal.version import __version__
from unbraid.config import text_of
from unbraid.errors import RunError, SpecError
from unbraid.integrations.export.graphs import Graph, graphs_of
from unbraid.models.autoencoder import AutoencoderModule

TOLERANCE = 1e-5
"""The largest difference between ONNX and torch, relative to the largest output."""
_OPSET = 18
_MAX_BYTES = 2**31 - 1  # of one file
_DRAWING = ("Random", "Multinomial", "Bernoulli")  # how the names of operators that draw begin


@final
@dataclass(frozen=True)
class ExportedFile:
    """Says what was written: where, its SHA-256, the version of ONNX's operators, and by how much its outputs differ
    from torch's, relative to the largest. A file that ONNX does not read has neither of the last two.
    """

    path: Path
    sha256: str
    opset: int | None = None
    largest_difference: float | None = None


def export_onnx(
    model: AutoencoderModule, folder: Path | str, *, force: bool = False, facts: Mapping[str, str] | None = None
) -> tuple[ExportedFile, ...]:
    """Writes `encoder.onnx` (images to mean and std) and `decoder.onnx` (a code to the image that it stands for) and
    returns what was written. Neither draws random numbers, and either takes batches of any size.

    Each is run by onnxruntime and compared with torch first; if one differs by more than 1e-5 of the largest output,
    neither is written. Files that exist are replaced only with `force`. `facts` are kept in the files, by name.
    """
    _check_installed()
    encoder, decoder = graphs = graphs_of(model)
    paths = targets(folder, [f"{graph.name}.onnx" for graph in graphs], force=force)
    configs = {"latents": text_of(model.latents), "likelihood": text_of(decoder.model.likelihood)}
    known = {"version": __version__, **configs, "gaussian": str(encoder.is_gaussian)}
    made = [_made(graph, known | dict(facts or {})) for graph in graphs]
    for path, (content, _) in zip(paths, made, strict=True):
        files.write_bytes(path, content)
    return tuple(
        ExportedFile(path, hashlib.sha256(content).hexdigest(), _OPSET, difference)
        for path, (content, difference) in zip(paths, made, strict=True)
    )


def targets(folder: Path | str, names: list[str], *, force: bool) -> list[Path]:
    """Returns the paths to write to, if they may be written."""
    paths = [files.folder_path(folder) / name for name in names]
    for path in paths:
        files.check_writable(path)
        if path.exists() and not force:
            raise RunError(f"{path} exists. Name another folder, or replace it with force=True (--force).")
    return paths


def session(model: bytes | str, name: str) -> Any:
    """Returns the model as onnxruntime runs it, on the CPU. `name` is what an error calls it."""
    _check_installed()
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3  # errors, which are raised as well
    try:
        return onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    # onnxruntime raises its own classes, below RuntimeError or Exception depending on its version.
    except Exception as error:  # noqa: BLE001
        raise RunError(f"{name} is no ONNX model that onnxruntime can run: {error}") from None


def _check_installed() -> None:
    try:
        import onnx  # noqa: F401
        import onnxruntime  # noqa: F401
        import onnxscript  # noqa: F401
    except ImportError as error:
        raise SpecError(
            f"ONNX needs packages that are not installed ({error}). Install them: pip install 'unbraid[onnx]'."
        ) from None


def _made(graph: Graph, facts: Mapping[str, str]) -> tuple[bytes, float]:
    """Returns the file of a graph, and by how much it differs from torch."""
    program = graph.traced()
    with _quiet():
        exported = torch.onnx.export(
            program,
            dynamo=True,
            external_data=False,
            input_names=[graph.input_name],
            output_names=list(graph.output_names),
            opset_version=_OPSET,
            verbose=False,
        )
    assert exported is not None
    content = _content(exported.model_proto, graph.name, facts)
    return content, _largest_difference(content, graph)


def _content(model: Any, name: str, facts: Mapping[str, str]) -> bytes:
    """Returns the bytes of the file, without the paths of source files that torch notes in it."""
    for part in (*model.graph.node, *model.graph.value_info, *model.graph.input, *model.graph.output, model.graph):
        part.ClearField("doc_string")
        part.ClearField("metadata_props")
    _name_batch(model.graph)
    drawing = sorted({node.op_type for node in model.graph.node if node.op_type.startswith(_DRAWING)})
    if drawing:
        raise RunError(
            f"The {name} draws random numbers ({', '.join(drawing)}), so no two answers would be alike. Leave such "
            "layers out of your net."
        )
    model.producer_name, model.producer_version, model.graph.name = "unbraid", __version__, name
    del model.metadata_props[:]
    for key, value in facts.items():
        model.metadata_props.add(key=f"unbraid.{key}", value=value)
    if (size := model.ByteSize()) > _MAX_BYTES:
        raise RunError(f"The {name} takes {size:,} bytes, and one ONNX file holds {_MAX_BYTES:,} at most.")
    content: bytes = model.SerializeToString(deterministic=True)
    return content


def _name_batch(graph: Any) -> None:
    """Calls the size of a batch "batch" wherever it occurs; torch numbers the sizes that it does not know."""
    batch = graph.input[0].type.tensor_type.shape.dim[0].dim_param
    for value in (*graph.input, *graph.output, *graph.value_info):
        for size in value.type.tensor_type.shape.dim:
            if batch and batch in size.dim_param:
                size.dim_param = size.dim_param.replace(batch, "batch")


def _largest_difference(content: bytes, graph: Graph) -> float:
    """Returns by how much onnxruntime's outputs differ from torch's, relative to the largest. Raises if that is more
    than the tolerance.
    """
    runtime, largest = session(content, f"The {graph.name}"), 0.0
    for inputs, expected in graph.comparisons():
        found = runtime.run(list(graph.output_names), {graph.input_name: inputs.numpy()})
        for name, ours, theirs in zip(graph.output_names, expected, found, strict=True):
            scale = float(ours.abs().max()) or 1.0
            difference = float((ours - torch.from_numpy(theirs)).abs().max()) / scale
            if not difference <= TOLERANCE:
                raise RunError(
                    f"The {name} that onnxruntime gives for {len(inputs)} inputs differs from torch's by "
                    f"{difference:.1g} of the largest; expected at most {TOLERANCE:g}. Nothing was written. If the "
                    "weights are finite, this is a bug in the export of one of its layers."
                )
            largest = max(largest, difference)
    return largest


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Silences torch's warnings about optional exporters and about deprecated calls inside of it."""
    log = logging.getLogger("torch.onnx")
    level = log.level
    log.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        log.setLevel(level)
