"""The C library's allocator, told to keep what is freed."""

import ctypes
import os

# Their numbers in glibc's malloc.h.
_M_TRIM_THRESHOLD = -1
_M_MMAP_THRESHOLD = -3
# Read as a size, -1 is more than any block: nothing goes back by itself.
_NEVER = -1
# From this size on a block is mapped by itself and cleared each time. An older glibc takes the second alone.
_MMAP_BYTES = (1 << 30, 1 << 25)


def keep_freed_memory() -> bool:
    """Lets a freed block be used again instead of going back to the system. Returns whether this C library could be
    told so.

    A training step on the CPU allocates the same blocks as the step before. By default glibc maps each large one anew,
    and the system clears every page of it: nearly half the time of a small fleet, and three quarters where codes are
    compared in large batches (`benchmarks/cpu_fleet.py`). The setting holds for the whole process: the command line
    makes it, and so does training on a CPU, which hands back what it does not need after every fleet
    (`hand_back_freed_memory`). A user's own MALLOC_ variables are left alone.
    """
    if any(name.startswith("MALLOC_") for name in os.environ):
        return False
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is None:  # not glibc
        return False
    return bool(mallopt(_M_TRIM_THRESHOLD, _NEVER)) and any(mallopt(_M_MMAP_THRESHOLD, size) for size in _MMAP_BYTES)


def hand_back_freed_memory() -> None:
    """Gives the system what is freed and kept, where the C library can be asked to."""
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)
