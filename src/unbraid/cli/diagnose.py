"""`unbraid diagnose`: problems of runs, and suggested fixes."""

from collections import Counter
from collections.abc import Sequence
from json import dumps
from typing import TYPE_CHECKING, Annotated

import typer

from unbraid.cli.console import echo, note, output, print_error
from unbraid.cli.options import Device, Packages, RunFolders, parse_packages
from unbraid.cli.runs import open_runs, select_with_model
from unbraid.errors import UnbraidError

if TYPE_CHECKING:
    from unbraid.diagnose import Diagnosis
    from unbraid.training.runs.run import Run


def diagnose(
    what: RunFolders,
    images: Annotated[int, typer.Option(metavar="NUMBER", min=2, help="Use at most this number of images.")] = 10_000,
    *,
    json: Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")] = False,
    device: Device = "auto",
    packages: Packages = None,
) -> None:
    """Diagnose runs and suggest fixes.

    The checks find unused and redundant latents, factors encoded in no latent or in two, and unfinished training. The
    output also has the cost of a nat of rate in the loss, the similarity of the effects of latents on the image, and
    the reason why a run failed.

    Examples:
      unbraid diagnose runs/beta-tcvae-0123456789ab-seed0
      unbraid diagnose runs --json > findings.json
    """
    from unbraid._internal.device import resolve_device
    from unbraid.cli.tables import columns

    place = str(resolve_device(device))
    runs = _with_findings(open_runs(what, parse_packages(packages)))
    found = _diagnosed(runs, images, place)
    if json:
        contents = {name: diagnosis.content() for name, diagnosis in found.items()}
        output().file.write(dumps(contents, indent=2, allow_nan=False) + "\n")
    else:
        echo("\n\n".join(map(str, found.values())))
        if len(found) > 1:
            table = columns("run", "checks with findings")
            for name, diagnosis in found.items():
                table.add_row(name, ", ".join(diagnosis.asking) or "none")
            echo("")
            output().print(table)
    if len(found) < len(runs):
        raise typer.Exit(1)


def _diagnosed(runs: "Sequence[Run]", num_images: int, device: str) -> "dict[str, Diagnosis]":
    """Returns the diagnosis of each run by run name, or by folder if several runs have the same name.

    Prints an error for each damaged run, or raises the error if there is only one run.
    """
    from unbraid.diagnose import diagnose as diagnose_run

    same, found = Counter(run.name for run in runs), {}
    for run in runs:
        name = run.name if same[run.name] == 1 else str(run.folder)
        try:
            found[name] = diagnose_run(run, num_images=num_images, device=device)
        except (UnbraidError, OSError) as error:
            if len(runs) == 1:
                raise
            print_error(f"{run.folder} could not be diagnosed: {error}")
    return found


def _with_findings(runs: "Sequence[Run]") -> "list[Run]":
    """Returns the runs that failed or have a model. Prints a note about other runs; raises RunError if none remain."""
    kept = [run for run in runs if run.status == "failed" or run.has_model]
    if not kept:
        select_with_model(runs, "diagnose")
    if left_out := [f"{run.name} is {run.status}" for run in runs if run not in kept]:
        note(f"Skipped {len(left_out)} of {len(runs)} runs, which have no model: {', '.join(left_out)}.")
    return kept
