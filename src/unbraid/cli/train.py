"""`unbraid train`: training of models from flags, a preset or a file."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from unbraid._internal import files
from unbraid._internal.names import kebab_case
from unbraid.cli.console import echo, output
from unbraid.cli.flags import ConfigFlags, Given, flag_name, known_fields
from unbraid.cli.options import (
    Device,
    OutFolder,
    Packages,
    Snapshots,
    parse_packages,
    parse_seeds,
    parse_steps,
)
from unbraid.cli.progress import training_display
from unbraid.cli.runs import open_runs
from unbraid.errors import RunError, SpecError, TrainingError

if TYPE_CHECKING:
    from unbraid.training.options import TrainingOptions
    from unbraid.training.runs.run import Run
    from unbraid.training.runs.spec import RunSpec

_PANELS = {
    "": "What to train (fields of RunSpec)",
    "dataset.": "Fields of --dataset",
    "model.": "Fields of the model",
    "objective.": "Fields of --objective",
    "optimizer.": "Fields of --optimizer",
    "critic.": "Fields of the critic, for objectives that have one",
    "sampling.": "Fields of --sampling: the probabilities of images",
    "subset.": "Fields of --subset: the part of the images",
}


@ConfigFlags(lambda: known_fields("train"), _PANELS, {"num_steps": "--steps"}.get)
def train(
    given: Given,
    seeds: Annotated[
        str | None, typer.Option(metavar="NUMBERS", help="Train a model for each seed: 4, or 0,3,5, or 0-7. Default 0.")
    ] = None,
    preset: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Start from a tested spec, such as beta-vae-sprites. Flags override it."),
    ] = None,
    spec: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Train the spec of a spec.json file, without other flags for its fields."),
    ] = None,
    out: OutFolder = Path("runs"),
    device: Device = "auto",
    workers: Annotated[
        int | None,
        typer.Option(
            metavar="NUMBER",
            min=0,
            help="Processes on a CPU, one model each. Default: one per core for large images. 0: none.",
        ),
    ] = None,
    checkpoint_every: Annotated[
        int | None,
        typer.Option(
            metavar="STEPS",
            min=1,
            help="Steps between checkpoints. By default, checkpoints take under 2 % of the time.",
        ),
    ] = None,
    *,
    resume: Annotated[
        bool,
        typer.Option("--resume", help="Resume unfinished runs. Without other flags, all such runs in --out."),
    ] = False,
    stream: Annotated[
        bool | None,
        typer.Option(
            "--stream/--no-stream",
            help="Read images from disk when needed. By default only if the images do not fit into memory.",
        ),
    ] = None,
    deterministic: Annotated[
        bool,
        typer.Option(
            "--deterministic",
            help="Compile GPU kernels that are the same on all machines with this GPU. Up to an eighth slower.",
        ),
    ] = False,
    epochs: Annotated[
        float | None, typer.Option(metavar="NUMBER", help="Train for so many epochs, instead of --num-steps.")
    ] = None,
    minutes: Annotated[
        float | None,
        typer.Option(
            metavar="NUMBER",
            help="Train for about so long, instead of --num-steps. A few steps are timed first, once.",
        ),
    ] = None,
    snapshots: Snapshots = None,
    keep_state: Annotated[
        bool, typer.Option("--keep-state", help="Keep the optimizer state of the last step for run.extend().")
    ] = False,
    held_out_every: Annotated[
        int | None,
        typer.Option(
            metavar="STEPS",
            min=1,
            help="Record the ELBO of the images held out by --subset about every STEPS steps.",
        ),
    ] = None,
    latent_information_every: Annotated[
        int | None,
        typer.Option(
            metavar="STEPS",
            min=1,
            help="Record the information of each latent about the image about every STEPS steps.",
        ),
    ] = None,
    force: Annotated[
        bool, typer.Option("--force", help="Train existing runs again. Their old folders are kept in .archived.")
    ] = False,
    packages: Packages = None,
) -> None:
    """Train models side by side, from one seed or many.

    Finished runs are not repeated. Several values of a flag train one model for each combination: --objective vae
    --objective beta-vae --objective.beta 1,4,16. This help lists the fields of the default configs and of configs named
    before --help: unbraid train --dataset celeba --objective factor-vae --help.

    Examples:
      unbraid train --dataset dsprites --objective beta-tcvae --objective.beta 6 --seeds 0-7
      unbraid train --dataset dsprites --dataset.resolution 32 --model.encoder conv --steps 5000
      unbraid train --preset infogan-sprites --seeds 0-7
      unbraid train --spec runs/beta-tcvae-5d1c7c4a2f0e-seed0/spec.json --seeds 8-15
      unbraid train --resume --out runs
    """
    from unbraid.cli.tables import run_row, runs_table
    from unbraid.training.budgets import with_budget
    from unbraid.training.options import TrainingOptions
    from unbraid.training.runs.spec_text import spec_labels

    if resume and force:
        raise SpecError("Expected at most one of --resume and --force, got both. Leave out one of them.")
    imported = parse_packages(packages)
    options = TrainingOptions(
        workers="auto" if workers is None else workers,
        force=force,
        checkpoint_every=checkpoint_every,
        stream=stream,
        deterministic=deterministic,
        snapshots=parse_steps(snapshots),
        keep_state=keep_state,
        held_out_every=held_out_every,
        latent_information_every=latent_information_every,
    )
    if resume and not given and seeds is None and spec is None and preset is None:
        runs = [run for run in open_runs([out], imported) if run.status == "unfinished"]
        if not runs:
            echo(f"There is nothing to resume: {out} has no unfinished run.")
            return
    else:
        specs = specs_of(given, spec, imported, preset, device)
        runs = place_runs(specs, parse_seeds("0" if seeds is None else seeds), out)
        runs = with_budget(runs, device, epochs=epochs, minutes=minutes)
    train_with_progress(runs, options, device, resume=resume)
    labels = spec_labels([run.spec for run in runs])
    output().print(runs_table([run_row(run, run.name, labels[run.spec.digest]) for run in runs]))
    raise_for_failures(runs)
    echo(f"Score them with: unbraid score {out}")


def specs_of(
    given: Given, path: Path | None, packages: Sequence[str], preset: str | None = None, device: str = "auto"
) -> "list[RunSpec]":
    """Returns the specs described by the flags, or the spec in the file `path`.

    Fields without a flag come from the preset or, without one, are defaults. The file is the spec.json of a run, or
    holds only a spec. Raises SpecError if flags contradict the file.
    """
    from unbraid.cli.build import build
    from unbraid.training.presets import preset as spec_of_preset
    from unbraid.training.runs.run_source import read_spec_of
    from unbraid.training.runs.spec import RunSpec

    if path is not None and preset is not None:
        raise SpecError(f"Expected --spec or --preset, got --spec {path} and --preset {preset}. Leave out one of them.")
    if path is None:
        return build(RunSpec, given, None if preset is None else spec_of_preset(preset.lower(), device))
    try:
        content = files.read_json(path)
        content = content if isinstance(content, dict) and "spec" in content else {"spec": content}
        spec = read_spec_of(content, path, packages=packages)
    except (OSError, ValueError, RecursionError) as error:
        raise SpecError(f"--spec is {path}, which cannot be read: {error} Name the spec.json of a run.") from None
    if build(RunSpec, given, spec) != [spec]:
        typed = " ".join(f"{flag_name(field)} {text}" for field, texts in given.items() for text in texts)
        raise SpecError(f"Expected flags that agree with --spec {path}, got {typed}. Leave out one of them.")
    return [spec]


def place_runs(specs: "Sequence[RunSpec]", seeds: Sequence[int], out: Path) -> "list[Run]":
    """Returns the run of each spec and seed in the folder `out`, whether trained or not."""
    from unbraid.training.runs.run import Run

    if out.exists() and not out.is_dir():
        raise RunError(f"--out is {out}, which is a file; expected a folder. Name a new or existing folder.")
    return [Run.place(out, spec, seed) for spec in specs for seed in seeds]


def train_with_progress(runs: "Sequence[Run]", options: "TrainingOptions", device: str, *, resume: bool) -> None:
    """Trains the runs that are not finished and shows the progress. With `options.force`, trains all runs again."""
    from unbraid._internal.device import resolve_device
    from unbraid.training.train import train_runs

    where = resolve_device(device)
    existing = [run for run in runs if run.status != "new"]
    finished = [run for run in existing if run.status == "finished"]
    pending = runs if options.force else [run for run in runs if run.status in ("new", "unfinished")]
    if options.force and existing:
        echo(
            f"--force: {len(existing)} runs are trained again. Their old folders are kept in "
            f"{existing[0].folder.parent / '.archived'}."
        )
    elif finished:
        echo(f"{len(finished)} of {len(runs)} runs are already finished. To train them again, use --force.")
    if not pending:  # train_runs still removes the files of killed processes
        train_runs(runs, options, device=where, resume=resume)
        return
    for described in dict.fromkeys(_describe(run.spec) for run in pending):
        echo(f"{described}, on {where}.")
    with training_display(pending):
        train_runs(runs, options, device=where, resume=resume)


def _describe(spec: "RunSpec") -> str:
    """Returns the images of a spec as text, such as "dsprites: 737,280 gray images of 64 x 64 pixels"."""
    from unbraid.training.runs.spec_text import value_text

    channels, height, width = spec.dataset.image_shape
    kind = f"{'gray' if channels == 1 else 'color'} images of {height} x {width} pixels"
    kind = f"vectors of {width} numbers" if spec.dataset.holds_vectors else kind
    text = f"{kebab_case(type(spec.dataset))}: {spec.dataset.num_images:,} {kind}"
    subset = "" if spec.subset is None else f", {spec.subset.part} part of {value_text(spec.subset)}"
    return text + subset + ("" if spec.sampling is None else f", drawn by {value_text(spec.sampling)}")


def raise_for_failures(runs: "Sequence[Run]") -> None:
    """Raises TrainingError if a run has failed."""
    failures = [(run, failure) for run in runs if (failure := run.failure)]
    if failures:
        run, failure = failures[0]
        kept = "" if failure.last_good is None else f"; its last good weights are in {failure.last_good}"
        which = "The failed run is" if len(failures) == 1 else "The first is"
        raise TrainingError(
            f"{len(failures)} of {len(runs)} runs failed. {which} {run.folder}: {failure.reason}, at step "
            f"{failure.step}{kept}. Try a smaller --optimizer.learning-rate, or --max-gradient-norm 1."
        )
