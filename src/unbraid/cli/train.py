"""`unbraid train`."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from unbraid import files
from unbraid.cli.console import output, say
from unbraid.cli.flags import Given, build, flags_of, spelled, with_flags
from unbraid.cli.options import CheckpointEvery, Device, OutFolder, Packages, parse_packages, parse_seeds
from unbraid.cli.progress import training_display
from unbraid.cli.run_folders import open_runs
from unbraid.cli.tables import run_row, runs_table
from unbraid.device import resolve_device
from unbraid.errors import RunError, SpecError, TrainingError
from unbraid.names import kebab_case
from unbraid.recipes import from_json
from unbraid.runs.run import Run
from unbraid.runs.spec import RunSpec
from unbraid.runs.spec_words import value_in_words
from unbraid.training.options import TrainingOptions
from unbraid.training.train import train_runs

_FLAGS = flags_of(RunSpec)
_PANELS = {
    "": "What to train (fields of RunSpec)",
    "dataset.": "Fields of --dataset",
    "model.": "Fields of the model",
    "objective.": "Fields of --objective",
    "optimiser.": "Fields of --optimiser",
    "sampling.": "Fields of --sampling: how likely images are",
    "subset.": "Fields of --subset: which images",
}


@with_flags(_FLAGS.values(), panels=_PANELS, aliases={"num_steps": "--steps"})
def train(
    given: Given,
    seeds: Annotated[
        str | None,
        typer.Option(metavar="NUMBERS", help="4, or 0,3,5, or 0-7: a model each. Default 0.", show_default=False),
    ] = None,
    spec: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Train what a spec.json says, in place of flags for its fields.", show_default=False
        ),
    ] = None,
    out: OutFolder = Path("runs"),
    device: Device = "auto",
    checkpoint_every: CheckpointEvery = None,
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
    force: Annotated[
        bool, typer.Option("--force", help="Start afresh where a run exists. Its old folder is kept, in .aside.")
    ] = False,
    packages: Packages = None,
) -> None:
    """Train models side by side, from one seed or many.

    A run that is finished is found again, not repeated. Repeat a name or give a number several values, and each is
    trained: --objective vae --objective beta-vae --objective.beta 1,4,16.

    Examples:
      unbraid train --dataset dsprites --objective beta-tcvae --objective.beta 6 --seeds 0-7
      unbraid train --dataset dsprites --dataset.resolution 32 --model.encoder conv --steps 5000
      unbraid train --spec runs/beta-tcvae-5d1c7c4a2f0e-seed0/spec.json --seeds 8-15
      unbraid train --resume --out runs
    """
    if resume and force:
        raise SpecError("--resume goes on with a run and --force starts it afresh. Give one of them.")
    trusted = parse_packages(packages)
    to_resume = resume and not given and seeds is None and spec is None
    runs = (
        unfinished_in(out, trusted)
        if to_resume
        else placed(_specs(given, spec, trusted), parse_seeds("0" if seeds is None else seeds), out)
    )
    if to_resume and not runs:
        say(f"There is nothing to resume: {out} holds no unfinished run.")
        return
    train_and_tell(runs, TrainingOptions(device, resume, force, checkpoint_every, stream, deterministic))
    output().print(runs_table([run_row(run, run.name) for run in runs]))
    refuse_failed(runs)
    say(f"Score them with: unbraid score {out}")


def _specs(given: Given, path: Path | None, packages: Sequence[str]) -> list[RunSpec]:
    """Returns the specs that the flags give, or the one of a file, which flags may not contradict."""
    if path is None:
        return build(RunSpec, given, _FLAGS)
    spec = read_spec(path, packages)
    if build(RunSpec, given, _FLAGS, start=spec) != [spec]:
        typed = " ".join(f"{spelled(field)} {text}" for field, texts in given.items() for text in texts)
        raise SpecError(f"--spec {path} says what to train, and {typed} says otherwise. Leave out one of them.")
    return [spec]


def read_spec(path: Path, packages: Sequence[str] = ()) -> RunSpec:
    """Returns the spec of a spec.json that a run wrote, or of a file that holds a spec alone."""
    try:
        content = files.read_json(path)
        content = content["spec"] if isinstance(content, dict) and "spec" in content else content
        spec: RunSpec = from_json(content, RunSpec, packages=packages, where=str(path))
    except (OSError, ValueError, RecursionError) as error:
        raise SpecError(f"--spec is {path}, which cannot be read ({error}). Name the spec.json of a run.") from None
    return spec


def placed(specs: Sequence[RunSpec], seeds: Sequence[int], out: Path) -> list[Run]:
    """The runs of these specs and seeds, made or not."""
    if out.exists() and not out.is_dir():
        raise RunError(f"--out is {out}, which is a file. Name a folder, new or not.")
    return [Run.place(out, spec, seed) for spec in specs for seed in seeds]


def unfinished_in(out: Path, packages: Sequence[str] = ()) -> list[Run]:
    return [run for run in open_runs([out], packages) if run.status == "unfinished"]


def train_and_tell(runs: Sequence[Run], options: TrainingOptions) -> None:
    """Train what is not finished, and say how it goes."""
    options = replace(options, device=resolve_device(options.device))
    existing = [run for run in runs if run.status != "new"]
    finished = [run for run in existing if run.status == "finished"]
    pending = runs if options.force else [run for run in runs if run.status in ("new", "unfinished")]
    if options.force and existing:
        say(
            f"--force: {len(existing)} runs are trained afresh. Their old folders are kept in "
            f"{existing[0].folder.parent / '.aside'}."
        )
    elif finished:
        say(f"{len(finished)} of {len(runs)} runs are finished already and not repeated (--force would).")
    if not pending:
        train_runs(runs, options)  # which removes what a process that died has left of them
    else:
        for described in dict.fromkeys(_describe(run.spec) for run in pending):
            say(f"{described}, on {options.device}.")
        with training_display(pending):
            train_runs(runs, options)


def _describe(spec: RunSpec) -> str:
    channels, height, width = spec.dataset.image_shape
    words = (
        f"{kebab_case(type(spec.dataset))}: {spec.dataset.num_images:,} {'grey' if channels == 1 else 'colour'} "
        f"images of {height} x {width} pixels"
    )
    subset = "" if spec.subset is None else f", of which the {spec.subset.part} part of {value_in_words(spec.subset)}"
    return words + subset + ("" if spec.sampling is None else f", drawn by {value_in_words(spec.sampling)}")


def refuse_failed(runs: Sequence[Run]) -> None:
    failures = [(run, failure) for run in runs if (failure := run.failure)]
    if failures:
        run, failure = failures[0]
        kept = "" if failure.last_good is None else f"; its last good weights are in {failure.last_good}"
        which = "It is" if len(failures) == 1 else "The first is"
        raise TrainingError(
            f"{len(failures)} of {len(runs)} runs failed. {which} {run.folder}: {failure.reason}, at step "
            f"{failure.step}{kept}. Try a smaller --optimiser.learning-rate, or --max-gradient-norm 1. (--force would "
            "repeat them as they are.)"
        )
