"""The C library's allocator, told to keep what is freed."""

import ctypes
import os

# Their numbers in glibc's malloc.h.
_M_TRIM_THRESHOLD = -1
_M_MMAP_THRESHOLD = -3
# The most that every glibc takes as the second; blocks of a training step are smaller.
_TRIM_BYTES, _MMAP_BYTES = 1 << 30, 1 << 25


def keep_freed_memory() -> bool:
    """Lets a freed block be used again instead of going back to the system. Returns whether this C library could be
    told so.

    A training step on the CPU allocates the same blocks of a few megabytes as the step before. By default glibc maps
    each of them anew, and the system clears every page of it: nearly half the time of a small fleet
    (`benchmarks/cpu_fleet.py`). The setting holds for the whole process: the command line makes it, and so does
    training on a CPU. A user's own MALLOC_ variables are left alone.
    """
    if any(name.startswith("MALLOC_") for name in os.environ):
        return False
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is None:  # not glibc
        return False
    return bool(mallopt(_M_TRIM_THRESHOLD, _TRIM_BYTES)) and bool(mallopt(_M_MMAP_THRESHOLD, _MMAP_BYTES))
