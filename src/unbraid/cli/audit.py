"""`unbraid audit`."""

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from unbraid import files
from unbraid.cli.console import note, say, stage
from unbraid.cli.options import Packages, TrustSource, parse_trust
from unbraid.errors import SpecError, UnbraidError

if TYPE_CHECKING:
    from unbraid.runs.run import Run


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
    from unbraid.audit import Audit, write_audit_page
    from unbraid.audit import audit as measure
    from unbraid.cli.run_folders import finished_among, open_runs

    for path, suffix, flag in ((out, ".html", "--out"), (save, ".json", "--save")):
        if path is not None:
            if path.suffix != suffix:
                raise SpecError(f"{flag} is {path}; name an {suffix} file.")
            files.check_writable(path)
    trusted = parse_trust(packages, trust_source)
    runs = with_snapshots(finished_among(open_runs(what, trusted), "audit with")) if what else []
    try:
        earlier = Audit.from_json(files.read_bytes(save).decode("utf-8")) if save and save.exists() else None
    except (UnbraidError, UnicodeDecodeError) as error:
        raise SpecError(f"--save is {save}, which exists. {error} Name another file, or a new one.") from None
    keep = None if save is None else lambda so_far: files.write_text(save, so_far.to_json())
    with stage("Measuring the metrics"):
        found = measure(metrics, runs=runs, size=size, num_processes=processes, earlier=earlier, keep=keep, **trusted)
    flags = [*(["--metrics", metrics] if metrics else []), *(["--size", size] if size != "full" else [])]
    command = shlex.join(["unbraid", "audit", *(path.name for path in what or ()), *flags])
    written = write_audit_page(found, out, command=command)
    say(f"The page is in {written.resolve().as_uri()}")
    if save is not None:
        say(f"Every value is in {save}.")


def with_snapshots(runs: "list[Run]") -> "list[Run]":
    """Returns the runs that have snapshots, and prints a note on the others; all of them if none has, which the audit
    complains of.
    """
    found = [run for run in runs if run.snapshots]
    left_out = [run.name for run in runs if not run.snapshots]
    if found and left_out:
        note(f"{len(left_out)} of {len(runs)} runs have no snapshots and are left out: {', '.join(left_out)}.")
    return found or runs
