"""Threads that write the results of a fleet: checksums are computed while others wait for the disk."""

import threading
from concurrent.futures import ThreadPoolExecutor

import torch

_NUM_WRITERS = 4


def writers() -> ThreadPoolExecutor:
    """Returns a pool for a block of writes, whose errors surface when their results are read."""
    one_at_a_time = threading.Lock()

    def wake() -> None:
        # The first use of torch in a thread sets up its own threads. In a process that was forked, two that do so at
        # once get in each other's way.
        with one_at_a_time:
            torch.get_num_threads()

    return ThreadPoolExecutor(_NUM_WRITERS, thread_name_prefix="unbraid-write", initializer=wake)
