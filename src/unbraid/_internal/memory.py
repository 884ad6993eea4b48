"""How much memory there is, and how to tell that it is not enough."""

import contextlib
import gc
import os
from collections.abc import Iterator
from pathlib import Path

import torch

from unbraid._internal.allocator import hand_back_freed_memory

_CGROUP = Path("/sys/fs/cgroup")
# Limit, use, and the line of memory.stat that counts what is in use but would be given back: of version 2, then of
# version 1.
_LIMITS = (
    ("memory.max", "memory.current", "memory.stat", "inactive_file"),
    ("memory/memory.limit_in_bytes", "memory/memory.usage_in_bytes", "memory/memory.stat", "total_inactive_file"),
)
# On the CPU, and from the libraries beneath it on a GPU, torch has no class of its own for it, nor has a library that
# finds no room while it is imported.
_WORDS = ("can't allocate memory", "out of memory", "STATUS_ALLOC_FAILED", "failed to map segment")


def free_memory(device: torch.device) -> int:
    """Returns the free memory in bytes: what the GPU has free, or what this machine, and the container that this
    process may live in, can still give.
    """
    if device.type == "cuda":
        return torch.cuda.mem_get_info(device)[0]
    return min(_left_by_the_machine(Path("/proc/meminfo")), _left_by_the_container(_CGROUP))


def give_back_memory(device: torch.device) -> None:
    """Frees what is not needed any more. A fleet refers to itself, so it goes only when Python looks for such rings."""
    gc.collect()
    hand_back_freed_memory()
    if device.type == "cuda":
        torch.cuda.empty_cache()


@contextlib.contextmanager
def no_garbage_collection() -> Iterator[None]:
    """Within the block no rings of garbage are looked for: among a million new objects that takes longer than making
    them.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def is_out_of_memory(error: BaseException) -> bool:
    """Returns whether the error, or one that it came of, says that memory was asked for and not there."""
    if isinstance(error, (MemoryError, torch.OutOfMemoryError)):
        return True
    if isinstance(error, RuntimeError | ImportError) and any(words in str(error) for words in _WORDS):
        return True
    # While a GPU records a graph, what went wrong is followed by the complaint that the recording did not end well.
    before = error.__cause__ or error.__context__
    return isinstance(error, RuntimeError) and before is not None and is_out_of_memory(before)


def _left_by_the_machine(path: Path) -> int:
    """Returns what is free, or would be if files were no longer kept in memory; all that there is, where the system
    does not say.
    """
    counts = _counts(path)
    return (
        counts["MemAvailable:"] * 1024
        if "MemAvailable:" in counts
        else os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    )


def _left_by_the_container(folder: Path) -> int:
    """Returns what is missing to the limit of memory; very much, where there is no limit."""
    for limit, used, details, idle in _LIMITS:
        try:
            return (
                int((folder / limit).read_text())
                - int((folder / used).read_text())
                + _counts(folder / details).get(idle, 0)
            )
        except (OSError, ValueError):  # no such version, or a limit of "max"
            continue
    return 2**63


def _counts(path: Path) -> dict[str, int]:
    """Returns the numbers by name, from lines of a name and a number."""
    try:
        words = [line.split() for line in path.read_text().splitlines()]
    except OSError:
        return {}
    return {line[0]: int(line[1]) for line in words if len(line) > 1 and line[1].isdigit()}
