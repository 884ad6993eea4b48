"""Number of models to train side by side, computed from the measured memory of one model."""

import math
import weakref
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, final

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from unbraid._internal.memory import free_memory, give_back_memory, is_out_of_memory
from unbraid.datasets.dataset import FactorImages
from unbraid.training.fleet import Fleet
from unbraid.training.state import Member

# Usable fraction of the free memory. The rest is for fragmentation, and for other programs on the device.
_SHARE_FOR_FLEETS = 0.9
# Ratio of the memory of a process on a CPU to the memory of its tensors, because of temporary memory and fragmentation.
# Measured: 1.2 for a fully connected net, 1.7 for a convolutional net.
_BESIDE_TENSORS_ON_A_CPU = 2.0


@final
@dataclass(frozen=True)
class Memory:
    """Memory of a fleet in bytes.

    `per_member` is the peak memory of each additional member. `beside` is the memory of a fleet that does not depend on
    the number of members. `free` is the free memory before the fleet is created.
    """

    per_member: int
    beside: int
    free: int

    @property
    def capacity(self) -> int:
        """Maximum number of members of a fleet, and at least 1, because a single member is always tried."""
        return max(1, int((self.free * _SHARE_FOR_FLEETS - self.beside) / max(1, self.per_member)))


def fleet_sizes(num_members: int, capacity: int) -> list[int]:
    """Splits members into the fewest fleets of at most `capacity`, of nearly equal sizes. Returns the sizes.

    For example, 21 members with a capacity of 16 become fleets of 11 and 10.
    """
    num_fleets = math.ceil(num_members / capacity)
    size, larger = divmod(num_members, max(1, num_fleets))
    return [size + 1] * larger + [size] * (num_fleets - larger)


def measured(members: Sequence[Member], images: FactorImages) -> Memory:
    """Measures the memory of uncompiled steps, with one and two members on a GPU, or two members on a CPU.

    On a CPU, memory is proportional to the number of members. Compiled steps need less memory. Takes seconds.
    """
    try:
        return _on_the_gpu(members, images) if images.device.type == "cuda" else _on_the_cpu(members, images)
    finally:
        give_back_memory(images.device)


def _on_the_cpu(members: Sequence[Member], images: FactorImages) -> Memory:
    # Two members, because `vmap` then checks user classes, also those of a model that is trained by itself.
    free = free_memory(images.device)
    try:
        peak = _peak_on_the_cpu([members[0]] * 2, images) / 2
    except Exception as error:
        if not is_out_of_memory(error):
            raise
        peak = _peak_on_the_cpu(members[:1], images)
    return Memory(int(peak * _BESIDE_TENSORS_ON_A_CPU), 0, free)


def _peak_on_the_cpu(members: Sequence[Member], images: FactorImages) -> int:
    """Measures the peak memory of the tensors of a fleet during its first step, in bytes."""
    fleet = Fleet(members, images)
    with _Tally() as tally:
        fleet.advance()
    return tally.most


def _on_the_gpu(members: Sequence[Member], images: FactorImages) -> Memory:
    _peak_on_the_gpu(members[:1], images)  # a first call, in which libraries allocate memory
    give_back_memory(images.device)
    free, alone = free_memory(images.device), _peak_on_the_gpu(members[:1], images)
    try:
        both = _peak_on_the_gpu(members[:2], images)
    except Exception as error:
        if not is_out_of_memory(error):
            raise
        return Memory(free, 0, free)
    return Memory(max(0, both - alone), max(0, 2 * alone - both), free)


def _peak_on_the_gpu(members: Sequence[Member], images: FactorImages) -> int:
    """Measures the peak memory of a fleet during its first step, in bytes."""
    give_back_memory(images.device)
    before = torch.cuda.memory_allocated(images.device)
    torch.cuda.reset_peak_memory_stats(images.device)
    Fleet(members, images).advance()
    torch.cuda.synchronize(images.device)
    return torch.cuda.max_memory_allocated(images.device) - before


@final
class _Tally(TorchDispatchMode):
    """Dispatch mode that records the peak size in bytes of all live tensors returned by operations.

    Live tensors are counted after each operation. Callbacks at deallocation would be more exact, but Python drops
    exceptions in such callbacks, including Ctrl-C.
    """

    def __init__(self) -> None:
        super().__init__()
        self.most = 0
        self._sizes: dict[weakref.ref[torch.UntypedStorage], int] = {}

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        results = func(*args, **(kwargs or {}))
        storages = [each.untyped_storage() for each in tree_leaves(results) if isinstance(each, Tensor)]
        self._sizes = {ref: size for ref, size in self._sizes.items() if ref() is not None}
        self._sizes |= {weakref.ref(storage): storage.nbytes() for storage in storages}
        self.most = max(self.most, sum(self._sizes.values()))
        return results
