"""Free memory, freed memory that is kept, and errors for lack of memory."""

import contextlib
import gc
import os
import platform
import subprocess
import sys

import pytest
import torch

from unbraid._internal import cpu, memory
from unbraid._internal.memory import free_memory, is_out_of_memory


def test_this_machine_has_memory_and_no_more_than_all_of_it():
    assert 2**28 < free_memory(torch.device("cpu")) < 2**50


def test_what_is_available_counts_and_not_all_there_is(tmp_path):
    (tmp_path / "meminfo").write_text(
        "MemTotal:       24682416 kB\nMemFree:        100 kB\nMemAvailable:   2000 kB\nHugePages_Total: 0\n"
    )
    assert memory._free_on_machine(tmp_path / "meminfo") == 2000 * 1024


def test_where_the_system_does_not_say_it_is_all_there_is(tmp_path):
    assert memory._free_on_machine(tmp_path / "meminfo") > 2**28


@pytest.fixture
def put_group(tmp_path, monkeypatch):
    """Writes the limit, use and reclaimable bytes of a cgroup; /proc/self/cgroup has the lines of `membership`."""
    monkeypatch.setattr(cpu, "_CGROUPS", tmp_path / "cgroup")
    monkeypatch.setattr(cpu, "_MEMBERSHIP", tmp_path / "membership")
    names = {
        2: ("memory.max", "memory.current", "inactive_file"),
        1: ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"),
    }

    def put(membership, folder, version, numbers):
        (tmp_path / "membership").write_text(membership)
        path = tmp_path / "cgroup" / folder
        path.mkdir(parents=True, exist_ok=True)
        limit, used, idle = names[version]
        for name, content in zip((limit, used, "memory.stat"), numbers, strict=True):
            (path / name).write_text(f"anon 17\n{idle} {content}\n" if name == "memory.stat" else f"{content}\n")

    return put


@pytest.mark.parametrize(
    ("membership", "folder", "version"),
    [
        ("0::/\n", "", 2),
        ("0::/system.slice/slurm/job_7/step_0\n", "system.slice/slurm/job_7", 2),
        ("4:memory:/slurm/uid_1/job_7\n", "memory/slurm/uid_1/job_7", 1),
        ("4:memory:/docker/1\n", "memory", 1),
    ],
)
def test_the_limits_of_all_cgroups_above_count_without_reclaimable_files(put_group, membership, folder, version):
    put_group(membership, folder, version, (8000, 5000, 1500))
    assert memory._free_in_cgroups() == 4500


def test_the_tightest_of_the_limits_counts(put_group):
    put_group("0::/a/b\n", "a/b", 2, (9000, 1000, 0))
    put_group("0::/a/b\n", "a", 2, (9000, 6000, 0))
    put_group("0::/a/b\n", "", 2, ("max", 7000, 0))
    assert memory._free_in_cgroups() == 3000


def test_a_container_without_a_limit_has_much(put_group):
    put_group("0::/\n", "", 2, ("max", 5000, 0))
    assert memory._free_in_cgroups() > 2**60


@pytest.mark.parametrize(
    ("error", "is_it"),
    [
        (MemoryError(), True),
        (torch.OutOfMemoryError("CUDA out of memory."), True),
        (RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried to allocate 8 bytes."), True),
        (RuntimeError("CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`"), True),
        (RuntimeError("mat1 and mat2 shapes cannot be multiplied"), False),
        (ValueError("out of memory"), False),
    ],
)
def test_errors_that_say_so_are_told_from_others(error, is_it):
    assert is_out_of_memory(error) == is_it


def test_what_torch_itself_raises_is_recognized():
    with pytest.raises(RuntimeError) as raised:
        torch.empty(2**55, dtype=torch.uint8)
    assert is_out_of_memory(raised.value)


# ---- freed memory

CODE = "from unbraid._internal.memory import keep_freed_memory; print(keep_freed_memory())"
# How many pages the system had to clear for the second of two blocks of 100 MB.
PAGES = """
import ctypes, resource, torch
from unbraid._internal.memory import give_back_memory, keep_freed_memory
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
give_back_memory(torch.device("cpu"))
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


def test_reference_cycles_are_collected_again_after_the_block():
    with contextlib.suppress(ZeroDivisionError), memory.no_garbage_collection():
        assert not gc.isenabled()
        _ = 1 / 0
    assert gc.isenabled()
