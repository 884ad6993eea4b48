"""Compilation of training steps for the GPU: tracing, inductor and CUDA graphs.

A step of a fleet has some thousand small operations under `vmap` and `grad`. On a GPU, launching these operations one
by one takes longer than their computation. Therefore the step is traced once with fake tensors, inductor compiles the
trace to few kernels, and a CUDA graph launches all kernels at once.
"""

import contextlib
import gc
import time
import warnings
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, final

import torch
from torch import Tensor
from torch.fx import GraphModule
from torch.fx.experimental.proxy_tensor import make_fx
from torch.utils._pytree import TreeSpec, tree_flatten, tree_leaves, tree_unflatten

from unbraid._internal.memory import no_garbage_collection
from unbraid.training.state import Tree

Function = Callable[[Any], Any]
"""Function from a tree of tensors to a tree of tensors, which may change its inputs in place."""


@final
@dataclass(frozen=True)
class TracedFunction:
    """Traced function of a tree of tensors: a graph of operations on tensors with fixed shapes."""

    graph: GraphModule
    inputs: TreeSpec
    outputs: TreeSpec

    @classmethod
    def of(cls, function: Function, tree: Tree) -> "TracedFunction":
        """Traces a function without computing results. Captures tensors that are not inputs by reference."""
        leaves, inputs = tree_flatten(tree)
        outputs: list[TreeSpec] = []

        def flat(*values: Tensor) -> tuple[Tensor, ...]:
            results, structure = tree_flatten(function(tree_unflatten(values, inputs)))
            outputs[:] = [structure]
            return tuple(results)

        graph = make_fx(flat, tracing_mode="fake", _allow_non_fake_inputs=True)(*leaves)
        return cls(graph, inputs, *outputs)

    def __call__(self, tree: Tree) -> Tree:
        return self.called(self.graph, tree)

    def called(self, call: Callable[..., Any], tree: Tree) -> Tree:
        """Calls `call`, a compiled form of the graph, with a tree of the traced structure. Returns the outputs."""
        leaves, inputs = tree_flatten(tree)
        if inputs != self.inputs:
            raise ValueError(f"expected a tree of the traced structure {self.inputs}; got {inputs}")
        return tree_unflatten(call(*leaves), self.outputs)


def traced_later(function: Callable[..., Tree]) -> Callable[..., Tree]:
    """Returns the function, traced at its first call. The flat list of operations returns the same bits in less time.

    On a CPU, the list avoids the dispatch of `vmap` and `grad`: a tenth to a fifth of a step of small nets. A function
    that cannot be traced is called as it is.
    """
    found: list[Callable[[Tree], Tree]] = []

    def call(*arguments: Tree) -> Tree:
        if not found:
            with contextlib.suppress(Exception):  # the tracer may not support an operation of a user
                found.append(TracedFunction.of(lambda trees: function(*trees), arguments))
            found.append(lambda trees: function(*trees))
        return found[0](arguments)

    return call


@final
class CompileCache:
    """Cache of compiled functions, so that a second fleet with the same shapes is not compiled again.

    `compile_graph` compiles a traced graph to a callable, given the graph and a list of example tensors.
    """

    def __init__(
        self, compile_graph: Callable[[GraphModule, Sequence[Tensor]], Callable[..., Any]] | None = None
    ) -> None:
        self._compile_graph = compile_graph or Inductor()
        self._compiled: dict[Hashable, tuple[TracedFunction, Callable[..., Any], object]] = {}
        self.seconds = 0.0

    def compiled(
        self, key: Hashable, function: Function, tree: Tree, beside: object, scratch: Callable[[], Tree]
    ) -> Function:
        """Compiles a function for the shapes and dtypes of `tree`, or returns the cached compiled function.

        `scratch` returns copies of the tensors for a first call, whose setup a CUDA graph cannot record. `beside` is
        the object with the other tensors that the function reads, which are captured by the compiled function.
        """
        key = key, id(beside)
        if key not in self._compiled:
            began = time.perf_counter()
            traced = TracedFunction.of(function, tree)
            copies = scratch()
            compiled = self._compile_graph(traced.graph, tree_leaves(copies))
            traced.called(compiled, copies)
            if torch.cuda.is_available():
                torch.cuda.synchronize()
            self._compiled[key] = traced, compiled, beside  # a reference, so that no other object gets the same id
            self.seconds += time.perf_counter() - began
        traced, compiled, _ = self._compiled[key]
        return lambda given: traced.called(compiled, given)


@final
class CudaGraph:
    """CUDA graph of a function of tensors with fixed memory addresses.

    Each call replays the graph on the current values of the input tensors. `complete` computes the other inputs of each
    call, and is recorded too. Functions that are not called at the same time may share a memory `pool`.
    """

    def __init__(self, function: Function, complete: Function, tree: Tree, pool: Any) -> None:
        self._graph = torch.cuda.CUDAGraph()
        self._tree = tree  # a reference, because the graph stores only memory addresses
        torch.cuda.synchronize()
        gc.collect()  # before the capture, because freeing another graph would end the capture
        with no_garbage_collection(), torch.cuda.graph(self._graph, pool=pool):
            self._outputs = function(complete(tree))

    def __call__(self) -> Tree:
        """Returns the outputs of the function. The next call of any function with the same pool overwrites them."""
        self._graph.replay()
        return self._outputs


# By default inductor times several variants of a kernel and selects the fastest, which may vary between runs.
# Variants of a pointwise kernel differ in the last bits, because multiplications and additions are fused differently.
_SETTINGS: Mapping[str, Any] = {"triton.autotune_pointwise": False, "force_shape_pad": True}
# Variants of a sum add in another order. Without timing, the step is up to an eighth slower.
_DETERMINISTIC: Mapping[str, Any] = {"deterministic": True}


@final
@dataclass(frozen=True)
class Inductor:
    """Compiler of traced graphs, for tensors with the shapes and types of the examples.

    Compiled graphs are stored in inductor's cache on disk for later processes. The cache key contains the version of
    torch, the settings and the graph. With `deterministic`, the kernels do not depend on this cache, and are therefore
    equal on another machine with the same GPU.
    """

    deterministic: bool = False

    @property
    def settings(self) -> dict[str, Any]:
        """Settings of inductor that differ from the defaults, restricted to the settings of this version of torch."""
        import torch._inductor.config as known

        wanted = {**_SETTINGS, **(_DETERMINISTIC if self.deterministic else {})}
        return {name: value for name, value in wanted.items() if name in known.get_config_copy()}

    def __call__(self, graph: GraphModule, examples: Sequence[Tensor]) -> Callable[..., Any]:
        """Compiles a graph to a callable, without calling it."""
        with warnings.catch_warnings():
            # Warnings about deprecated calls inside torch, and about TF32 with float32 matrix products.
            warnings.simplefilter("ignore", DeprecationWarning)
            warnings.filterwarnings("ignore", message="TensorFloat32 tensor cores")
            import torch._inductor

            # Not torch.compile, which would trace the graph again and take seconds even with a warm cache.
            return torch._inductor.standalone_compile(
                graph,
                list(examples),
                dynamic_shapes="from_example_inputs",
                options={"config_patches": self.settings},
            )
