"""Training and scoring of one fleet by a worker, on this machine or on a cluster.

A request (JSON) contains everything that determines the results: the specs, the seeds, the number of models trained
side by side, and the number of threads. The results do not depend on the worker. A worker without access to the folder
of the study returns each run as a bundle: all files of the run as bytes with a checksum.
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
from unbraid.studies.requirements import Question, questions_to_json, score_run
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
_MOST_LETTERS = 1_000  # of an error message in a result
_ARRIVING, _COMPLETE = "arriving", "complete"  # names of a folder and of a file
_ENDS = ("finished.json", "failed.json")
_CHECKSUM = 32  # bytes


def fleet_request(runs: Sequence[tuple[StudyRun, Sequence[Question]]], **common: Any) -> Json:
    """Returns the request to train a fleet and to compute the missing scores of each run.

    `runs` pairs each run with its missing scores. `common` is the same for all fleets of a study: its `folder`, the
    `device` for training, the `scoring_device`, the number of `threads`, the `packages` whose classes may be used,
    options of `training`, `remove_arrays` (whether bundles leave out weights and codes), and the `token`. The token is
    the path and the text of a file, or empty. A worker that cannot read this file returns bundles.
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


def train_fleet(request: Json, beat: Beat) -> Json:
    """Trains and scores the fleet of a request in the folder of the study. Returns the result of each run."""
    answer, _ = next(run_request(request, beat))
    return answer


def run_request(request: Json, beat: Beat = lambda: None) -> Iterator[tuple[Json, bytes]]:
    """Trains and scores the fleet of a request. Yields the result, then each run as a bundle.

    Without bundles, the runs are in the shared folder of the study. `beat` is called every few seconds.
    """
    if request["unbraid"] != __version__:
        host, expected = socket.gethostname(), request["unbraid"]
        refused = f"Expected unbraid {expected} on {host}, got {__version__}. Install the same version on every node."
        yield {"refused": refused}, b""
        return
    with _training_folder(request) as (folder, shares_folder):
        beat()
        specs = [
            from_json(content, RunSpec, packages=request["packages"], where="request") for content in request["specs"]
        ]
        runs = [Run.place(folder, specs[place], seed) for place, seed, _ in request["runs"]]
        with torch_threads(request["threads"]), listening(_every_few_seconds(beat)):
            answer = _train_and_score(runs, request, beat, shares_folder=shares_folder)
        yield answer, b""
        if not shares_folder and "runs" in answer:
            for run in runs:
                yield {}, pack(run.folder)


def _train_and_score(runs: Sequence[Run], request: Json, beat: Beat, *, shares_folder: bool) -> Json:
    errors: dict[str, str] = {}
    for start in range(0, len(runs), request["side_by_side"]):
        part = runs[start : start + request["side_by_side"]]
        _wait_for_locks(part, beat)
        try:
            train_runs(part, TrainingOptions(**request["training"]), device=request["device"], resume=True)
        except TrainingInterrupted as stopped:
            return {"stopped": str(stopped)}
        except UnbraidError as error:
            errors |= dict.fromkeys((run.name for run in part), str(error)[:_MOST_LETTERS])
        if request["side_by_side"] < len(runs):
            for run in part:
                RunWriter(run).log(
                    f"trained {len(part)} models side by side, because {len(runs)} did not fit into memory"
                )
    outcomes: dict[str, Json] = {}
    for run, (_, _, kind) in zip(runs, request["runs"], strict=True):
        outcome = _outcome(run, request, kind, errors.get(run.name, "the run was not trained"))
        outcomes[run.name] = outcome
        is_scored = outcome["status"] == "finished" and not outcome["error"] and not outcome["failed"]
        if is_scored and request["remove_arrays"] and not shares_folder:
            RunWriter(run).remove_arrays()
    return {"shares_folder": shares_folder, "runs": outcomes}


def _wait_for_locks(runs: Sequence[Run], beat: Beat) -> None:
    """Waits until no other process trains these runs, for instance a process on an unreachable node."""
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
def _training_folder(request: Json) -> Iterator[tuple[Path, bool]]:
    """Yields the folder to train in, and whether it is the folder of the study. Otherwise, the folder is temporary."""
    shares_folder = not request["token"]
    with contextlib.suppress(OSError, ValueError):
        shares_folder = shares_folder or files.read_bytes(Path(request["token"][0])).decode() == request["token"][1]
    if shares_folder:
        yield Path(request["folder"]), True
        return
    with tempfile.TemporaryDirectory(prefix="unbraid-fleet-", ignore_cleanup_errors=True) as scratch:
        yield Path(scratch), False


def _outcome(run: Run, request: Json, kind: int, error: str) -> Json:
    """Returns the result of a run. Computes the missing scores of a finished run, and returns their errors."""
    if failure := run.failure:
        return {"status": "failed", "reason": str(failure)[:_MOST_LETTERS]}
    if run.status != "finished":
        return {"status": run.status, "reason": error}
    side_by_side = len(read_record(run.folder / "finished.json").get("fleet", [])) or 1
    found = {"status": "finished", "side_by_side": side_by_side, "error": "", "failed": {}}
    if asked := request["asked"][kind]:
        places = {"device": request["scoring_device"], "packages": request["packages"]}
        ended = run_task(score_run, {"folder": str(run.folder), "asked": asked, **places})
        found["error"] = ended.get("error", "")[:_MOST_LETTERS]
        failed = ended.get("answer", {"failed": {}})["failed"]
        found["failed"] = {name: last_line(text) for name, text in failed.items()}
    return found


def last_line(text: str) -> str:
    """Returns the last line of a traceback, which has the type and the message of the exception."""
    return text.strip().rpartition("\n")[2][:_MOST_LETTERS]


def _every_few_seconds(beat: Beat) -> Callable[[Event], None]:
    last = time.monotonic()

    def on_event(_: Event) -> None:
        nonlocal last
        if time.monotonic() - last > _SECONDS_BETWEEN_BEATS:
            last = time.monotonic()
            beat()

    return on_event


def pack(folder: Path) -> bytes:
    """Returns the files of a run as one bundle: a checksum, a JSON list of names and sizes, and the contents."""
    paths = sorted(path for path in folder.rglob("*") if path.is_file() and not path.name.startswith("."))
    contents = [files.read_bytes(path) for path in paths]
    names = [path.relative_to(folder).as_posix() for path in paths]
    head = {"run": folder.name, "files": list(zip(names, map(len, contents), strict=True))}
    body = b"".join([json.dumps(head).encode(), b"\n", *contents])
    return hashlib.sha256(body).digest() + body


def unpack(bundle: bytes, parent: Path) -> str:
    """Writes the run of a bundle to a new subfolder of `parent`. Returns its name. Raises RunError if it is damaged."""
    checksum, body = bundle[:_CHECKSUM], bundle[_CHECKSUM:]
    if hashlib.sha256(body).digest() != checksum:
        raise RunError(f"expected bytes with the SHA-256 {checksum.hex()[:12]}..., got others (a damaged transfer)")
    start = body.index(b"\n") + 1
    head = json.loads(body[:start])
    for path, size in head["files"]:
        files.write_bytes(_inside(parent, head["run"], path), body[start : start + size])
        start += size
    return str(head["run"])


def receive(bundles: Iterable[bytes], folder: Path, fleet: str) -> None:
    """Writes the bundles of a fleet to a temporary folder, checks them, and then moves all runs into `folder`."""
    place = folder / STUDIES / _ARRIVING / fleet
    shutil.rmtree(place, ignore_errors=True)
    for bundle in bundles:
        unpack(bundle, place)
    files.write_text(place / _COMPLETE, "")
    _move_runs(place, folder)


def finish_transfers(folder: Path) -> None:
    """Moves fleets that an interrupted process received completely into the folder. Removes incomplete fleets."""
    arriving = folder / STUDIES / _ARRIVING
    for place in sorted(arriving.iterdir()) if arriving.is_dir() else []:
        if (place / _COMPLETE).exists():
            _move_runs(place, folder)
        else:
            shutil.rmtree(place)


def _move_runs(place: Path, folder: Path) -> None:
    for run in sorted(path for path in place.iterdir() if path.is_dir()):
        target = folder / run.name
        if any((target / end).exists() for end in _ENDS):
            continue  # already received
        if target.exists():
            archive_folder(target)
        files.move_folder(run, target)
    shutil.rmtree(place)


def _inside(parent: Path, name: str, path: str) -> Path:
    """Returns the target path of a file in a bundle. Raises RunError if the path is outside of `parent`."""
    parts = PurePosixPath(name, path).parts
    is_foreign = any(mark in part for part in parts for mark in "\\:")  # separators of Windows
    if is_foreign or PurePosixPath(path).is_absolute() or ".." in parts or len(PurePosixPath(name).parts) != 1:
        raise RunError(f"expected paths inside the folder of the run, got {name}/{path} in a bundle")
    return parent.joinpath(*parts)
