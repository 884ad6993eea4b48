"""Conversion of a decoder to a list of layers that a browser can compute.

Layers with weights are recognized by their class, and all other layers by their outputs: a layer that only rearranges
numbers by its output for distinct inputs, and an activation by its outputs for a range of inputs. So `nn.ReLU()`,
`torch.relu(x)` and `x.relu()` are all recognized.
"""

import copy
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, final

import torch
from torch import Tensor, fx, nn
from torch.nn import functional
from torch.nn.functional import interpolate
from torch.nn.modules.batchnorm import _BatchNorm

from unbraid.errors import SpecError
from unbraid.models.distributions.likelihoods import ContinuousBernoulliLikelihood
from unbraid.show.explorer.packing import Packer

_BATCH = 2  # two codes, to detect a net that mixes images of a batch
_NUM_VALUES = 241  # the number of inputs for which activations are compared


class UnknownLayerError(SpecError):
    """Error raised for a decoder that the browser cannot compute. The message names the layer."""


@final
@dataclass(frozen=True, eq=False)
class Layer:
    """A layer: its kind in decoder.js, settings that can be converted to JSON, and tensors by name.

    The tensor "matrix" has a row for each output.
    """

    kind: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    tensors: Mapping[str, Tensor] = field(default_factory=dict)


@final
@dataclass(frozen=True, eq=False)
class DecoderGraph:
    """A chain of layers from a code of `num_inputs` numbers to the flattened image."""

    num_inputs: int
    layers: tuple[Layer, ...]

    @property
    def num_weights(self) -> int:
        return sum(layer.tensors["matrix"].numel() for layer in self.layers if "matrix" in layer.tensors)

    def packed(self, precision: Literal["half", "int8"], packer: Packer) -> dict[str, Any]:
        """Returns the layers as JSON, and adds their tensors to the packer.

        Matrices are stored with this precision. All other tensors are small and stored in single precision.
        """
        layers = []
        for number, layer in enumerate(self.layers):
            names = {}
            for name, tensor in layer.tensors.items():
                kind = precision if name == "matrix" else "int32" if name == "source" else "float32"
                names[name] = packer.add(f"{number}.{name}", tensor, kind)
            matrix = layer.tensors.get("matrix")
            shape = {} if matrix is None else {"rows": matrix.shape[0], "inner": matrix.shape[1]}
            layers.append({"kind": layer.kind, **shape, **layer.settings, **names})
        return {"inputs": self.num_inputs, "layers": layers}


def decoder_graph(decoder: nn.Module, num_inputs: int) -> DecoderGraph:
    """Converts a decoder of codes with `num_inputs` numbers.

    Raises UnknownLayerError if the browser cannot compute a layer, or if the layers do not form a chain.
    """
    net = nn.Sequential(copy.deepcopy(decoder)).to("cpu", torch.float64).eval()
    try:
        module = fx.GraphModule(net, _Tracer().trace(net))
    except Exception as error:  # user code runs on proxies, and may raise anything
        raise UnknownLayerError(
            f"torch.fx cannot trace the forward pass of {type(decoder).__name__}: {str(error).splitlines()[0]}"
        ) from error
    reader = _Reader(module)
    with torch.no_grad():
        reader.run(torch.zeros(_BATCH, num_inputs, dtype=torch.float64))
    for layer in reader.layers:
        if not all(bool(tensor.isfinite().all()) for tensor in layer.tensors.values()):
            raise UnknownLayerError(f"the weights of a layer of kind {layer.kind!r} are not finite")
    return DecoderGraph(num_inputs, tuple(reader.layers))


@final
class _Tracer(fx.Tracer):
    """Tracer of a forward pass, whose leaves are layers of torch and modules without weights and submodules."""

    proxy_buffer_attributes = True  # buffers may be combined with the size of a batch, which is a proxy

    def is_leaf_module(self, m: nn.Module, module_qualified_name: str) -> bool:
        is_plain = next(m.children(), None) is None and next(m.parameters(), None) is None
        return is_plain or isinstance(m, tuple(_WEIGHTED)) or super().is_leaf_module(m, module_qualified_name)


@final
class _Reader(fx.Interpreter):
    """Interpreter that runs a traced net and records each operation as a layer."""

    def __init__(self, module: fx.GraphModule) -> None:
        super().__init__(module)
        self.extra_traceback = False
        self.layers: list[Layer] = []
        self._dependent: set[fx.Node] = set()  # nodes whose values depend on the code
        self._last: fx.Node | None = None

    def run_node(self, n: fx.Node) -> Any:
        result = super().run_node(n)
        if n.op == "output":
            if n.all_input_nodes != [self._last]:
                raise UnknownLayerError("the decoder returns more than the output of its last layer")
            return result
        sources = [source for source in n.all_input_nodes if source in self._dependent]
        if isinstance(result, Tensor) and (n.op == "placeholder" or sources):
            if n.op != "placeholder":
                self.layers += self._layer(n, sources, result)
            self._dependent.add(n)
            self._last = n
        return result

    def _layer(self, n: fx.Node, sources: list[fx.Node], result: Tensor) -> list[Layer]:
        module = self.module.get_submodule(str(n.target)) if n.op == "call_module" else None
        name = str(getattr(n.target, "__name__", n.target)) if module is None else type(module).__name__
        if sources != [self._last]:
            raise UnknownLayerError(f"the layers do not form a chain: {name} has other inputs than the previous layer")
        x: Tensor = self.env[sources[0]]
        for cls, read in _WEIGHTED.items():
            if isinstance(module, cls):
                return [read(module, x, result)]

        def apply(value: Tensor) -> Tensor:
            args = fx.node.map_arg(n.args, lambda node: value if node is sources[0] else self.env[node])
            kwargs = fx.node.map_arg(n.kwargs, lambda node: value if node is sources[0] else self.env[node])
            applied: Tensor = getattr(self, n.op)(n.target, args, kwargs)
            return applied

        for recognize in (_arrangement, _activation, _bilinear):
            if (found := recognize(apply, x, result)) is not None:
                return found
        raise UnknownLayerError(f"the browser cannot compute the layer {name}")


# -------------------------------------------------------------------------------------------------- layers with weights
def _linear(module: nn.Linear, x: Tensor, y: Tensor) -> Layer:
    if x.ndim != 2:
        raise UnknownLayerError(f"a Linear has inputs of shape {tuple(x.shape[1:])}; expected one axis")
    return Layer("linear", {}, _with_bias(module.weight, module.bias))


def _convolution(module: nn.Conv2d, x: Tensor, y: Tensor) -> Layer:
    settings = _geometry(module, x, y)
    return Layer("convolution", settings, _with_bias(module.weight.flatten(1), module.bias))


def _transposed(module: nn.ConvTranspose2d, x: Tensor, y: Tensor) -> Layer:
    matrix = module.weight.permute(1, 2, 3, 0).flatten(0, 2)  # a row for each channel and place in the kernel
    return Layer("transposed", _geometry(module, x, y), _with_bias(matrix, module.bias))


def _batch_norm(module: _BatchNorm, x: Tensor, y: Tensor) -> Layer:
    if module.running_mean is None or module.running_var is None:
        raise UnknownLayerError(f"a {type(module).__name__} has no running averages, so images of a batch interact")
    weight, bias = (module.weight, module.bias) if module.affine else (1.0, 0.0)
    factor = (module.running_var + module.eps).rsqrt() * weight
    shift = bias - module.running_mean * factor
    return Layer("scale", {"area": x[0].numel() // len(factor)}, {"factor": factor, "shift": shift})


def _geometry(module: nn.Conv2d | nn.ConvTranspose2d, x: Tensor, y: Tensor) -> dict[str, Any]:
    if module.groups != 1 or module.padding_mode != "zeros":
        what = f"groups={module.groups}" if module.groups != 1 else f"padding_mode={module.padding_mode!r}"
        raise UnknownLayerError(f"the browser cannot compute a {type(module).__name__} with {what}")
    padding = module.padding
    if isinstance(padding, str):  # with "same", an odd pixel is added at the far side
        padding = (
            (0, 0)
            if padding == "valid"
            else tuple(step * (size - 1) // 2 for step, size in zip(module.dilation, module.kernel_size, strict=True))
        )
    return {
        "from": list(x.shape[1:]),
        "to": list(y.shape[1:]),
        "kernel": list(module.kernel_size),
        "stride": list(module.stride),
        "padding": list(padding),
        "dilation": list(module.dilation),
    }


def _with_bias(matrix: Tensor, bias: Tensor | None) -> dict[str, Tensor]:
    return {"matrix": matrix} if bias is None else {"matrix": matrix, "bias": bias}


_WEIGHTED: dict[type[nn.Module], Callable[[Any, Tensor, Tensor], Layer]] = {
    nn.Linear: _linear,
    nn.Conv2d: _convolution,
    nn.ConvTranspose2d: _transposed,
    nn.BatchNorm1d: _batch_norm,
    nn.BatchNorm2d: _batch_norm,
}


# ----------------------------------------------------------------------------------------------- layers without weights
def _arrangement(apply: Callable[[Tensor], Tensor], x: Tensor, y: Tensor) -> list[Layer] | None:
    """Recognizes a layer whose outputs are inputs or constants (such as reshape). Returns [] for the identity."""
    size = x[0].numel()
    first = torch.arange(_BATCH * size, dtype=x.dtype).add(1000.375).reshape(x.shape)
    second = -3 * first - 0.5
    there, again = apply(first)[0].flatten(), apply(second)[0].flatten()
    places = (there - 1000.375).round().long()
    moved = (places >= 0) & (places < size)
    places = places.where(moved, 0)
    moved &= (first[0].flatten()[places] == there) & (second[0].flatten()[places] == again)
    if not bool((moved | (there == again)).all()):
        return None
    if bool(moved.all()) and torch.equal(places, torch.arange(size)):
        return []
    return [Layer("arrangement", {}, {"source": places.where(moved, -1), "constants": there.where(~moved, 0)})]


def _activation(apply: Callable[[Tensor], Tensor], x: Tensor, y: Tensor) -> list[Layer] | None:
    """Recognizes an elementwise activation by its outputs for inputs from -6 to 6. Returns None for any other layer.

    Each input is repeated at different positions, so that a layer such as softmax is not recognized.
    """
    if y.shape != x.shape:
        return None
    rounds = max(1, -(-_NUM_VALUES // x.numel()))  # several passes, if the tensor is smaller than the range
    values = torch.linspace(-6, 6, _NUM_VALUES, dtype=x.dtype).repeat(-(-rounds * x.numel() // _NUM_VALUES))
    values = values[: rounds * x.numel()].reshape(rounds, *x.shape)
    outputs = torch.stack([apply(part) for part in values])
    lowest, below = float(values.min()), float(outputs.flatten()[values.argmin()])
    slopes = {"leaky": below / lowest, "elu": below / math.expm1(lowest)}
    for kind, function in _ACTIVATIONS.items():
        settings = {"slope": slopes[kind]} if kind in slopes else {}
        if torch.allclose(outputs, function(values, *settings.values()), rtol=1e-7, atol=1e-9):
            return [Layer(kind, {"size": x[0].numel(), **settings})]
    return None


_ACTIVATIONS: dict[str, Callable[..., Tensor]] = {
    "relu": torch.relu,
    "tanh": torch.tanh,
    "sigmoid": torch.sigmoid,
    "gelu": functional.gelu,
    "gelu_tanh": lambda x: functional.gelu(x, approximate="tanh"),
    "leaky": functional.leaky_relu,
    "elu": functional.elu,
    "continuous_bernoulli": lambda x: ContinuousBernoulliLikelihood().mean(x.reshape(1, 1, 1, -1)).reshape(x.shape),
}


def _bilinear(apply: Callable[[Tensor], Tensor], x: Tensor, y: Tensor) -> list[Layer] | None:
    if x.ndim != 4 or y.ndim != 4 or y.shape[1] != x.shape[1]:
        return None
    waves = torch.arange(x.numel(), dtype=x.dtype).sin().reshape(x.shape)
    for corners in (False, True):
        expected = interpolate(waves, size=y.shape[2:], mode="bilinear", align_corners=corners)
        if torch.allclose(apply(waves), expected, atol=1e-9):
            return [Layer("bilinear", {"from": list(x.shape[1:]), "to": list(y.shape[1:]), "corners": corners})]
    return None
