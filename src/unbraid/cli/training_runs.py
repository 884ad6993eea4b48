"""Runs from what was typed to what was trained."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from unbraid import files
from unbraid.cli.build import build
from unbraid.cli.console import say
from unbraid.cli.flags import Given, known_flags, spelled
from unbraid.cli.options import Trusted
from unbraid.cli.progress import training_display
from unbraid.cli.run_folders import open_runs
from unbraid.device import resolve_device
from unbraid.errors import RunError, SpecError, TrainingError
from unbraid.names import kebab_case
from unbraid.runs.run import Run
from unbraid.runs.run_source import read_spec_of
from unbraid.runs.spec import RunSpec
from unbraid.runs.spec_words import value_in_words
from unbraid.starting_points import starting_point
from unbraid.training.options import TrainingOptions
from unbraid.training.train import train_runs


def specs_of(given: Given, path: Path | None, trusted: Trusted, recipe: str | None = None) -> list[RunSpec]:
    """Returns the specs that the flags give, from a named starting point or from nothing; or the one of a file, which
    flags may not contradict.
    """
    if path is not None and recipe is not None:
        raise SpecError(f"--spec {path} and --recipe {recipe} both say what to train. Leave out one of them.")
    if path is None:
        start = None if recipe is None else starting_point(recipe.lower())
        return build(RunSpec, given, known_flags("train"), start=start)
    spec = read_spec(path, trusted)
    if build(RunSpec, given, known_flags("train"), start=spec) != [spec]:
        typed = " ".join(f"{spelled(field)} {text}" for field, texts in given.items() for text in texts)
        raise SpecError(f"--spec {path} says what to train, and {typed} says otherwise. Leave out one of them.")
    return [spec]


def read_spec(path: Path, trusted: Trusted) -> RunSpec:
    """Returns the spec of a spec.json that a run wrote, or of a file that holds a spec alone."""
    try:
        content = files.read_json(path)
        content = content if isinstance(content, dict) and "spec" in content else {"spec": content}
        spec = read_spec_of(content, path, **trusted)
    except (OSError, ValueError, RecursionError) as error:
        raise SpecError(f"--spec is {path}, which cannot be read ({error}). Name the spec.json of a run.") from None
    return spec


def placed(specs: Sequence[RunSpec], seeds: Sequence[int], out: Path) -> list[Run]:
    """Returns the runs of these specs and seeds, made or not."""
    if out.exists() and not out.is_dir():
        raise RunError(f"--out is {out}, which is a file. Name a folder, new or not.")
    return [Run.place(out, spec, seed) for spec in specs for seed in seeds]


def unfinished_in(out: Path, trusted: Trusted | None = None) -> list[Run]:
    return [run for run in open_runs([out], trusted) if run.status == "unfinished"]


def train_and_tell(runs: Sequence[Run], options: TrainingOptions) -> None:
    """Trains what is not finished, and says how it goes."""
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
    kind = f"{'grey' if channels == 1 else 'colour'} images of {height} x {width} pixels"
    kind = f"vectors of {width} numbers" if spec.dataset.holds_vectors else kind
    words = f"{kebab_case(type(spec.dataset))}: {spec.dataset.num_images:,} {kind}"
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
