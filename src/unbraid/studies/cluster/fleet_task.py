"""Training and scoring of one fleet, by a worker on this machine or on a cluster.

The description of the task contains everything that determines the results: the specs, the seeds, the number of models
trained side by side, and the number of threads. The results do not depend on the worker. Machines that do not share the
folder of the study return each run as bytes with a checksum.
"""

import contextlib
import hashlib
import json
import shutil
import socket
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path, PurePosixPath
from typing import Any

from unbraid._internal import files
from unbraid._internal.cpu import torch_threads
from unbraid._internal.progress import Event, listening
from unbraid._internal.version import __version__
from unbraid._internal.worker_pool import Json, run_task
from unbraid.config import from_json, to_json
from unbraid.errors import RunError, TrainingInterrupted, UnbraidError
from unbraid.studies.index import STUDIES
from unbraid.studies.needs import Question, questions_to_json, score_run
from unbraid.studies.study import StudyRun
from unbraid.training.options import TrainingOptions
from unbraid.training.runs.run import Run
from unbraid.training.runs.run_folder import read_record
from unbraid.training.runs.run_writer import RunWriter, archive_folder
from unbraid.training.runs.spec import RunSpec
from unbraid.training.train import train_runs

Beat = Callable[[], None]

_SECONDS_BETWEEN_BEATS = 2.0
_SECONDS_TO_WAIT_FOR_LOCKS = 600.0
_SECONDS_BETWEEN_TRIES = 2.0
_MOST_LETTERS = 1_000  # of an error: answers stay small
_ARRIVING, _COMPLETE = "arriving", "complete"  # names of a folder and of a file
_ENDS = ("finished.json", "failed.json")
_CHECKSUM = 32  # bytes


def fleet_order(runs: Sequence[tuple[StudyRun, Sequence[Question]]], **common: Any) -> Json:
    """Returns the order to train these runs side by side and to compute the missing scores of each.

    `common` is the same for all fleets of a study: its `folder`, the `device` that trains and the `scoring_device`, the
    number of `threads`, the `packages` whose classes may be used, options of `training`, and the `token`. The token is
    the path and the text of a file, or empty. A worker that cannot read this file does not share the folder, and
    returns parcels. If `remove_arrays` is True, parcels do not contain weights and codes.
    """
    specs = {each.setting.label: each.setting.spec for each, _ in runs}
    labels = list(specs)
    asked = [questions_to_json(questions) for _, questions in runs]
    kinds = list({json.dumps(each): each for each in asked}.values())
    return {
        **common,
        "unbraid": __version__,
        "side_by_side": len(runs),
        "specs": [to_json(spec) for spec in specs.values()],
        "asked": kinds,
        "runs": [
            [labels.index(each.setting.label), each.seed, kinds.index(questions)]
            for (each, _), questions in zip(runs, asked, strict=True)
        ],
    }


def train_fleet(order: Json, beat: Beat) -> Json:
    """Trains and scores the fleet of an order in the folder of the study. Returns the outcomes."""
    answer, _ = next(carry_out(order, beat))
    return answer


def carry_out(order: Json, beat: Beat = lambda: None) -> Iterator[tuple[Json, bytes]]:
    """Trains and scores the fleet of an order. Yields the answer, then each run as a parcel.

    No parcels are yielded if the worker shares the folder of the study. Progress calls `beat` every few seconds.
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
    """Waits until no other process trains these runs, such as a process on a node that was taken for dead."""
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
    """Yields the training folder, and whether it is the folder of the study. Any other folder is temporary."""
    is_home = not order["token"]
    with contextlib.suppress(OSError, ValueError):
        is_home = is_home or files.read_bytes(Path(order["token"][0])).decode() == order["token"][1]
    if is_home:
        yield Path(order["folder"]), True
        return
    with tempfile.TemporaryDirectory(prefix="unbraid-fleet-", ignore_cleanup_errors=True) as scratch:
        yield Path(scratch), False


def _outcome(run: Run, order: Json, kind: int, error: str) -> Json:
    """Returns the outcome of a run. Computes the missing scores of a finished run, and includes their errors."""
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


def packed(folder: Path) -> bytes:
    """Returns the files of a run as one parcel: a checksum, the names and sizes, and the contents."""
    paths = sorted(path for path in folder.rglob("*") if path.is_file() and not path.name.startswith("."))
    contents = [files.read_bytes(path) for path in paths]
    names = [path.relative_to(folder).as_posix() for path in paths]
    head = {"run": folder.name, "files": list(zip(names, map(len, contents), strict=True))}
    body = b"".join([json.dumps(head).encode(), b"\n", *contents])
    return hashlib.sha256(body).digest() + body


def unpack(parcel: bytes, parent: Path) -> str:
    """Writes the run of a parcel under the folder and returns its name. Raises a RunError if the parcel is damaged."""
    checksum, body = parcel[:_CHECKSUM], parcel[_CHECKSUM:]
    if hashlib.sha256(body).digest() != checksum:
        raise RunError("A run was damaged during transfer (its SHA-256 does not match). It is trained again.")
    start = body.index(b"\n") + 1
    head = json.loads(body[:start])
    for path, size in head["files"]:
        files.write_bytes(_inside(parent, head["run"], path), body[start : start + size])
        start += size
    return str(head["run"])


def receive(parcels: Iterable[bytes], folder: Path, fleet: str) -> None:
    """Moves all runs of a fleet into the folder, or none. Writes and checks all runs before the first move."""
    place = folder / STUDIES / _ARRIVING / fleet
    shutil.rmtree(place, ignore_errors=True)
    for parcel in parcels:
        unpack(parcel, place)
    files.write_text(place / _COMPLETE, "")
    _settle(place, folder)


def settle_arrivals(folder: Path) -> None:
    """Moves completely received fleets of an interrupted process into the folder. Removes incomplete fleets."""
    arriving = folder / STUDIES / _ARRIVING
    for place in sorted(arriving.iterdir()) if arriving.is_dir() else []:
        if (place / _COMPLETE).exists():
            _settle(place, folder)
        else:
            shutil.rmtree(place)


def _settle(place: Path, folder: Path) -> None:
    for run in sorted(path for path in place.iterdir() if path.is_dir()):
        target = folder / run.name
        if any((target / end).exists() for end in _ENDS):
            continue  # it has arrived before
        if target.exists():
            archive_folder(target)
        files.move_folder(run, target)
    shutil.rmtree(place)


def _inside(parent: Path, name: str, path: str) -> Path:
    """Returns the target path of a file in a parcel. Raises if the path is outside of the folder."""
    parts = PurePosixPath(name, path).parts
    is_foreign = any(mark in part for part in parts for mark in "\\:")  # separators of Windows
    if is_foreign or PurePosixPath(path).is_absolute() or ".." in parts or len(PurePosixPath(name).parts) != 1:
        raise RunError(f"A parcel of a run names {name}/{path}, which is outside of its folder. It is not unpacked.")
    return parent.joinpath(*parts)
