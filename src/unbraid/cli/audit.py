"""`unbraid audit`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, final

import typer

from unbraid import files
from unbraid.cli.console import note, say, stage
from unbraid.cli.options import Packages, Trusted, TrustSource, parse_trust
from unbraid.errors import SpecError, UnbraidError

if TYPE_CHECKING:
    from unbraid.audit import Audit
    from unbraid.audit.contents import Contents
    from unbraid.runs.run import Run


@final
class _StoppedError(UnbraidError):
    """Is raised when the audit was stopped by Ctrl-C."""

    exit_code = 130


def audit(
    what: Annotated[
        list[Path] | None,
        typer.Argument(metavar="[RUNS]", help="Runs with snapshots, or folders of them.", show_default=False),
    ] = None,
    out: Annotated[Path, typer.Option(metavar="FILE", help="The page to write, an .html file.")] = Path("audit.html"),
    metrics: Annotated[
        str | None,
        typer.Option(metavar="NAMES", help="Names such as mig,dci:forest. Default: every metric.", show_default=False),
    ] = None,
    size: Annotated[str, typer.Option(metavar="quick|full", help="How many codes are drawn, and how large.")] = "full",
    save: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Keep every value in a .json file as well; go on where it ends.", show_default=False
        ),
    ] = None,
    processes: Annotated[
        int | None,
        typer.Option(metavar="NUMBER", min=0, help="Processes to work in. Default: one a core.", show_default=False),
    ] = None,
    force: Annotated[
        bool, typer.Option("--force", help="Replace the page of --out, even if this audit holds less than it.")
    ] = False,
    packages: Packages = None,
    trust_source: TrustSource = False,
) -> None:
    """Measure the metrics themselves, and say what each is good for.

    Codes are drawn whose truth is known, and spoiled in one way at a time; a page shows what each metric makes of them,
    how noisy it is, and how much its own settings matter. Runs with snapshots show which metrics follow training.

    Examples:
      unbraid audit
      unbraid audit --metrics mig,dci,sap --size quick
      unbraid audit runs --out audit.html --save audit.json
    """
    try:
        _check_files(out, save)
        trusted = parse_trust(packages, trust_source)
        _audit(what or [], out, metrics, size, save, processes, trusted, force=force)
    except KeyboardInterrupt:
        raise _StoppedError(f"Stopped at once, as asked. {_kept(save)}") from None


def _check_files(out: Path, save: Path | None) -> None:
    for path, suffix, flag in ((out, ".html", "--out"), (save, ".json", "--save")):
        if path is not None:
            if path.suffix != suffix:
                raise SpecError(f"{flag} is {path}; name an {suffix} file.")
            files.check_writable(path)


def _audit(
    what: list[Path],
    out: Path,
    metrics: str | None,
    size: str,
    save: Path | None,
    processes: int | None,
    trusted: Trusted,
    *,
    force: bool,
) -> None:
    from unbraid.audit import audit as measure
    from unbraid.audit import write_audit_page
    from unbraid.audit.auditing import coming
    from unbraid.audit.sizes import caveat
    from unbraid.cli.run_folders import finished_among, open_runs

    runs = with_snapshots(finished_among(open_runs(what, trusted), "audit with")) if what else []
    earlier = _earlier(save, trusted)
    contents = coming(metrics, runs, size, earlier)
    if not force:
        check_page(out, contents)
    keep = None if save is None else lambda so_far: files.write_text(save, so_far.to_json())
    with stage("Measuring the metrics"):
        found = measure(metrics, runs=runs, size=size, num_processes=processes, earlier=earlier, keep=keep, **trusted)
    written = write_audit_page(found, out, command=_command(found, what, runs, trusted))
    if warning := caveat(found.size):
        note(warning)
    say(f"The page is in {written.resolve().as_uri()}")
    if save is not None:
        say(f"Every value is in {save}.")


def check_page(out: Path, contents: "Contents") -> None:
    """Refuses to replace a file that holds what an audit of these contents would not: another file, or the page of an
    audit of another size or version, or with metrics or snapshots that are not in this one.
    """
    from unbraid.audit.contents import Contents

    if not out.exists():
        return
    there = Contents.on_page(files.read_bytes(out).decode("utf-8", errors="replace"))
    why = "is no page of an audit" if there is None else (lacks := contents.lacks(there)) and f"holds {lacks}"
    if why:
        raise SpecError(f"--out is {out}, which exists and {why}. Name another file, or replace it with --force.")


def with_snapshots(runs: "list[Run]") -> "list[Run]":
    """Returns the runs that have snapshots, and prints a note on the others; all of them if none has, which the audit
    complains of.
    """
    found = [run for run in runs if run.snapshots]
    left_out = [run.name for run in runs if not run.snapshots]
    if found and left_out:
        note(f"{len(left_out)} of {len(runs)} runs have no snapshots and are left out: {', '.join(left_out)}.")
    return found or runs


def _earlier(save: Path | None, trusted: Trusted) -> "Audit | None":
    from unbraid.audit import Audit

    if save is None or not save.exists():
        return None
    try:
        return Audit.from_json(files.read_bytes(save).decode("utf-8"), packages=trusted["packages"])
    except (UnbraidError, UnicodeDecodeError) as error:
        raise SpecError(f"--save is {save}, which exists. {error} Name another file, or a new one.") from None


def _command(found: "Audit", what: list[Path], runs: "list[Run]", trusted: Trusted) -> str:
    """Returns what measures all that the page shows. The folders of runs that only an earlier command was given are
    not known.
    """
    from unbraid.audit.contents import Contents
    from unbraid.audit.repeat import repeat_command

    needed = {run for run, _ in Contents.of(found).snapshots}
    folders = [path.name or str(path) for path in what] if needed <= {run.name for run in runs} else []
    return repeat_command(found, folders, trusted["packages"])


def _kept(save: Path | None) -> str:
    """Returns what is left of an audit that was stopped."""
    if save is None:
        return "Nothing is kept. With --save audit.json it would be, and the same command would then go on from there."
    if not save.exists():
        return "Nothing had been measured yet."
    return f"What was measured is kept in {save}; to go on, type the command again."
