"""`unbraid train`."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from unbraid._internal import files
from unbraid._internal.names import kebab_case
from unbraid.cli.console import output, say
from unbraid.cli.flags import ConfigFlags, Given, known_fields, spelled
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
    "sampling.": "Fields of --sampling: how likely images are",
    "subset.": "Fields of --subset: which images",
}


@ConfigFlags(lambda: known_fields("train"), _PANELS, {"num_steps": "--steps"}.get)
def train(
    given: Given,
    seeds: Annotated[
        str | None, typer.Option(metavar="NUMBERS", help="4, or 0,3,5, or 0-7: a model each. Default 0.")
    ] = None,
    preset: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Start from a tested spec, such as beta-vae-sprites; flags change it."),
    ] = None,
    spec: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Train the spec of a spec.json, without flags for its fields."),
    ] = None,
    out: OutFolder = Path("runs"),
    device: Device = "auto",
    checkpoint_every: Annotated[
        int | None,
        typer.Option(
            metavar="STEPS",
            min=1,
            help="Steps between checkpoints. By default they take under 2 % of the time. Ctrl-C saves one too.",
        ),
    ] = None,
    *,
    resume: Annotated[
        bool, typer.Option("--resume", help="Resume unfinished runs; without other flags, all of them in --out.")
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
    snapshots: Snapshots = None,
    keep_state: Annotated[
        bool, typer.Option("--keep-state", help="Keep the state of the last step, which run.extend() needs.")
    ] = False,
    held_out_every: Annotated[
        int | None,
        typer.Option(
            metavar="STEPS",
            min=1,
            help="Add the ELBO of images that --subset holds out to the history, about every so many steps.",
        ),
    ] = None,
    latent_information_every: Annotated[
        int | None,
        typer.Option(
            metavar="STEPS",
            min=1,
            help="Add the information of each latent about the image to the history, about every so many steps.",
        ),
    ] = None,
    force: Annotated[
        bool, typer.Option("--force", help="Train existing runs again. Their old folders are kept, in .archived.")
    ] = False,
    packages: Packages = None,
) -> None:
    """Train models side by side, from one seed or many.

    Finished runs are not repeated. Repeated names, repeated flags of lists, and several values of a number are all
    trained: --objective vae --objective beta-vae --objective.beta 1,4,16. This help lists the fields of the default
    configs and of configs named before --help: unbraid train --dataset celeba --objective factor-vae --help.

    Examples:
      unbraid train --dataset dsprites --objective beta-tcvae --objective.beta 6 --seeds 0-7
      unbraid train --dataset dsprites --dataset.resolution 32 --model.encoder conv --steps 5000
      unbraid train --preset infogan-sprites --seeds 0-7
      unbraid train --spec runs/beta-tcvae-5d1c7c4a2f0e-seed0/spec.json --seeds 8-15
      unbraid train --resume --out runs
    """
    from unbraid.cli.tables import run_row, runs_table
    from unbraid.training.options import TrainingOptions
    from unbraid.training.runs.spec_text import spec_labels

    if resume and force:
        raise SpecError("--resume continues a run and --force starts it afresh. Give one of them.")
    imported = parse_packages(packages)
    options = TrainingOptions(
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
            say(f"There is nothing to resume: {out} holds no unfinished run.")
            return
    else:
        runs = placed(specs_of(given, spec, imported, preset), parse_seeds("0" if seeds is None else seeds), out)
    train_with_progress(runs, options, device, resume=resume)
    labels = spec_labels([run.spec for run in runs])
    output().print(runs_table([run_row(run, run.name, labels[run.spec.digest]) for run in runs]))
    refuse_failed(runs)
    say(f"Score them with: unbraid score {out}")


def specs_of(given: Given, path: Path | None, packages: Sequence[str], preset: str | None = None) -> "list[RunSpec]":
    """Returns the specs described by the flags, or the spec of a file. Raises if flags contradict the file.

    Flags change a named preset, or the defaults. The file is the spec.json of a run, or holds only a spec.
    """
    from unbraid.cli.build import build
    from unbraid.training.presets import preset as spec_of_preset
    from unbraid.training.runs.run_source import read_spec_of
    from unbraid.training.runs.spec import RunSpec

    if path is not None and preset is not None:
        raise SpecError(f"--spec {path} and --preset {preset} both choose what to train. Leave out one of them.")
    if path is None:
        return build(RunSpec, given, None if preset is None else spec_of_preset(preset.lower()))
    try:
        content = files.read_json(path)
        content = content if isinstance(content, dict) and "spec" in content else {"spec": content}
        spec = read_spec_of(content, path, packages=packages)
    except (OSError, ValueError, RecursionError) as error:
        raise SpecError(f"--spec is {path}, which cannot be read ({error}). Name the spec.json of a run.") from None
    if build(RunSpec, given, spec) != [spec]:
        typed = " ".join(f"{spelled(field)} {text}" for field, texts in given.items() for text in texts)
        raise SpecError(f"--spec {path} sets what to train, and {typed} differs. Leave out one of them.")
    return [spec]


def placed(specs: "Sequence[RunSpec]", seeds: Sequence[int], out: Path) -> "list[Run]":
    """Returns the runs of these specs and seeds, trained or not."""
    from unbraid.training.runs.run import Run

    if out.exists() and not out.is_dir():
        raise RunError(f"--out is {out}, which is a file. Name a folder, new or not.")
    return [Run.place(out, spec, seed) for spec in specs for seed in seeds]


def train_with_progress(runs: "Sequence[Run]", options: "TrainingOptions", device: str, *, resume: bool) -> None:
    """Trains the unfinished runs, and shows the progress."""
    from unbraid._internal.device import resolve_device
    from unbraid.training.train import train_runs

    where = resolve_device(device)
    existing = [run for run in runs if run.status != "new"]
    finished = [run for run in existing if run.status == "finished"]
    pending = runs if options.force else [run for run in runs if run.status in ("new", "unfinished")]
    if options.force and existing:
        say(
            f"--force: {len(existing)} runs are trained afresh. Their old folders are kept in "
            f"{existing[0].folder.parent / '.archived'}."
        )
    elif finished:
        say(f"{len(finished)} of {len(runs)} runs are finished already and not repeated (--force would).")
    if not pending:  # train_runs still removes what remains of processes that died
        train_runs(runs, options, device=where, resume=resume)
        return
    for described in dict.fromkeys(_describe(run.spec) for run in pending):
        say(f"{described}, on {where}.")
    with training_display(pending):
        train_runs(runs, options, device=where, resume=resume)


def _describe(spec: "RunSpec") -> str:
    """Returns a description of the images: "dsprites: 737,280 gray images of 64 x 64 pixels"."""
    from unbraid.training.runs.spec_text import value_text

    channels, height, width = spec.dataset.image_shape
    kind = f"{'gray' if channels == 1 else 'color'} images of {height} x {width} pixels"
    kind = f"vectors of {width} numbers" if spec.dataset.holds_vectors else kind
    text = f"{kebab_case(type(spec.dataset))}: {spec.dataset.num_images:,} {kind}"
    subset = "" if spec.subset is None else f", {spec.subset.part} part of {value_text(spec.subset)}"
    return text + subset + ("" if spec.sampling is None else f", drawn by {value_text(spec.sampling)}")


def refuse_failed(runs: "Sequence[Run]") -> None:
    """Raises if a run has failed."""
    failures = [(run, failure) for run in runs if (failure := run.failure)]
    if failures:
        run, failure = failures[0]
        kept = "" if failure.last_good is None else f"; its last good weights are in {failure.last_good}"
        which = "It is" if len(failures) == 1 else "The first is"
        raise TrainingError(
            f"{len(failures)} of {len(runs)} runs failed. {which} {run.folder}: {failure.reason}, at step "
            f"{failure.step}{kept}. Try a smaller --optimizer.learning-rate, or --max-gradient-norm 1. (--force would "
            "repeat them without a change.)"
        )
