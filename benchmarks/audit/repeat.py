"""The command that measures again what an audit holds."""

import shlex
from collections.abc import Sequence

from benchmarks.audit.auditing import audited_metrics
from benchmarks.audit.contents import Contents
from benchmarks.audit.findings import Audit
from benchmarks.audit.sizes import SIZES, size_name


def is_of_all_metrics(audit: Audit) -> bool:
    """Returns whether every metric of the library is among those that were audited."""
    return Contents.of(audit).metrics >= set(audited_metrics(None))


def repeat_command(audit: Audit, folders: Sequence[str] = (), packages: Sequence[str] = ()) -> str:
    """Returns what to type to measure all of this audit again. `folders` are those of the runs whose snapshots are in
    it, and `packages` those of metrics of one's own. An audit of a size without a name is repeated in Python.
    """
    names = [one.name for one in audit.metrics if not one.part]
    metrics = None if set(names) == set(audited_metrics(None)) else ",".join(names)
    runs = sorted({run for run, _ in Contents.of(audit).snapshots})
    size = size_name(audit.size)
    if size not in SIZES:
        given = [repr(metrics)] if metrics else []
        given += ["runs=[...]"] if runs else []
        return f"from benchmarks.audit import Size, audit\n\naudit({', '.join([*given, f'size={size}'])}){_whose(runs)}"
    words = ["python", "-m", "benchmarks.audit", *(folders or ["RUNS"] * bool(runs))]
    words += ["--metrics", metrics] if metrics else []
    words += ["--size", size] if size != "full" else []
    words += ["--packages", ",".join(packages)] if packages else []
    return shlex.join(words) + ("" if folders else _whose(runs))


def _whose(runs: Sequence[str]) -> str:
    return f"\n# the runs: {', '.join(runs)}" if runs else ""
