"""`unbraid train`."""

from pathlib import Path
from typing import Annotated

import typer

from unbraid.cli.console import output, say
from unbraid.cli.flags import Given, known_flags, with_flags
from unbraid.cli.options import (
    CheckpointEvery,
    Device,
    OutFolder,
    Packages,
    parse_every,
    parse_packages,
    parse_seeds,
    parse_steps,
)
from unbraid.errors import SpecError

_PANELS = {
    "": "What to train (fields of RunSpec)",
    "dataset.": "Fields of --dataset",
    "critic.": "Fields of the critic, for objectives that have one",
    "model.": "Fields of the model",
    "objective.": "Fields of --objective",
    "optimizer.": "Fields of --optimizer",
    "sampling.": "Fields of --sampling: how likely images are",
    "subset.": "Fields of --subset: which images",
}


@with_flags(lambda: known_flags("train"), _PANELS, {"num_steps": "--steps"}.get)
def train(
    given: Given,
    seeds: Annotated[
        str | None,
        typer.Option(metavar="NUMBERS", help="4, or 0,3,5, or 0-7: a model each. Default 0.", show_default=False),
    ] = None,
    preset: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Start from settings that were seen to learn, such as beta-vae-sprites; flags change them.",
            show_default=False,
        ),
    ] = None,
    spec: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Train the spec of a spec.json, instead of flags for its fields.", show_default=False
        ),
    ] = None,
    out: OutFolder = Path("runs"),
    device: Device = "auto",
    checkpoint_every: CheckpointEvery = None,
    *,
    resume: Annotated[
        bool,
        typer.Option("--resume", help="Go on with unfinished runs. Without other flags: with all of them in --out."),
    ] = False,
    stream: Annotated[
        bool | None,
        typer.Option(
            "--stream/--no-stream",
            help="Read images from the disk as they are needed. By default only if they are too many for memory.",
        ),
    ] = None,
    deterministic: Annotated[
        bool,
        typer.Option(
            "--deterministic",
            help="On a GPU, compile steps that are the same on every machine of its kind. Up to an eighth slower.",
        ),
    ] = False,
    snapshots: Annotated[
        str | None,
        typer.Option(
            metavar="NUMBERS", help="1000,5000: keep the weights after these steps as well.", show_default=False
        ),
    ] = None,
    keep_state: Annotated[
        bool,
        typer.Option("--keep-state", help="Keep the state of the last step, so that run.extend() can go on from it."),
    ] = False,
    held_out_every: Annotated[
        str | None,
        typer.Option(
            metavar="STEPS",
            help="Add the ELBO of images that --subset holds out to the history, about every so many steps.",
            show_default=False,
        ),
    ] = None,
    latent_information_every: Annotated[
        str | None,
        typer.Option(
            metavar="STEPS",
            help="Add the information of each latent about the image to the history, about every so many steps.",
            show_default=False,
        ),
    ] = None,
    force: Annotated[
        bool, typer.Option("--force", help="Start afresh where a run exists. Its old folder is kept, in .archived.")
    ] = False,
    packages: Packages = None,
) -> None:
    """Train models side by side, from one seed or many.

    A run that is finished is found again, not repeated. Repeat a name, or a flag whose value is a list, or give a
    number several values, and each is trained: --objective vae --objective beta-vae --objective.beta 1,4,16. This help
    lists the fields of what is named before --help, or is taken by default: unbraid train --dataset celeba --objective
    factor-vae --help.

    Examples:
      unbraid train --dataset dsprites --objective beta-tcvae --objective.beta 6 --seeds 0-7
      unbraid train --dataset dsprites --dataset.resolution 32 --model.encoder conv --steps 5000
      unbraid train --preset infogan-sprites --seeds 0-7
      unbraid train --spec runs/beta-tcvae-5d1c7c4a2f0e-seed0/spec.json --seeds 8-15
      unbraid train --resume --out runs
    """
    from unbraid.cli.tables import run_row, runs_table
    from unbraid.cli.training_runs import placed, refuse_failed, specs_of, train_and_tell, unfinished_in
    from unbraid.training.options import TrainingOptions
    from unbraid.training.runs.spec_text import spec_labels

    if resume and force:
        raise SpecError("--resume continues a run and --force starts it afresh. Give one of them.")
    imported, steps = parse_packages(packages), parse_steps(snapshots)
    options = TrainingOptions(
        force=force,
        checkpoint_every=parse_every(checkpoint_every, "--checkpoint-every"),
        stream=stream,
        deterministic=deterministic,
        snapshots=steps,
        keep_state=keep_state,
        held_out_every=parse_every(held_out_every, "--held-out-every"),
        latent_information_every=parse_every(latent_information_every, "--latent-information-every"),
    )
    to_resume = resume and not given and seeds is None and spec is None and preset is None
    runs = (
        unfinished_in(out, imported)
        if to_resume
        else placed(specs_of(given, spec, imported, preset), parse_seeds("0" if seeds is None else seeds), out)
    )
    if to_resume and not runs:
        say(f"There is nothing to resume: {out} holds no unfinished run.")
        return
    train_and_tell(runs, options, device, resume=resume)
    labels = spec_labels([run.spec for run in runs])
    output().print(runs_table([run_row(run, run.name, labels[run.spec.digest]) for run in runs]))
    refuse_failed(runs)
    say(f"Score them with: unbraid score {out}")
