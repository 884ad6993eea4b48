"""The allocator can be told to keep what is freed and to hand it back, and a user's own settings win."""

import os
import platform
import subprocess
import sys

import pytest

CODE = "from unbraid._internal.allocator import keep_freed_memory; print(keep_freed_memory())"
# How many pages the system had to clear for the second of two blocks of 100 MB.
PAGES = """
import ctypes, resource
from unbraid._internal.allocator import hand_back_freed_memory, keep_freed_memory
libc = ctypes.CDLL(None)
libc.malloc.restype = ctypes.c_void_p

def pages_cleared():
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    block = ctypes.c_void_p(libc.malloc(100_000_000))
    ctypes.memset(block, 1, 100_000_000)
    libc.free(block)
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before

assert keep_freed_memory()
pages_cleared()
kept = pages_cleared()
hand_back_freed_memory()
print(kept < 1000, pages_cleared() > 1000)
"""
needs_glibc = pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="only glibc has mallopt")
needs_newer_glibc = pytest.mark.skipif(
    tuple(map(int, platform.libc_ver()[1].split(".") if platform.libc_ver()[0] == "glibc" else "0")) < (2, 35),
    reason="glibc before 2.35 keeps no block above 32 MB",
)


def printed(code: str, **environment: str) -> str:
    """In a Python of its own: the setting lasts as long as the process."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("MALLOC_")}
    done = subprocess.run(
        [sys.executable, "-c", code], env=inherited | environment, capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


@needs_glibc
def test_glibc_takes_the_setting():
    assert printed(CODE) == "True"


@needs_newer_glibc
def test_large_blocks_are_kept_until_they_are_handed_back():
    assert printed(PAGES) == "True True"


def test_a_users_own_settings_are_left_alone():
    assert printed(CODE, MALLOC_TRIM_THRESHOLD_="131072") == "False"
