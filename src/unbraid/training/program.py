"""A step as one program: traced once, compiled, and replayed on the GPU without Python.

A fleet's step consists of some thousand small operations under `vmap` and `grad`. On a GPU, launching them one by one
takes longer than computing them. Therefore the step is traced once with fake tensors, inductor compiles the trace into
few kernels, and a CUDA graph launches all kernels at once.
"""

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
"""A function from one tree of tensors to another. It may change its inputs in place."""


@final
@dataclass(frozen=True)
class Traced:
    """Traced function of a tree of tensors: a graph of operations on tensors of fixed shapes."""

    graph: GraphModule
    inputs: TreeSpec
    outputs: TreeSpec

    @classmethod
    def of(cls, function: Function, tree: Tree) -> "Traced":
        """Traces the function.

        Nothing is computed, and no tensor is changed. Other tensors that the function reads are captured by reference.
        """
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
        """Returns the outputs of `call`, a compiled form of the graph, for a tree with the traced structure."""
        leaves, inputs = tree_flatten(tree)
        if inputs != self.inputs:
            raise ValueError(f"expected a tree of the traced structure {self.inputs}; got {inputs}")
        return tree_unflatten(call(*leaves), self.outputs)


@final
class Programs:
    """Cache of compiled functions, so that a second fleet of the same shape does not compile again.

    `compile_graph` compiles a traced graph to a callable. Its second argument is a list of example tensors.
    """

    def __init__(
        self, compile_graph: Callable[[GraphModule, Sequence[Tensor]], Callable[..., Any]] | None = None
    ) -> None:
        self._compile_graph = compile_graph or Inductor()
        self._compiled: dict[Hashable, tuple[Traced, Callable[..., Any], object]] = {}
        self.seconds = 0.0

    def compiled(
        self, key: Hashable, function: Function, tree: Tree, beside: object, scratch: Callable[[], Tree]
    ) -> Function:
        """Returns the function, compiled for tensors with the shapes and types of `tree`.

        `scratch` returns copies of these tensors, for a first call with the setup that a CUDA graph cannot record.

        `beside` is the object with the other tensors that the function reads. They become part of the program.
        """
        key = key, id(beside)
        if key not in self._compiled:
            began = time.perf_counter()
            traced = Traced.of(function, tree)
            copies = scratch()
            compiled = self._compile_graph(traced.graph, tree_leaves(copies))
            traced.called(compiled, copies)
            if torch.cuda.is_available():
                torch.cuda.synchronize()
            self._compiled[key] = traced, compiled, beside  # kept, lest another object get its id
            self.seconds += time.perf_counter() - began
        traced, compiled, _ = self._compiled[key]
        return lambda given: traced.called(compiled, given)


@final
class Replayed:
    """A compiled function of tensors with fixed memory addresses, recorded as a CUDA graph.

    Each call replays the graph on the current values of the input tensors.

    `complete` computes the remaining inputs of each call, and is recorded too. Functions that are not called at the
    same time may share a memory `pool`.
    """

    def __init__(self, function: Function, complete: Function, tree: Tree, pool: Any) -> None:
        self._graph = torch.cuda.CUDAGraph()
        self._tree = tree  # kept alive: the graph knows the addresses of its tensors alone
        torch.cuda.synchronize()
        gc.collect()  # before and not meanwhile: freeing another graph would end the recording
        with no_garbage_collection(), torch.cuda.graph(self._graph, pool=pool):
            self._outputs = function(complete(tree))

    def __call__(self) -> Tree:
        """Returns the outputs of the function. The next call of any function with the same pool overwrites them."""
        self._graph.replay()
        return self._outputs


# By default inductor times several forms of a kernel and keeps the fastest, which need not be the same one tomorrow.
# Forms of a pointwise kernel differ in their last bits, since multiplications and additions are fused differently.
_SETTINGS: Mapping[str, Any] = {"triton.autotune_pointwise": False, "force_shape_pad": True}
# Forms of a sum differ in their order. Nothing is timed then, which costs up to an eighth of the speed.
_DETERMINISTIC: Mapping[str, Any] = {"deterministic": True}


@final
@dataclass(frozen=True)
class Inductor:
    """Compiler of traced graphs, for tensors with the shapes and types of the examples.

    Compiled graphs are stored in inductor's cache on disk, where later processes find them. The cache key contains the
    version of torch, the settings and the graph. With `deterministic`, the kernels are the same even if that cache is
    empty, as on another machine with the same GPU.
    """

    deterministic: bool = False

    @property
    def settings(self) -> dict[str, Any]:
        """Settings of inductor that differ from its defaults, without settings that this version of torch lacks."""
        import torch._inductor.config as known

        wanted = {**_SETTINGS, **(_DETERMINISTIC if self.deterministic else {})}
        return {name: value for name, value in wanted.items() if name in known.get_config_copy()}

    def __call__(self, graph: GraphModule, examples: Sequence[Tensor]) -> Callable[..., Any]:
        """Returns the compiled graph as a callable, without running it."""
        with warnings.catch_warnings():
            # About torch's own calls of torch, and that TF32 would be faster where float32 was asked for.
            warnings.simplefilter("ignore", DeprecationWarning)
            warnings.filterwarnings("ignore", message="TensorFloat32 tensor cores")
            import torch._inductor

            # Not torch.compile: it would trace the graph once more, which takes seconds, also where all is cached.
            return torch._inductor.standalone_compile(
                graph,
                list(examples),
                dynamic_shapes="from_example_inputs",
                options={"config_patches": self.settings},
            )
