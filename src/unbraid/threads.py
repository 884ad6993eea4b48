"""How OpenMP's threads, which torch computes with on a CPU, wait for each other.

By default a thread that waits spins for milliseconds, ready to go on at once. That suits a machine of one's own. Where
another process wants the core too, a thread that spins keeps the one that it waits for from running, and training
slows down several times over (`benchmarks/busy_cores.py`).
"""

import os
from collections.abc import Mapping, MutableMapping

# The portable variable, and those of GNU's and of LLVM's and Intel's OpenMP.
_VARIABLES = ("OMP_WAIT_POLICY", "GOMP_SPINCOUNT", "KMP_BLOCKTIME", "KMP_LIBRARY")


def is_waiting_chosen(environment: Mapping[str, str] = os.environ) -> bool:
    """Return whether a variable says how threads wait."""
    return any(name in environment for name in _VARIABLES)


def wait_asleep(environment: MutableMapping[str, str] = os.environ) -> None:
    """Let threads sleep while they wait, unless the user has chosen how they do.

    For the command line, before it imports torch: OpenMP reads its variables when it is loaded. How many threads there
    are does not change, so neither do results.
    """
    if not is_waiting_chosen(environment):
        environment["OMP_WAIT_POLICY"] = "PASSIVE"
