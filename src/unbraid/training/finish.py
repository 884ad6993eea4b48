"""From a trained fleet to finished runs."""

from collections.abc import Sequence

from unbraid._internal.precision import Precision
from unbraid.codes import Codes
from unbraid.datasets.dataset import FactorImages
from unbraid.errors import CodesError
from unbraid.models.autoencoder import AutoencoderModule
from unbraid.models.trained.encode import encode_all
from unbraid.training.checkpoint import remove_checkpoints, save_last_good
from unbraid.training.fleet import Fleet
from unbraid.training.runs.run import Run
from unbraid.training.runs.run_writer import RunWriter
from unbraid.training.state import MemberState
from unbraid.training.writers import writers


def keep(
    fleet: Fleet, members: Sequence[int], runs: Sequence[Run], images: FactorImages, seconds: float
) -> list[CodesError | None]:
    """Encodes all images with these members of a fleet, whose runs are `runs`, and keeps what they have learnt.

    Returns, for each, why it was not possible.
    """
    models = [fleet.model(index) for index in members]
    names = [run.name for run in runs]

    def write(index: int, model: AutoencoderModule, outcome: Codes | CodesError) -> CodesError | None:
        if isinstance(outcome, CodesError):
            return outcome
        RunWriter(runs[index]).keep(model, outcome, seconds, names)
        return None

    with writers() as pool:
        return list(pool.map(write, members, models, _encoded(models, images, runs[0].spec.precision)))


def conclude(run: Run) -> None:
    """Marks a run, of which everything is written, as ended. The last good weights of one that failed are kept."""
    writer = RunWriter(run)
    writer.conclude()
    failure = run.failure
    writer.log("finished" if failure is None else f"failed at step {failure.step}: {failure.reason}")
    remove_checkpoints(run)


def keep_unencodable(run: Run, step: int, error: CodesError, fleet: Sequence[str]) -> None:
    """Records that the last step of a run led where no loss was computed any more."""
    reason = f"its last step led to a model that cannot encode the images ({error})"
    RunWriter(run).keep_failure(step, reason, None, fleet)


def keep_failed(run: Run, state: MemberState, reason: str, fleet: Sequence[str]) -> None:
    """Records that a member of the fleet has failed, and keeps its last good weights."""
    assert state.failed_at is not None
    RunWriter(run).keep_failure(state.failed_at, reason, save_last_good(run, state), fleet)


def _encoded(
    models: Sequence[AutoencoderModule], images: FactorImages, precision: Precision
) -> list[Codes | CodesError]:
    """Returns the codes of each model, or why it has none."""
    try:
        return list(encode_all(models, images, precision=precision))
    except CodesError as error:
        if len(models) == 1:
            return [error]
        return [outcome for model in models for outcome in _encoded([model], images, precision)]
