"""`unbraid diagnose`."""

from pathlib import Path
from typing import Annotated

import typer

from unbraid import files
from unbraid.cli.console import output, say
from unbraid.cli.options import Device, Packages, TrustSource, parse_trust
from unbraid.errors import SpecError


def diagnose(
    what: Annotated[list[Path], typer.Argument(metavar="RUNS", help="Runs, or folders of runs.", show_default=False)],
    images: Annotated[int, typer.Option(metavar="NUMBER", min=2, help="How many images to look at, at most.")] = 10_000,
    save: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write the findings to a .json file as well.", show_default=False),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print JSON in place of sentences.")] = False,
    device: Device = "auto",
    packages: Packages = None,
    trust_source: TrustSource = False,
) -> None:
    """Say what ails runs, and what to try next.

    It looks for latents that say nothing or say the same, tells what a nat of rate cost in the loss, how alike latents
    change the image, which factors no latent holds or two share, and whether training was over.

    Examples:
      unbraid diagnose runs/beta-tcvae-0123456789ab-seed0
      unbraid diagnose runs --save findings.json
      unbraid diagnose runs --json
    """
    from unbraid.cli.run_folders import open_runs, with_models
    from unbraid.diagnosis import diagnose as look_at
    from unbraid.diagnosis.diagnosis import findings_json

    if save is not None:
        if save.suffix != ".json":
            raise SpecError(f"--save is {save}; findings are kept as JSON, so name a .json file.")
        files.check_writable(save)
    runs = with_models(open_runs(what, parse_trust(packages, trust_source)), "diagnose")
    found = {run.name: look_at(run, num_images=images, device=device) for run in runs}
    if save is not None:
        files.write_text(save, findings_json(found))
    if json:
        output().file.write(findings_json(found))
        return
    say("\n\n".join(map(str, found.values())))
    if save is not None:
        say(f"The findings are in {save}.")
