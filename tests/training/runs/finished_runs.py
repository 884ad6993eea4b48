"""Runs that come to an end without being trained."""

from dataclasses import replace
from pathlib import Path

from tests.training.squares import MLP_SPEC
from unbraid.models import encode
from unbraid.training.runs import History, Run
from unbraid.training.runs.run_writer import RunWriter

SPEC = replace(MLP_SPEC, precision="float32")


def finish(run: Run, seed: int) -> Run:
    """Finish the run with the weights that this seed begins with: what is kept does not depend on training."""
    writer = RunWriter(run)
    writer.begin()
    writer.write_history(History(("step", "loss"), [(1.0, 9.5)]))
    model = run.spec.model.build(run.spec.dataset.image_shape, seed).to(run.spec.dtype)
    writer.keep(model, encode(model, run.spec.training_data.load()), seconds=1.23456)
    writer.conclude()
    return run


def fail(
    run: Run, step: int, reason: str = "its loss or gradient was not finite", last_good: Path | None = None
) -> None:
    """Let the run fail at this step."""
    RunWriter(run).keep_failure(step, reason, last_good)
    RunWriter(run).conclude()
