"""`unbraid diagnose`."""

from collections import Counter
from collections.abc import Mapping, Sequence
from json import dumps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from unbraid._internal import files
from unbraid.cli.console import complain, note, output, say
from unbraid.cli.options import Device, Packages, parse_packages
from unbraid.errors import SpecError, UnbraidError

if TYPE_CHECKING:
    from unbraid.diagnose import Diagnosis
    from unbraid.training.runs.run import Run


def diagnose(
    what: Annotated[list[Path], typer.Argument(metavar="RUNS", help="Runs, or folders of runs.", show_default=False)],
    images: Annotated[int, typer.Option(metavar="NUMBER", min=2, help="How many images to look at, at most.")] = 10_000,
    save: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write the findings to a .json file as well.", show_default=False),
    ] = None,
    *,
    force: Annotated[bool, typer.Option("--force", help="Replace the file of --save if it exists.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Print JSON instead of sentences.")] = False,
    device: Device = "auto",
    packages: Packages = None,
) -> None:
    """Diagnose runs and suggest fixes.

    It looks for latents that are unused or hold the same information, prints what a nat of rate cost in the loss, how
    alike latents change the image, which factors no latent holds or two share, and whether training was over. Of a run
    that failed, it prints the reason.

    Examples:
      unbraid diagnose runs/beta-tcvae-0123456789ab-seed0
      unbraid diagnose runs --save findings.json
      unbraid diagnose runs --json
    """
    from unbraid._internal.device import resolve_device
    from unbraid.cli.run_folders import open_runs

    if save is not None:
        _check_save(save, force=force)
    place = str(resolve_device(device))
    runs = _chosen(open_runs(what, parse_packages(packages)))
    found = _diagnosed(runs, images, place)
    text = dumps({name: diagnosis.content() for name, diagnosis in found.items()}, indent=2, allow_nan=False) + "\n"
    if save is not None and found:
        files.write_text(save, text)
    if json:
        output().file.write(text)
    else:
        _show(found)
        if save is not None and found:
            say(f"The findings are in {save}.")
    if len(found) < len(runs):
        raise typer.Exit(1)


def _check_save(save: Path, *, force: bool) -> None:
    """Refuses a target that cannot or must not be written, before anything is computed."""
    if save.suffix != ".json":
        raise SpecError(f"--save is {save}; findings are kept as JSON, so name a .json file.")
    files.check_writable(save)
    if save.exists() and not force:
        raise SpecError(f"--save is {save}, which exists. Name another file, or replace it with --force.")


def _chosen(runs: Sequence["Run"]) -> list["Run"]:
    """Returns the runs that have something to diagnose: those that failed, and those that have a model."""
    from unbraid.cli.run_folders import with_models

    failed = [run for run in runs if run.status == "failed"]
    others = [run for run in runs if run.status != "failed"]
    if failed and not any(run.has_model for run in others):
        if others:
            why = ", ".join(f"{run.name} {_lacks(run)}" for run in others)
            note(f"{len(others)} of {len(runs)} runs are left out: {why}.")
        return failed
    kept = {run.folder for run in [*failed, *with_models(others, "diagnose")]}
    return [run for run in runs if run.folder in kept]


def _lacks(run: "Run") -> str:
    return "keeps scores alone" if run.status == "finished" else f"is {run.status}"


def _diagnosed(runs: Sequence["Run"], num_images: int, device: str) -> dict[str, "Diagnosis"]:
    """Returns what was found in each run, by its name, or by its folder where names are the same.

    One that is damaged is reported; if it is the only one, it is refused.
    """
    from unbraid.diagnose import diagnose as look_at

    same = Counter(run.name for run in runs)
    found = {}
    for run in runs:
        name = run.name if same[run.name] == 1 else str(run.folder)
        try:
            found[name] = look_at(run, num_images=num_images, device=device)
        except (UnbraidError, OSError) as error:
            if len(runs) == 1:
                raise
            complain(f"{run.folder} could not be diagnosed: {error}")
    return found


def _show(found: Mapping[str, "Diagnosis"]) -> None:
    """Prints the diagnoses and, of several, a table of which checks ask to look."""
    from unbraid.cli.tables import columns

    say("\n\n".join(map(str, found.values())))
    if len(found) < 2:
        return
    table = columns("run", "checks that ask you to look")
    for name, diagnosis in found.items():
        table.add_row(name, ", ".join(diagnosis.asking) or "none")
    say("")
    output().print(table)
