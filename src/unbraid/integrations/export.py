"""Export of encoder and decoder as ONNX files (checked against torch), or as torch.export files."""

import contextlib
import copy
import hashlib
import importlib
import io
import logging
import warnings
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, final

import torch
from torch import Tensor, nn

from unbraid._internal import draws, files
from unbraid._internal.version import __version__
from unbraid.config import text_of
from unbraid.errors import RunError, SpecError
from unbraid.models.autoencoder import AutoencoderModule
from unbraid.models.distributions.distribution import Posterior

TOLERANCE = 1e-5
"""The largest difference between ONNX and torch, relative to the largest output."""
_OPSET = 18
_TRACED = 2  # the size of the traced batch
_COMPARED = (1, 5)  # the sizes of compared batches
_RANDOM = ("Random", "Multinomial", "Bernoulli")  # prefixes of random operators


class Graph(nn.Module, ABC):
    """Base class of exported modules: a deterministic part of a model with one named input and named outputs."""

    name: str
    """The name of the file without its suffix."""
    input_name: str
    output_names: tuple[str, ...]

    def __init__(self, model: AutoencoderModule) -> None:
        super().__init__()
        self.model = model

    @abstractmethod
    def inputs(self, batch_size: int) -> Tensor:
        """Returns fixed inputs for comparisons: noise images, or codes from a normal distribution."""

    @torch.no_grad()
    def outputs(self, inputs: Tensor) -> list[Tensor]:
        """Returns the outputs of torch for these inputs, in the order of the names."""
        found = self(inputs)
        return list(found) if isinstance(found, tuple) else [found]


@final
class EncoderGraph(Graph):
    """The encoder as an exported module. Its input is images, and its outputs are parameters of q(z | x).

    The outputs are the mean and the std of continuous latents, the covariance of correlated latents, and the
    probabilities of discrete latents. `OnnxEncoder` recognizes the names of these outputs.
    """

    name, input_name = "encoder", "images"

    def __init__(self, model: AutoencoderModule) -> None:
        super().__init__(model)
        posterior = self._posterior(self.inputs(_TRACED))
        self.output_names = tuple(self._named(posterior))
        self.is_gaussian = posterior.gaussian_std is not None

    def inputs(self, batch_size: int) -> Tensor:
        return draws.uniform(torch.arange(batch_size), "exported images", 0, self.model.image_shape).float()

    def forward(self, images: Tensor) -> tuple[Tensor, ...]:
        return tuple(self._named(self._posterior(images)).values())

    def _posterior(self, images: Tensor) -> Posterior:
        return self.model.latents.posterior(self.model.encoder(images), torch.ones(()))

    def _named(self, posterior: Posterior) -> dict[str, Tensor]:
        found: dict[str, Tensor | None] = {
            "mean": posterior.mean,
            "std": posterior.std,
            "covariance": posterior.covariance,
            **{f"probabilities_{number}": table for number, table in enumerate(posterior.probabilities)},
        }
        # Without continuous latents, mean and std have no columns.
        return {name: tensor for name, tensor in found.items() if tensor is not None and tensor.shape[1] > 0}


@final
class DecoderMeanGraph(Graph):
    """The decoder as an exported module. Its input is codes, and its output is the mean of p(x | z)."""

    name, input_name, output_names = "decoder", "code", ("image",)

    def inputs(self, batch_size: int) -> Tensor:
        shape = (self.model.latents.num_columns,)
        return draws.normal(torch.arange(batch_size), "exported codes", 0, shape).float()

    def forward(self, code: Tensor) -> Tensor:
        return self.model.likelihood.mean(self.model.decoder(self.model.decoder_input(code)))


@torch.no_grad()
def graphs_of(model: AutoencoderModule) -> tuple[EncoderGraph, DecoderMeanGraph]:
    """Returns the exported modules of encoder and decoder, from a copy of the model on the CPU in float32."""
    plain = copy.deepcopy(model).to("cpu", torch.float32).requires_grad_(requires_grad=False).eval()
    return EncoderGraph(plain).eval(), DecoderMeanGraph(plain).eval()


@final
@dataclass(frozen=True)
class ExportedFile:
    """Path and SHA-256 of an exported file. ONNX files also have the operator set and the difference from torch.

    `largest_difference` is relative to the largest output.
    """

    path: Path
    sha256: str
    opset: int | None = None
    largest_difference: float | None = None


def export_onnx(
    model: AutoencoderModule, folder: Path | str, *, force: bool = False, facts: Mapping[str, str] | None = None
) -> tuple[ExportedFile, ...]:
    """Writes `encoder.onnx` (images to mean and std) and `decoder.onnx` (codes to images).

    Both graphs are deterministic and accept batches of any size. Nothing is written if an output of onnxruntime differs
    from the output of torch by more than 1e-5 of the largest value.

    Args:
        model: The model.
        folder: The folder for the files.
        force: Whether to overwrite existing files.
        facts: Additional metadata for the files.
    """
    _check_installed()
    encoder, decoder = graphs = graphs_of(model)
    paths = _paths(folder, [f"{graph.name}.onnx" for graph in graphs], force=force)
    configs = {"latents": text_of(model.latents), "likelihood": text_of(decoder.model.likelihood)}
    known = {"version": __version__, **configs, "gaussian": str(encoder.is_gaussian)}
    made = [_made(graph, known | dict(facts or {})) for graph in graphs]
    return tuple(
        _written(path, content, _OPSET, difference) for path, (content, difference) in zip(paths, made, strict=True)
    )


def export_torch(model: AutoencoderModule, folder: Path | str, *, force: bool = False) -> tuple[ExportedFile, ...]:
    """Writes the modules of `export_onnx` as torch.export files: `encoder.pt2` and `decoder.pt2`.

    `torch.export.load` unpickles these files and can therefore execute code. unbraid does not read such files. Load
    only files that you trust.
    """
    graphs = graphs_of(model)
    paths = _paths(folder, [f"{graph.name}.pt2" for graph in graphs], force=force)
    contents = []
    for graph in graphs:
        stream = io.BytesIO()
        torch.export.save(_traced(graph), stream)
        contents.append(stream.getvalue())
    return tuple(_written(path, content) for path, content in zip(paths, contents, strict=True))


def _paths(folder: Path | str, names: list[str], *, force: bool) -> list[Path]:
    """Returns the paths of the files. Raises RunError if a file cannot be written, or exists and `force` is False."""
    paths = [files.folder_path(folder) / name for name in names]
    for path in paths:
        files.check_writable(path)
        if path.exists() and not force:
            raise RunError(f"{path} exists. Name another folder, or overwrite the file with force=True (--force).")
    return paths


def _written(
    path: Path, content: bytes, opset: int | None = None, largest_difference: float | None = None
) -> ExportedFile:
    files.write_bytes(path, content)
    return ExportedFile(path, hashlib.sha256(content).hexdigest(), opset, largest_difference)


def session(model: bytes | str, name: str) -> Any:
    """Returns an onnxruntime session on the CPU for a model (content or path). `name` is printed in errors."""
    _check_installed()
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3  # errors, which are raised as well
    try:
        return onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    # onnxruntime raises its own classes, below RuntimeError or Exception depending on its version.
    except Exception as error:  # noqa: BLE001
        raise RunError(f"{name} is not an ONNX model that onnxruntime can run: {error} Export it again.") from None


def _check_installed() -> None:
    try:
        for name in ("onnx", "onnxruntime", "onnxscript"):
            importlib.import_module(name)
    except ImportError as error:
        raise SpecError(
            f"ONNX requires packages that are not installed ({error}). Install them: pip install 'unbraid[onnx]'."
        ) from None


@torch.no_grad()
def _traced(graph: Graph) -> torch.export.ExportedProgram:
    """Traces the graph with torch.export, for batches of any size."""
    sizes = {graph.input_name: {0: torch.export.Dim("batch", min=1)}}
    try:
        return torch.export.export(graph, (graph.inputs(_TRACED),), dynamic_shapes=sizes)
    except (RuntimeError, ValueError, TypeError, NotImplementedError, AssertionError) as error:
        raise RunError(
            f"The {graph.name} cannot be exported: {str(error).strip()}\nIn a custom net, remove Python code that "
            "depends on the values of tensors, and use x.shape[0] instead of len(x) for the size of a batch."
        ) from error


def _made(graph: Graph, facts: Mapping[str, str]) -> tuple[bytes, float]:
    """Returns the content of an ONNX file of the graph, and the largest difference of its outputs from torch."""
    program = _traced(graph)
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
    """Returns the content of the ONNX file, without the source paths that torch adds."""
    for part in (*model.graph.node, *model.graph.value_info, *model.graph.input, *model.graph.output, model.graph):
        part.ClearField("doc_string")
        part.ClearField("metadata_props")
    # Torch numbers unknown sizes.
    batch = model.graph.input[0].type.tensor_type.shape.dim[0].dim_param
    for value in (*model.graph.input, *model.graph.output, *model.graph.value_info):
        for size in value.type.tensor_type.shape.dim:
            if batch and batch in size.dim_param:
                size.dim_param = size.dim_param.replace(batch, "batch")
    drawing = sorted({node.op_type for node in model.graph.node if node.op_type.startswith(_RANDOM)})
    if drawing:
        raise RunError(
            f"The {name} has random operators ({', '.join(drawing)}); expected a deterministic graph. Remove these "
            "layers from the net."
        )
    model.producer_name, model.producer_version, model.graph.name = "unbraid", __version__, name
    del model.metadata_props[:]
    for key, value in facts.items():
        model.metadata_props.add(key=f"unbraid.{key}", value=value)
    content: bytes = model.SerializeToString(deterministic=True)
    return content


def _largest_difference(content: bytes, graph: Graph) -> float:
    """Returns the largest relative difference between onnxruntime and torch. Raises RunError above the tolerance."""
    runtime, largest = session(content, f"The {graph.name}"), 0.0
    for inputs in map(graph.inputs, _COMPARED):
        expected = graph.outputs(inputs)
        found = runtime.run(list(graph.output_names), {graph.input_name: inputs.numpy()})
        for name, ours, theirs in zip(graph.output_names, expected, found, strict=True):
            scale = float(ours.abs().max()) or 1.0
            difference = float((ours - torch.from_numpy(theirs)).abs().max()) / scale
            if not difference <= TOLERANCE:
                raise RunError(
                    f"The output {name!r} of onnxruntime for {len(inputs)} inputs differs from torch by "
                    f"{difference:.1g} of the largest value; expected at most {TOLERANCE:g}. No file was written. If "
                    "all weights are finite, this is a bug in the ONNX export of a layer; please report it."
                )
            largest = max(largest, difference)
    return largest


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Suppresses warnings of torch about optional exporters and about deprecated calls inside torch."""
    log = logging.getLogger("torch.onnx")
    level = log.level
    log.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        log.setLevel(level)
