"""Free memory, reuse of freed memory by the C library, and detection of out-of-memory errors."""

import contextlib
import ctypes
import gc
import itertools
import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from unbraid._internal.cpu import cgroup_folders

if TYPE_CHECKING:  # the command line sets how memory is freed before it imports torch
    import torch

# Parameter numbers of mallopt in glibc's malloc.h.
_M_TRIM_THRESHOLD = -1
_M_MMAP_THRESHOLD = -3
# As an unsigned size, -1 exceeds every block, so that freed memory is never trimmed.
_NEVER = -1
# Minimum size of blocks that glibc maps separately and clears at each allocation. An older glibc allows only 32 MB.
_MMAP_BYTES = (1 << 30, 1 << 25)

_MEMINFO = Path("/proc/meminfo")
_UNKNOWN = 2**63  # bytes
# Files with the limit and the use, and the entry of memory.stat with reclaimable bytes: cgroup v2, then v1.
_LIMITS = (
    ("memory.max", "memory.current", "inactive_file"),
    ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"),
)
# Messages of out-of-memory errors without their own exception class: torch on a CPU, CUDA libraries, failed imports.
_MESSAGES = ("can't allocate memory", "out of memory", "STATUS_ALLOC_FAILED", "failed to map segment")


def keep_freed_memory() -> bool:
    """Configures glibc to reuse freed blocks instead of returning them to the system. Returns whether this succeeded.

    A training step on the CPU allocates the same blocks as the previous step. By default glibc maps each large block
    again, and the system clears its pages. This takes nearly half the time of a small fleet, and three quarters for
    comparisons of codes in large batches (`benchmarks/cpu_fleet.py`). The setting holds for the whole process. The
    command line sets it, and training on a CPU too, which frees memory after each fleet (`give_back_memory`).
    MALLOC_ variables set by the user take precedence.
    """
    if any(name.startswith("MALLOC_") for name in os.environ):
        return False
    mallopt = _c_function("mallopt")
    if mallopt is None:  # not glibc
        return False
    return bool(mallopt(_M_TRIM_THRESHOLD, _NEVER)) and any(mallopt(_M_MMAP_THRESHOLD, size) for size in _MMAP_BYTES)


def give_back_memory(device: "torch.device") -> None:
    """Collects reference cycles, which remain after every fleet, and returns freed memory to the system and the GPU."""
    gc.collect()
    if trim := _c_function("malloc_trim"):
        trim(0)
    if device.type == "cuda":
        import torch

        torch.cuda.empty_cache()


@contextlib.contextmanager
def no_garbage_collection() -> Iterator[None]:
    """Disables garbage collection inside the block, where it would take longer than creating a million objects."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def _memory_of_windows() -> tuple[int, int] | None:
    """Returns the total and the free memory in bytes, or None on another system."""
    status = (ctypes.c_uint64 * 8)(64)  # MEMORYSTATUSEX: its own size, the total and the free memory, and others
    library = getattr(ctypes, "windll", None)
    return (status[1], status[2]) if library and library.kernel32.GlobalMemoryStatusEx(status) else None


def total_memory() -> int:
    """Returns the memory of this machine in bytes, or a very large number if it is unknown."""
    if found := _memory_of_windows():
        return found[0]
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError):
        return _UNKNOWN


def free_memory(device: "torch.device") -> int:
    """Returns the free memory in bytes, of a GPU or of this machine within the limits of its cgroups."""
    if device.type == "cuda":
        import torch

        return torch.cuda.mem_get_info(device)[0]
    return min(_free_on_machine(_MEMINFO), _free_in_cgroups())


def is_out_of_memory(error: BaseException) -> bool:
    """Returns whether the error or one of its causes is an out-of-memory error."""
    import torch

    if isinstance(error, (MemoryError, torch.OutOfMemoryError)):
        return True
    if isinstance(error, RuntimeError | ImportError) and any(message in str(error) for message in _MESSAGES):
        return True
    # During the capture of a CUDA graph, a second error about the unfinished capture follows.
    before = error.__cause__ or error.__context__
    return isinstance(error, RuntimeError) and before is not None and is_out_of_memory(before)


def _free_on_machine(meminfo: Path) -> int:
    """Returns the available memory in bytes, or the total memory if the system does not report the available memory."""
    if found := _memory_of_windows():
        return found[1]
    counts = _counts(meminfo)
    return counts["MemAvailable:"] * 1024 if "MemAvailable:" in counts else total_memory()


def _free_in_cgroups() -> int:
    """Returns the free bytes under the lowest memory limit of a cgroup, or a very large number without limits."""
    free = _UNKNOWN
    for folder, (limit, used, idle) in itertools.product(cgroup_folders("memory"), _LIMITS):
        with contextlib.suppress(OSError, ValueError):  # no such version, or a limit of "max"
            left = int((folder / limit).read_text(encoding="ascii")) - int((folder / used).read_text(encoding="ascii"))
            free = min(free, left + _counts(folder / "memory.stat").get(idle, 0))
    return free


def _counts(path: Path) -> dict[str, int]:
    """Parses lines with a name and a number to a dict. Returns an empty dict if the file cannot be read."""
    try:
        lines = [line.split() for line in path.read_text(encoding="ascii").splitlines()]
    except OSError:
        return {}
    return {line[0]: int(line[1]) for line in lines if len(line) > 1 and line[1].isdigit()}


def _c_function(name: str) -> "ctypes._NamedFuncPointer | None":
    """Returns a function of the C library, or None if the library has no such function."""
    try:
        return getattr(ctypes.CDLL(None), name, None)
    except (OSError, TypeError):  # Windows opens no library without a name
        return None
