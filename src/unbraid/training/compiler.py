"""The compiler of a traced step: torch's inductor, with settings under which another process compiles the same step."""

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, final

from torch import Tensor
from torch.fx import GraphModule

# By default inductor times several forms of a kernel and keeps the fastest, which need not be the same one tomorrow.
# Forms of a pointwise kernel differ in their last bits, since multiplications and additions are fused differently.
_SETTINGS: Mapping[str, Any] = {"triton.autotune_pointwise": False, "force_shape_pad": True}
# Forms of a sum differ in their order. Nothing is timed then, which costs up to an eighth of the speed.
_DETERMINISTIC: Mapping[str, Any] = {"deterministic": True}


@final
@dataclass(frozen=True)
class Inductor:
    """Compiles a traced graph for tensors like the examples.

    What it compiles is kept in inductor's own cache on disk, where the next process finds it, under a key that holds
    the version of torch, the settings and the graph. `deterministic` makes the same kernels even where that cache is
    empty, as on another machine of the same kind.
    """

    deterministic: bool = False

    @property
    def settings(self) -> dict[str, Any]:
        """Returns the settings of inductor that differ from its defaults, as far as this torch knows them."""
        import torch._inductor.config as known

        wanted = {**_SETTINGS, **(_DETERMINISTIC if self.deterministic else {})}
        return {name: value for name, value in wanted.items() if name in known.get_config_copy()}

    def __call__(self, graph: GraphModule, examples: Sequence[Tensor]) -> Callable[..., Any]:
        """Returns the graph as a callable. Runs nothing."""
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
