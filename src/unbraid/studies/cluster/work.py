"""One fleet as a piece of work that any process can do: an order in JSON comes in, an answer in JSON goes out.

Everything that decides what the runs become is in the order: their specs and seeds, which of them are trained side by
side, and how many threads they have. Where it is done changes nothing.
"""

import contextlib
import json
import socket
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import torch

from unbraid.device import resolve_device
from unbraid.errors import RunError, TrainingInterrupted, UnbraidError
from unbraid.events import Event, listening
from unbraid.recipes import from_json, to_json
from unbraid.runs.records import read_record
from unbraid.runs.run import Run
from unbraid.runs.run_writer import RunWriter
from unbraid.runs.spec import RunSpec
from unbraid.studies.cluster.parcels import packed
from unbraid.studies.cluster.token import Token
from unbraid.studies.questions import Question
from unbraid.studies.scorer import asked_in_json, told
from unbraid.studies.study import StudyRun
from unbraid.training.options import TrainingOptions
from unbraid.training.train import train_runs
from unbraid.version import __version__

Beat = Callable[[], None]

_SECONDS_BETWEEN_BEATS = 2.0
_MOST_LETTERS = 1_000  # of an error: what comes back stays small


def fleet_order(
    runs: Sequence[tuple[StudyRun, Sequence[Question]]],
    folder: Path,
    *,
    device: str,
    scoring_device: str,
    threads: int | None,
    packages: Sequence[str],
    token: Token | None,
    let_go: bool,
    training: Mapping[str, Any],
) -> dict[str, Any]:
    """Returns the order to train these runs side by side, with these options of `train`, and to answer the questions
    that each comes with. With a `token`, a process that does not see the folder sends the runs home, with `let_go`
    without weights and codes.
    """
    specs = {each.setting.label: each.setting.spec for each, _ in runs}
    labels = list(specs)
    asked = [asked_in_json(questions) for _, questions in runs]
    kinds = list({json.dumps(each): each for each in asked}.values())
    return {
        "unbraid": __version__,
        "folder": str(folder.absolute()),
        "token": None if token is None else token.to_json(),
        "device": device,
        "scoring_device": scoring_device,
        "threads": threads,
        "packages": list(packages),
        "side_by_side": len(runs),
        "let_go": let_go,
        "training": dict(training),
        "specs": [to_json(spec) for spec in specs.values()],
        "asked": kinds,
        "runs": [
            [labels.index(each.setting.label), each.seed, kinds.index(questions)]
            for (each, _), questions in zip(runs, asked, strict=True)
        ],
    }


def carry_out(text: str, beat: Beat = lambda: None) -> Iterator[str | bytes]:
    """Trains and scores the fleet of an order. Yields the answer, then, if the runs do not lie in the folder of the
    study, each as a parcel. `beat` is called every few seconds as long as there is progress.
    """
    order: dict[str, Any] = json.loads(text)
    if order["unbraid"] != __version__:
        yield json.dumps(
            {
                "refused": f"{socket.gethostname()} has unbraid {__version__}, and the study is run by "
                f"{order['unbraid']}. Install the same version on every node."
            }
        )
        return
    with _place(order) as (folder, is_home):
        beat()
        runs = _runs(order, folder)
        with with_threads(order["threads"]), listening(_every_few_seconds(beat)):
            answer = _answer(runs, order, is_home=is_home)
        yield json.dumps(answer)
        if not is_home and "runs" in answer:
            for run in runs:
                yield packed(run.folder)


def _answer(runs: Sequence[Run], order: Mapping[str, Any], *, is_home: bool) -> dict[str, Any]:
    """Trains and scores the runs, and returns what came of them, and where it was done."""
    began = time.monotonic()
    answer: dict[str, Any] = {
        "host": socket.gethostname(),
        "torch": torch.__version__,
        "device": _device_name(order["device"]),
        "is_home": is_home,
    }
    try:
        errors = _train(runs, order)
        answer["runs"] = {run.name: _told_of(run, errors) for run in runs}
        _score(runs, order, answer["runs"], lets_go=order["let_go"] and not is_home)
    except TrainingInterrupted as stopped:
        return {**answer, "stopped": str(stopped)}
    except _InUseError as error:
        return {**answer, "in_use": str(error)}
    return {**answer, "seconds": round(time.monotonic() - began, 3)}


class _InUseError(Exception):
    """Says that another process trains a run of the fleet, such as one of a node that was taken for dead."""


@contextlib.contextmanager
def with_threads(count: int | None) -> Iterator[None]:
    """Has torch compute with so many threads within the block; None changes nothing."""
    before = torch.get_num_threads()
    if count is None or count == before:
        yield
        return
    torch.set_num_threads(count)  # noqa: TID251 (the study says how many, and they are put back)
    try:
        yield
    finally:
        torch.set_num_threads(before)  # noqa: TID251


@contextlib.contextmanager
def _place(order: Mapping[str, Any]) -> Iterator[tuple[Path, bool]]:
    """Gives the folder to train in, and whether it is that of the study: if not, one that is gone afterwards."""
    folder = Path(order["folder"])
    if order["token"] is None or Token(**order["token"]).is_seen:
        yield folder, True
        return
    with tempfile.TemporaryDirectory(prefix="unbraid-fleet-") as scratch:
        yield Path(scratch), False


def _runs(order: Mapping[str, Any], folder: Path) -> list[Run]:
    specs = [from_json(content, RunSpec, packages=order["packages"], where="order") for content in order["specs"]]
    return [Run.place(folder, specs[place], seed) for place, seed, _ in order["runs"]]


def _train(runs: Sequence[Run], order: Mapping[str, Any]) -> dict[str, str]:
    """Trains the runs, so many side by side as the order says, and returns by run what went wrong."""
    errors: dict[str, str] = {}
    for start in range(0, len(runs), order["side_by_side"]):
        part = runs[start : start + order["side_by_side"]]
        try:
            _check_unlocked(part)
            train_runs(part, TrainingOptions(order["device"], **order["training"]))
        except UnbraidError as error:
            _check_unlocked(part)
            errors |= dict.fromkeys((run.name for run in part), str(error)[:_MOST_LETTERS])
        if order["side_by_side"] < len(runs):
            for run in part:
                RunWriter(run).log(f"memory was short for {len(runs)} side by side: {len(part)} were")
    return errors


def _check_unlocked(runs: Sequence[Run]) -> None:
    try:
        for run in runs:
            RunWriter(run).check_unlocked()
    except RunError as error:
        raise _InUseError(str(error)) from None


def _told_of(run: Run, errors: Mapping[str, str]) -> dict[str, Any]:
    """Returns how a run ended."""
    if failure := run.failure:
        return {"status": "failed", "reason": str(failure)[:_MOST_LETTERS]}
    if run.status != "finished":
        return {"status": run.status, "reason": errors.get(run.name, "it was not trained")}
    return {"status": "finished", "side_by_side": len(read_record(run.folder / "finished.json").get("fleet", [])) or 1}


def _score(
    runs: Sequence[Run], order: Mapping[str, Any], answers: Mapping[str, dict[str, Any]], *, lets_go: bool
) -> None:
    """Answers the questions that are asked of finished runs, and adds what could not be computed to the answers."""
    for run, (_, _, kind) in zip(runs, order["runs"], strict=True):
        if answers[run.name]["status"] != "finished":
            continue
        asked = {"asked": order["asked"][kind], "device": order["scoring_device"], "packages": order["packages"]}
        scored = told(json.dumps({"folder": str(run.folder), **asked})) if asked["asked"] else {}
        failed = {name: _last_line(text) for name, text in scored.get("failed", {}).items()}
        answers[run.name] |= {"error": scored.get("error", "")[:_MOST_LETTERS], "failed": failed}
        if lets_go and not scored.get("error") and not failed:
            RunWriter(run).let_go()


def _last_line(text: str) -> str:
    return text.strip().rpartition("\n")[2][:_MOST_LETTERS]


def _every_few_seconds(beat: Beat) -> Callable[[Event], None]:
    last = time.monotonic()

    def hear(_: Event) -> None:
        nonlocal last
        if time.monotonic() - last > _SECONDS_BETWEEN_BEATS:
            last = time.monotonic()
            beat()

    return hear


def _device_name(device: str) -> str:
    place = resolve_device(device)
    return torch.cuda.get_device_name(place) if place.type == "cuda" else "CPU"
