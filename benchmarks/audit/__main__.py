"""Audits metrics: python -m benchmarks.audit, from the root of the repository.

Codes are drawn whose truth is known, and spoiled in one way at a time; a page shows the scores that each metric gives
them, its noise, and the effect of its settings. Runs with snapshots show which metrics follow training.

    python -m benchmarks.audit
    python -m benchmarks.audit --metrics mig,dci,sap --size quick
    python -m benchmarks.audit runs --out audit.html --save audit.json
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from benchmarks.audit import Audit, audit, write_audit_page
from benchmarks.audit.auditing import coming
from benchmarks.audit.contents import Contents
from benchmarks.audit.repeat import repeat_command
from benchmarks.audit.sizes import caveat
from unbraid._internal import files
from unbraid.errors import SpecError, UnbraidError
from unbraid.training.runs.run import Run
from unbraid.training.runs.runs_in import runs_in


def main(arguments: Sequence[str] | None = None) -> int:
    given = _parser().parse_args(arguments)
    try:
        _audit(given)
    except UnbraidError as error:
        print(f"Error: {error}", file=sys.stderr)
        return error.exit_code
    except KeyboardInterrupt:
        print(f"Stopped. {_kept(given.save)}", file=sys.stderr)
        return 130
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.audit", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("runs", nargs="*", type=Path, help="runs with snapshots, or folders of them")
    parser.add_argument("--out", type=Path, default=Path("audit.html"), help="the page to write, an .html file")
    parser.add_argument("--metrics", help="names such as mig,dci:forest; default: every metric")
    parser.add_argument("--size", default="full", help="how many codes are drawn, and how large: quick or full")
    parser.add_argument("--save", type=Path, help="a .json file for every value; an audit in it is continued")
    parser.add_argument("--processes", type=int, help="number of processes; default: one a core")
    parser.add_argument("--force", action="store_true", help="replace the page of --out, even if it holds more")
    parser.add_argument("--packages", default="", help="packages whose classes may be imported, such as mine,yours")
    return parser


def _audit(given: argparse.Namespace) -> None:
    for path, suffix, flag in ((given.out, ".html", "--out"), (given.save, ".json", "--save")):
        if path is not None:
            if path.suffix != suffix:
                raise SpecError(f"{flag} is {path}; expected an {suffix} file. Rename it.")
            files.check_writable(path)
    packages = [name for name in given.packages.split(",") if name]
    runs = with_snapshots([run for path in given.runs for run in _runs_at(path, packages)])
    if given.runs and not runs:
        raise SpecError("There are no finished runs here, so there is nothing to audit with. Name a folder of runs.")
    earlier = _earlier(given.save, packages)
    if not given.force:
        check_page(given.out, coming(given.metrics, runs, given.size, earlier))
    keep = None if given.save is None else lambda so_far: files.write_text(given.save, so_far.to_json())
    found = audit(
        given.metrics,
        runs=runs,
        size=given.size,
        num_processes=given.processes,
        earlier=earlier,
        keep=keep,
        packages=packages,
    )
    needed = {run for run, _ in Contents.of(found).snapshots}
    folders = [path.name or str(path) for path in given.runs] if needed <= {run.name for run in runs} else []
    written = write_audit_page(found, given.out, command=repeat_command(found, folders, packages))
    if warning := caveat(found.size):
        print(f"Note: {warning}", file=sys.stderr)
    print(f"The page is in {written.resolve().as_uri()}")
    if given.save is not None:
        print(f"Every value is in {given.save}.")


def _runs_at(path: Path, packages: Sequence[str]) -> list[Run]:
    return [run for run in runs_in(path, packages=packages) if run.status == "finished"]


def check_page(out: Path, contents: Contents) -> None:
    """Raises if the page holds results that an audit of these contents would not, or is no page of an audit."""
    if not out.exists():
        return
    there = Contents.on_page(files.read_bytes(out).decode("utf-8", errors="replace"))
    why = "is no page of an audit" if there is None else (lacks := contents.lacks(there)) and f"holds {lacks}"
    if why:
        raise SpecError(f"--out is {out}, which exists and {why}. Name another file, or replace it with --force.")


def with_snapshots(runs: list[Run]) -> list[Run]:
    """Returns the runs that have snapshots and prints a note on the others; all of them if none has."""
    found = [run for run in runs if run.snapshots]
    left_out = [run.name for run in runs if not run.snapshots]
    if found and left_out:
        print(
            f"Note: {len(left_out)} of {len(runs)} runs have no snapshots and are left out: {', '.join(left_out)}.",
            file=sys.stderr,
        )
    return found or runs


def _earlier(save: Path | None, packages: Sequence[str]) -> Audit | None:
    if save is None or not save.exists():
        return None
    try:
        return Audit.from_json(files.read_bytes(save).decode("utf-8"), packages=packages)
    except (UnbraidError, UnicodeDecodeError) as error:
        raise SpecError(f"--save is {save}, which exists. {error} Name another file, or a new one.") from None


def _kept(save: Path | None) -> str:
    """Returns what is left of an audit that was stopped."""
    if save is None:
        return "Nothing is kept. With --save audit.json it would be, and the same command would then continue."
    if not save.exists():
        return "Nothing had been measured yet."
    return f"What was measured is kept in {save}; to continue, type the command again."


if __name__ == "__main__":
    sys.exit(main())
