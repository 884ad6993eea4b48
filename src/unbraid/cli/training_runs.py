"""Runs from what was typed to what was trained."""

from collections.abc import Sequence
from pathlib import Path

from unbraid._internal import files
from unbraid._internal.device import resolve_device
from unbraid._internal.names import kebab_case
from unbraid.cli.build import build
from unbraid.cli.console import say
from unbraid.cli.flags import Given, known_flags, spelled
from unbraid.cli.progress import training_display
from unbraid.cli.run_folders import open_runs
from unbraid.errors import RunError, SpecError, TrainingError
from unbraid.training.options import TrainingOptions
from unbraid.training.presets import preset as spec_of_preset
from unbraid.training.runs.run import Run
from unbraid.training.runs.run_source import read_spec_of
from unbraid.training.runs.spec import RunSpec
from unbraid.training.runs.spec_text import value_text
from unbraid.training.train import train_runs


def specs_of(given: Given, path: Path | None, packages: Sequence[str], preset: str | None = None) -> list[RunSpec]:
    """Returns the specs that the flags give, or the one of a file, which flags may not contradict.

    Flags change a named preset, or the defaults.
    """
    if path is not None and preset is not None:
        raise SpecError(f"--spec {path} and --preset {preset} both choose what to train. Leave out one of them.")
    if path is None:
        start = None if preset is None else spec_of_preset(preset.lower())
        return build(RunSpec, given, known_flags("train"), start=start)
    spec = read_spec_file(path, packages)
    if build(RunSpec, given, known_flags("train"), start=spec) != [spec]:
        typed = " ".join(f"{spelled(field)} {text}" for field, texts in given.items() for text in texts)
        raise SpecError(f"--spec {path} sets what to train, and {typed} differs. Leave out one of them.")
    return [spec]


def read_spec_file(path: Path, packages: Sequence[str]) -> RunSpec:
    """Returns the spec of a spec.json that a run wrote, or of a file that holds a spec alone."""
    try:
        content = files.read_json(path)
        content = content if isinstance(content, dict) and "spec" in content else {"spec": content}
        spec = read_spec_of(content, path, packages=packages)
    except (OSError, ValueError, RecursionError) as error:
        raise SpecError(f"--spec is {path}, which cannot be read ({error}). Name the spec.json of a run.") from None
    return spec


def placed(specs: Sequence[RunSpec], seeds: Sequence[int], out: Path) -> list[Run]:
    """Returns the runs of these specs and seeds, made or not."""
    if out.exists() and not out.is_dir():
        raise RunError(f"--out is {out}, which is a file. Name a folder, new or not.")
    return [Run.place(out, spec, seed) for spec in specs for seed in seeds]


def unfinished_in(out: Path, packages: Sequence[str] = ()) -> list[Run]:
    return [run for run in open_runs([out], packages) if run.status == "unfinished"]


def train_and_tell(runs: Sequence[Run], options: TrainingOptions, device: str, *, resume: bool) -> None:
    """Trains what is not finished, with its progress."""
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
    if not pending:
        train_runs(
            runs, options, device=where, resume=resume
        )  # which removes what a process that died has left of them
    else:
        for described in dict.fromkeys(_describe(run.spec) for run in pending):
            say(f"{described}, on {where}.")
        with training_display(pending):
            train_runs(runs, options, device=where, resume=resume)


def _describe(spec: RunSpec) -> str:
    channels, height, width = spec.dataset.image_shape
    kind = f"{'gray' if channels == 1 else 'color'} images of {height} x {width} pixels"
    kind = f"vectors of {width} numbers" if spec.dataset.holds_vectors else kind
    words = f"{kebab_case(type(spec.dataset))}: {spec.dataset.num_images:,} {kind}"
    subset = "" if spec.subset is None else f", of which the {spec.subset.part} part of {value_text(spec.subset)}"
    return words + subset + ("" if spec.sampling is None else f", drawn by {value_text(spec.sampling)}")


def refuse_failed(runs: Sequence[Run]) -> None:
    failures = [(run, failure) for run in runs if (failure := run.failure)]
    if failures:
        run, failure = failures[0]
        kept = "" if failure.last_good is None else f"; its last good weights are in {failure.last_good}"
        which = "It is" if len(failures) == 1 else "The first is"
        raise TrainingError(
            f"{len(failures)} of {len(runs)} runs failed. {which} {run.folder}: {failure.reason}, at step "
            f"{failure.step}{kept}. Try a smaller --optimizer.learning-rate, or --max-gradient-norm 1. (--force would "
            "repeat them as they are.)"
        )
