"""The training and scoring of one fleet, as an order for a worker: of this machine or of a cluster.

The order holds everything that decides the results: the specs and seeds, which of them are trained side by side, and
the number of threads. Where it is carried out changes nothing.
"""

import contextlib
import json
import socket
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from unbraid._internal import files
from unbraid._internal.cpu import torch_threads
from unbraid._internal.progress import Event, listening
from unbraid._internal.version import __version__
from unbraid._internal.worker_pool import Json, run_task
from unbraid.config import from_json, to_json
from unbraid.errors import RunError, TrainingInterrupted, UnbraidError
from unbraid.studies.cluster.parcels import packed
from unbraid.studies.questions import Question, questions_to_json, score_run
from unbraid.studies.study import StudyRun
from unbraid.training.options import TrainingOptions
from unbraid.training.runs.run import Run
from unbraid.training.runs.run_folder import read_record
from unbraid.training.runs.run_writer import RunWriter
from unbraid.training.runs.spec import RunSpec
from unbraid.training.train import train_runs

Beat = Callable[[], None]

_SECONDS_BETWEEN_BEATS = 2.0
_SECONDS_TO_WAIT_FOR_LOCKS = 600.0
_SECONDS_BETWEEN_TRIES = 2.0
_MOST_LETTERS = 1_000  # of an error: answers stay small


def fleet_order(
    runs: Sequence[tuple[StudyRun, Sequence[Question]]],
    folder: Path,
    *,
    device: str,
    scoring_device: str,
    threads: int,
    packages: Sequence[str],
    token: Sequence[str],
    remove_arrays: bool,
    training: Mapping[str, object],
) -> Json:
    """Returns the order to train these runs side by side and to compute the missing scores of each.

    Args:
        runs: The runs, each with its missing scores.
        folder: The folder of the study.
        device: The device that trains.
        scoring_device: The device that scores.
        threads: The number of CPU threads.
        packages: The packages whose classes may be used.
        token: A file and its text. A worker that cannot read it does not share the folder, and returns parcels.
        remove_arrays: Whether parcels leave out weights and codes.
        training: Options of `train`.
    """
    specs = {each.setting.label: each.setting.spec for each, _ in runs}
    labels = list(specs)
    asked = [questions_to_json(questions) for _, questions in runs]
    kinds = list({json.dumps(each): each for each in asked}.values())
    return {
        "unbraid": __version__,
        "folder": str(folder.absolute()),
        "token": list(token),
        "device": device,
        "scoring_device": scoring_device,
        "threads": threads,
        "packages": list(packages),
        "side_by_side": len(runs),
        "remove_arrays": remove_arrays,
        "training": dict(training),
        "specs": [to_json(spec) for spec in specs.values()],
        "asked": kinds,
        "runs": [
            [labels.index(each.setting.label), each.seed, kinds.index(questions)]
            for (each, _), questions in zip(runs, asked, strict=True)
        ],
    }


def train_fleet(order: Json, beat: Beat) -> Json:
    """Trains and scores the fleet of an order in the folder of the study. Returns the answer."""
    answer, _ = next(carry_out(order, beat))
    return answer


def carry_out(order: Json, beat: Beat = lambda: None) -> Iterator[tuple[Json, bytes]]:
    """Trains and scores the fleet of an order. Yields the answer, then each run as a parcel.

    There are no parcels if the runs lie in the folder of the study. `beat` is called every few seconds of progress.
    """
    if order["unbraid"] != __version__:
        there, here = order["unbraid"], f"{socket.gethostname()} has unbraid {__version__}"
        refused = f"{here}, and the study is run by {there}. Install the same version on every node."
        yield {"refused": refused}, b""
        return
    with _place(order) as (folder, is_home):
        beat()
        specs = [from_json(content, RunSpec, packages=order["packages"], where="order") for content in order["specs"]]
        runs = [Run.place(folder, specs[place], seed) for place, seed, _ in order["runs"]]
        with torch_threads(order["threads"]), listening(_every_few_seconds(beat)):
            answer = _train_and_score(runs, order, beat, is_home=is_home)
        yield answer, b""
        if not is_home and "runs" in answer:
            for run in runs:
                yield {}, packed(run.folder)


def can_read(token: Sequence[str]) -> bool:
    """Returns whether this process reads the text of a token in its file, and so shares its folder."""
    try:
        return files.read_bytes(Path(token[0])).decode() == token[1]
    except (OSError, ValueError):
        return False


def _train_and_score(runs: Sequence[Run], order: Json, beat: Beat, *, is_home: bool) -> Json:
    errors: dict[str, str] = {}
    for start in range(0, len(runs), order["side_by_side"]):
        part = runs[start : start + order["side_by_side"]]
        _wait_for_locks(part, beat)
        try:
            train_runs(part, TrainingOptions(**order["training"]), device=order["device"], resume=True)
        except TrainingInterrupted as stopped:
            return {"stopped": str(stopped)}
        except UnbraidError as error:
            errors |= dict.fromkeys((run.name for run in part), str(error)[:_MOST_LETTERS])
        if order["side_by_side"] < len(runs):
            for run in part:
                RunWriter(run).log(f"memory was short for {len(runs)} side by side: {len(part)} were")
    outcomes: dict[str, Json] = {}
    for run, (_, _, kind) in zip(runs, order["runs"], strict=True):
        outcome = _outcome(run, order, kind, errors.get(run.name, "it was not trained"))
        outcomes[run.name] = outcome
        is_scored = outcome["status"] == "finished" and not outcome["error"] and not outcome["failed"]
        if is_scored and order["remove_arrays"] and not is_home:
            RunWriter(run).remove_arrays()
    return {"is_home": is_home, "runs": outcomes}


def _wait_for_locks(runs: Sequence[Run], beat: Beat) -> None:
    """Waits until no other process trains these runs, such as one of a node that seemed dead."""
    deadline = time.monotonic() + _SECONDS_TO_WAIT_FOR_LOCKS
    for run in runs:
        while True:
            try:
                RunWriter(run).check_unlocked()
                break
            except RunError:
                if time.monotonic() > deadline:
                    raise
            time.sleep(_SECONDS_BETWEEN_TRIES)
            beat()


@contextlib.contextmanager
def _place(order: Json) -> Iterator[tuple[Path, bool]]:
    """Yields the folder to train in, and whether it is that of the study. Any other folder is temporary."""
    if not order["token"] or can_read(order["token"]):
        yield Path(order["folder"]), True
        return
    with tempfile.TemporaryDirectory(prefix="unbraid-fleet-") as scratch:
        yield Path(scratch), False


def _outcome(run: Run, order: Json, kind: int, error: str) -> Json:
    """Returns how the training of a run ended. Computes the missing scores of a finished run, and adds their errors."""
    if failure := run.failure:
        return {"status": "failed", "reason": str(failure)[:_MOST_LETTERS]}
    if run.status != "finished":
        return {"status": run.status, "reason": error}
    side_by_side = len(read_record(run.folder / "finished.json").get("fleet", [])) or 1
    found = {"status": "finished", "side_by_side": side_by_side, "error": "", "failed": {}}
    if asked := order["asked"][kind]:
        places = {"device": order["scoring_device"], "packages": order["packages"]}
        ended = run_task(score_run, {"folder": str(run.folder), "asked": asked, **places})
        found["error"] = ended.get("error", "")[:_MOST_LETTERS]
        failed = ended.get("answer", {"failed": {}})["failed"]
        found["failed"] = {name: last_line(text) for name, text in failed.items()}
    return found


def last_line(text: str) -> str:
    """Returns the last line of a traceback, which names the error."""
    return text.strip().rpartition("\n")[2][:_MOST_LETTERS]


def _every_few_seconds(beat: Beat) -> Callable[[Event], None]:
    last = time.monotonic()

    def hear(_: Event) -> None:
        nonlocal last
        if time.monotonic() - last > _SECONDS_BETWEEN_BEATS:
            last = time.monotonic()
            beat()

    return hear
