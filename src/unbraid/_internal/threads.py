"""How OpenMP's threads, which torch computes with on a CPU, wait for each other.

By default a thread that waits spins for milliseconds, ready to go on at once. That suits a machine of one's own, where
threads that sleep would train a third slower. Where another process wants the core too, a thread that spins keeps the
one that it waits for from running, and training slows down several times over (`benchmarks/busy_cores.py`).
"""

import contextlib
import os
import sys
import time
from collections.abc import Iterator, Mapping, MutableMapping
from pathlib import Path

_LOAD = Path("/proc/loadavg")  # of Linux; its fourth word begins with how many threads run or want to
_NUM_LOOKS = 5
_SECONDS_BETWEEN_LOOKS = 0.002

# The portable variable, and those of GNU's and of LLVM's and Intel's OpenMP.
_VARIABLES = ("OMP_WAIT_POLICY", "GOMP_SPINCOUNT", "KMP_BLOCKTIME", "KMP_LIBRARY")


def is_waiting_chosen(environment: Mapping[str, str] = os.environ) -> bool:
    """Returns whether a variable says how threads wait."""
    return any(name in environment for name in _VARIABLES)


def wait_asleep(environment: MutableMapping[str, str] = os.environ) -> None:
    """Lets threads sleep while they wait, unless the user has chosen how they do.

    It must come before torch is imported: OpenMP reads its variables when it is loaded. How many threads there are does
    not change, so neither do results.
    """
    if not is_waiting_chosen(environment):
        environment["OMP_WAIT_POLICY"] = "PASSIVE"


def choose_waiting() -> None:
    """Lets threads sleep while they wait if other processes are busy now and torch is yet to be imported."""
    if "torch" not in sys.modules and others_are_running():
        wait_asleep()


def others_are_running() -> bool:
    """Returns whether other processes want a core all the time: at each of a few looks within ten milliseconds. False
    where the system does not say.
    """
    for _ in range(_NUM_LOOKS):
        try:
            num_running = int(_LOAD.read_text().split()[3].partition("/")[0])
        except (OSError, ValueError, IndexError):
            return False
        if num_running < 2:  # one is this process itself
            return False
        time.sleep(_SECONDS_BETWEEN_LOOKS)
    return True


@contextlib.contextmanager
def torch_threads(count: int) -> Iterator[None]:
    """Limits torch to this many threads in the calling thread and in those started within the block."""
    import torch  # late, so that `wait_asleep` can come before it

    before = torch.get_num_threads()
    torch.set_num_threads(count)  # noqa: TID251 (restored below)
    try:
        yield
    finally:
        torch.set_num_threads(before)  # noqa: TID251
