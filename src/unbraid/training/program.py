"""A step as one program: traced once, compiled, and replayed on the GPU without Python.

A fleet's step is some thousand small operations under `vmap` and `grad`. On a GPU, starting them one by one takes
longer than computing them. So the step is run once with tensors that have shapes but no numbers, and what it does is
written down as a flat list of operations; inductor makes few kernels of them; and a CUDA graph starts all of these at
once.
"""

import contextlib
import gc
import time
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, final

import torch
from torch import Tensor
from torch.fx import GraphModule
from torch.fx.experimental.proxy_tensor import make_fx

from unbraid.training.compiler import Inductor

Tensors = Mapping[str, Tensor]
Function = Callable[[Tensors], dict[str, Tensor]]
"""From named tensors to named tensors. It may change the given ones in place."""


@final
@dataclass(frozen=True)
class Traced:
    """A function of named tensors as a list of operations on tensors of these shapes."""

    graph: GraphModule
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]

    @classmethod
    def of(cls, function: Function, tensors: Tensors) -> "Traced":
        """Trace the function. Nothing is computed, and no tensor is changed. Tensors that it reads beside its arguments
        are kept as they are.
        """
        inputs = tuple(tensors)
        outputs: list[str] = []

        def flat(*values: Tensor) -> tuple[Tensor, ...]:
            results = function(dict(zip(inputs, values, strict=True)))
            outputs[:] = results
            return tuple(results.values())

        graph = make_fx(flat, tracing_mode="fake", _allow_non_fake_inputs=True)(*tensors.values())
        return cls(graph, inputs, tuple(outputs))

    def __call__(self, tensors: Tensors) -> dict[str, Tensor]:
        return self.named(self.graph, tensors)

    def named(self, call: Callable[..., Any], tensors: Tensors) -> dict[str, Tensor]:
        """What `call`, a form of the graph, returns for these tensors."""
        return dict(zip(self.outputs, call(*(tensors[name] for name in self.inputs)), strict=True))


@final
class Programs:
    """Compiled functions by what they compute, so that a second fleet of the same shape finds them. `compile_graph`
    makes a callable of a traced graph and of tensors like those that it will be given.
    """

    def __init__(
        self, compile_graph: Callable[[GraphModule, Sequence[Tensor]], Callable[..., Any]] | None = None
    ) -> None:
        self.inductor = compile_graph if isinstance(compile_graph, Inductor) else Inductor()
        self._compile_graph = compile_graph or self.inductor
        self._compiled: dict[Hashable, tuple[Traced, Callable[..., Any], object]] = {}
        self.seconds = 0.0

    def compiled(
        self, key: Hashable, function: Function, tensors: Tensors, beside: object, scratch: Callable[[], Tensors]
    ) -> Function:
        """The function, compiled for tensors like these. `scratch` makes copies of them, on which it runs once: the
        first call sets up what a CUDA graph cannot record.

        `beside` is the object whose tensors the function reads besides its arguments: they become part of the program.
        """
        key = key, id(beside)
        if key not in self._compiled:
            began = time.perf_counter()
            traced = Traced.of(function, tensors)
            copies = scratch()
            compiled = self._compile_graph(traced.graph, [copies[name] for name in traced.inputs])
            traced.named(compiled, copies)
            if torch.cuda.is_available():
                torch.cuda.synchronize()
            self._compiled[key] = traced, compiled, beside  # kept, lest another object get its id
            self.seconds += time.perf_counter() - began
        traced, compiled, _ = self._compiled[key]
        return lambda given: traced.named(compiled, given)


@final
class Replayed:
    """A compiled function of tensors that stay where they are, recorded as a CUDA graph. Each call runs it on what they
    hold by then.

    `complete` adds to these tensors what is made anew for each call, and is recorded too. Functions that are never
    called at once may share a `pool` of memory.
    """

    def __init__(self, function: Function, complete: Function, tensors: Tensors, pool: Any) -> None:
        self._graph = torch.cuda.CUDAGraph()
        self._tensors = tensors  # kept alive: the graph knows their addresses alone
        torch.cuda.synchronize()
        with _no_garbage_collected(), torch.cuda.graph(self._graph, pool=pool):
            self._outputs = function(complete(tensors))

    def __call__(self) -> dict[str, Tensor]:
        """What the function returns; overwritten by the next call of any function of the pool."""
        self._graph.replay()
        return self._outputs


@contextlib.contextmanager
def _no_garbage_collected() -> Iterator[None]:
    """Collects garbage before the block and not in it: a graph that is freed while another is recorded spoils that."""
    gc.collect()
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
