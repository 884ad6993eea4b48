"""Usable CPU cores."""

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

_CGROUPS, _MEMBERSHIP = Path("/sys/fs/cgroup"), Path("/proc/self/cgroup")


def usable_cores() -> int:
    """Returns how many cores this process may use: those of its affinity, within the CPU quota of its cgroup."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, min([cores, *map(round, _quotas())]))


def _quotas() -> Iterator[float]:
    """Yields the CPU quotas, in cores, of the cgroups of this process and of all groups above them (v2 and v1)."""
    for folder in _folders():
        with contextlib.suppress(OSError, ValueError):  # another version, or a quota of "max"
            quota, period = (folder / "cpu.max").read_text().split()
            yield int(quota) / int(period)
        with contextlib.suppress(OSError, ValueError):
            if (microseconds := int((folder / "cpu.cfs_quota_us").read_text())) > 0:  # -1: no quota
                yield microseconds / int((folder / "cpu.cfs_period_us").read_text())


def _folders() -> Iterator[Path]:
    """Yields the folders of the cgroups. In a container a group may be mounted as the root, so roots are included."""
    try:
        lines = [line.split(":", 2) for line in _MEMBERSHIP.read_text().splitlines()]
    except OSError:
        lines = []
    for _, controllers, path in lines:
        if not controllers or "cpu" in controllers.split(","):
            for root in dict.fromkeys((_CGROUPS, _CGROUPS / (controllers or "unified"), _CGROUPS / "cpu")):
                group = root / path.lstrip("/")
                yield from (folder for folder in (group, *group.parents) if folder.is_relative_to(root))
    if not lines:
        yield from (_CGROUPS, _CGROUPS / "cpu")
