"""CPU cores and threads.

By default, an OpenMP thread spins for milliseconds while waiting for another thread. On an idle machine, spinning is
faster: training with sleeping threads takes a third longer. On a busy machine, spinning threads occupy the cores that
other threads need, and training becomes several times slower (`benchmarks/busy_cores.py`).
"""

import contextlib
import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping, MutableMapping
from pathlib import Path

_CGROUPS, _MEMBERSHIP = Path("/sys/fs/cgroup"), Path("/proc/self/cgroup")
_LOAD = Path("/proc/loadavg")  # Linux; the fourth word starts with the number of runnable threads
_NUM_CHECKS = 5
_SECONDS_BETWEEN_CHECKS = 0.002

BUSY_CORES = (
    "Training is slow because the CPU's cores are busy with other work. Set OMP_WAIT_POLICY=PASSIVE in the environment "
    "before torch is imported (in a notebook, in the first cell: import os; "
    'os.environ["OMP_WAIT_POLICY"] = "PASSIVE"), so that waiting threads sleep; results stay the same.'
)
_SCHEDULER_STATISTICS = Path("/proc/thread-self/schedstat")
_SECONDS_MEASURED = 20.0
_SHARE_WAITED = 0.2  # fraction of the time that a runnable thread waited for a core; nearly 0 on an idle machine
_SHARE_OWN = 0.9  # fraction of the cores; above it, this process itself occupies the cores

# Variables of all OpenMP libraries, of GNU OpenMP, and of LLVM and Intel OpenMP.
_VARIABLES = ("OMP_WAIT_POLICY", "GOMP_SPINCOUNT", "KMP_BLOCKTIME", "KMP_LIBRARY")


def usable_cores() -> int:
    """Returns the number of cores in the affinity of this process, limited by the CPU quota of its cgroup."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, min([cores, *map(round, _quotas())]))


def _quotas() -> Iterator[float]:
    """Yields the CPU quotas, in cores, of the cgroups of this process and of their parents (cgroup v2 and v1)."""
    for folder in cgroup_folders("cpu"):
        with contextlib.suppress(OSError, ValueError):  # another version, or a quota of "max"
            quota, period = (folder / "cpu.max").read_text(encoding="ascii").split()
            yield int(quota) / int(period)
        with contextlib.suppress(OSError, ValueError):
            if (microseconds := int((folder / "cpu.cfs_quota_us").read_text(encoding="ascii"))) > 0:  # -1: no quota
                yield microseconds / int((folder / "cpu.cfs_period_us").read_text(encoding="ascii"))


def cgroup_folders(controller: str) -> Iterator[Path]:
    """Yields the folders of the cgroups of this process and of their parents. The root may be the group itself."""
    try:
        lines = [line.split(":", 2) for line in _MEMBERSHIP.read_text(encoding="ascii").splitlines()]
    except OSError:
        lines = []
    for _, controllers, path in lines:
        if not controllers or controller in controllers.split(","):
            for root in dict.fromkeys((_CGROUPS, _CGROUPS / (controllers or "unified"), _CGROUPS / controller)):
                group = root / path.lstrip("/")
                yield from (folder for folder in (group, *group.parents) if folder.is_relative_to(root))
    if not lines:
        yield from (_CGROUPS, _CGROUPS / controller)


def is_waiting_chosen(environment: Mapping[str, str] = os.environ) -> bool:
    """Returns whether the environment sets the OpenMP wait policy."""
    return any(name in environment for name in _VARIABLES)


def wait_asleep(environment: MutableMapping[str, str] = os.environ) -> None:
    """Makes waiting OpenMP threads sleep, unless the environment sets the wait policy.

    Has an effect only before torch is imported, because OpenMP reads the environment when it is loaded. The number of
    threads and the results stay the same.
    """
    if not is_waiting_chosen(environment):
        environment["OMP_WAIT_POLICY"] = "PASSIVE"


def choose_waiting() -> None:
    """Makes waiting OpenMP threads sleep if other processes are running and torch is not imported yet."""
    if "torch" not in sys.modules and others_are_running():
        wait_asleep()


def others_are_running() -> bool:
    """Returns whether other processes are runnable at each of five checks within ten milliseconds.

    Returns False on systems without `/proc/loadavg`.
    """
    for _ in range(_NUM_CHECKS):
        try:
            num_running = int(_LOAD.read_text(encoding="ascii").split()[3].partition("/")[0])
        except (OSError, ValueError, IndexError):
            return False
        if num_running < 2:  # one is this process itself
            return False
        time.sleep(_SECONDS_BETWEEN_CHECKS)
    return True


def busy_cores_check(times: Callable[[], tuple[float, float, float] | None] | None = None) -> Callable[[object], None]:
    """Returns a function that logs `BUSY_CORES` once if the calling thread often waited for a core since its last call.

    A check covers at least 20 seconds. `times` returns the elapsed seconds, the seconds that this thread waited for
    a core, and the CPU seconds of this process; or None if the system does not report these times.
    """
    measure = times or _times
    last = measure()

    def check(_: object = None) -> None:
        nonlocal last
        if last is None or (now := measure()) is None or now[0] - last[0] < _SECONDS_MEASURED:
            return
        seconds, waited, computed = (after - before for after, before in zip(now, last, strict=True))
        last = now
        if waited > _SHARE_WAITED * seconds and computed < _SHARE_OWN * seconds * usable_cores():
            import logging  # late: `import unbraid` imports this module

            last = None
            logging.getLogger(__name__).warning(BUSY_CORES)

    return check


def _times() -> tuple[float, float, float] | None:
    try:
        waited = int(_SCHEDULER_STATISTICS.read_text(encoding="ascii").split()[1]) / 1e9
    except (OSError, ValueError, IndexError):
        return None
    return time.monotonic(), waited, time.process_time()


@contextlib.contextmanager
def torch_threads(count: int) -> Iterator[None]:
    """Limits torch to `count` threads in the calling thread and in threads started within the block."""
    import torch  # late, so that `wait_asleep` can be called before the import

    before = torch.get_num_threads()
    torch.set_num_threads(count)  # noqa: TID251 (restored below)
    try:
        yield
    finally:
        torch.set_num_threads(before)  # noqa: TID251
