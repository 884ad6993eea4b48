"""Reads a pipe, or a link to a device that never ends, in place of each file that unbraid reads; in its own process.

A line is printed before each reader is called and one after it, so that the process that waits can say which of them
hangs.
"""

import os
import resource
import signal
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, TextIO

import numpy as np
import torch

from tests.told import warned
from tests.training.runs.finished_runs import finish
from tests.training.squares import MLP_SPEC, PACKAGES
from unbraid._internal import files
from unbraid._internal.npz import Npz
from unbraid.cli.encode import read_pictures
from unbraid.codes import Codes
from unbraid.codes.codes_file import read_safetensors
from unbraid.codes.csv_file import read_csv
from unbraid.datasets.dataset import Factor
from unbraid.datasets.fetching.verification import PublishedFile, check_file
from unbraid.datasets.formats.archives import ArchiveMember, Folder, Tar, Zip, read_bounded
from unbraid.datasets.formats.pth import read_tensor
from unbraid.datasets.image_store import ImageStore, Plan
from unbraid.datasets.published.celeba import _lines
from unbraid.datasets.published.mnist import read_idx
from unbraid.datasets.published.shapes3d import _blocks
from unbraid.datasets.published.small_norb import read_matrix
from unbraid.datasets.subsets import Rows
from unbraid.datasets.synthetic.dsprites import DSprites
from unbraid.datasets.synthetic.dsprites_variants import BackgroundDSprites
from unbraid.datasets.user.folder_survey import read_label_csv
from unbraid.datasets.user.from_arrays import FromArrays
from unbraid.errors import UnbraidError
from unbraid.integrations.onnx_encoder import OnnxEncoder
from unbraid.metrics.scorecard import Scorecard
from unbraid.training.checkpoint import save_checkpoint, usable_checkpoints
from unbraid.training.runs import History, Run
from unbraid.training.runs.run_writer import RunWriter
from unbraid.training.state import MemberState, Net, TrainState

_SECONDS_A_READER = 60
_BYTES_A_READER = 2**29
_IMAGES = np.arange(48, dtype=np.uint8).reshape(12, 1, 2, 2)

READERS: dict[str, Callable[[Path], Any]] = {
    "FromArrays": lambda path: FromArrays(str(path)).open(),
    "Npz.names": lambda path: Npz(path).names,
    "Rows": lambda path: Rows(str(path)).described((), torch.zeros(3, 0)),
    "BackgroundDSprites": lambda path: BackgroundDSprites(background=str(path)).picture(),
    "DSprites": lambda path: DSprites(root=str(path)).open(),
    "read_idx": partial(read_idx, shape=(10,)),
    "read_matrix": lambda path: read_matrix(path, "uint8", (2, 2), 10),
    "read_tensor": read_tensor,
    "read_label_csv": read_label_csv,
    "Tar": lambda path: Tar(path).members(),
    "Zip": lambda path: Zip(path).members(),
    "Folder": lambda path: list(Folder(path.parent).contents([ArchiveMember(path.name, 10)])),
    "3D Shapes": lambda path: next(_blocks(path, 0)),
    "lists of CelebA": _lines,
    "read_bounded": read_bounded,
    "check_file": lambda path: check_file(path, PublishedFile(path.name, None)),
    "pictures of encode": lambda path: read_pictures([path], (1, 2, 2)),
    "codes in .npz": lambda path: Codes.load(path.rename(path.with_suffix(".npz"))),
    "codes in .safetensors": lambda path: Codes.load(path.rename(path.with_suffix(".safetensors"))),
    "codes in .csv": lambda path: Codes.load(path.rename(path.with_suffix(".csv"))),
    "codes of a run": read_safetensors,
    "read_csv": read_csv,
    "Scorecard": Scorecard.load,
    "OnnxEncoder": OnnxEncoder.open,
    "sha256": files.sha256,
    "read_sealed": files.read_sealed,
    "append_line": lambda path: files.append_line(path, "a line"),
    "locked": lambda path: files.locked(path, wait=True, purpose="testing").__enter__(),
    "put_in_place": lambda path: files.put_in_place(path, path.with_name("finished")),
}
"""Each reader of a single file, by name."""

RUN_FILES = ("spec.json", "finished.json", "weights.safetensors", "codes.safetensors", "history.csv", "scores.json")


def run_files(folder: Path, place: Callable[[Path], Any]) -> dict[str, Callable[[], Any]]:
    """Readers of a run, each of which finds one of its files replaced."""
    readers: dict[str, Callable[[], Any]] = {}
    for name in RUN_FILES:
        run = finish(Run.place(folder / name, MLP_SPEC, 0), seed=0)
        place(run.folder / name)
        readers[f"{name} of a run"] = partial(_all_of_a_run, run.folder)
    for suffix in (".json", ".safetensors"):
        run = Run.place(folder / suffix, MLP_SPEC, 0)
        RunWriter(run).begin()
        carried = TrainState(Net({"0": torch.ones(1)}, {}), Net({}, {}), {})
        save_checkpoint(run, MemberState(5, carried, None, None), [], History())
        place(next((run.folder / "checkpoints").glob(f"*{suffix}")))
        readers[f"{suffix} of a checkpoint"] = partial(_checkpoints, run)
    return readers


def cached_files(folder: Path, place: Callable[[Path], Any]) -> dict[str, Callable[[], Any]]:
    """Readers of what is kept in a cache, each of which finds one of its files replaced and may make it again."""
    readers: dict[str, Callable[[], Any]] = {}
    plan = Plan((1, 2, 2), (Factor("number", 12),), np.arange(12)[:, None], lambda start: iter([_IMAGES[start:]]))
    for name in ("record.json", "images.npy", "factors.npy", "progress.json", "images.part", ".lock"):
        store = ImageStore(folder / name / "store")
        if name in ("record.json", "images.npy", "factors.npy"):
            store.make(plan, "making")
        place(store.folder / name)
        readers[f"{name} of a store"] = partial(_made_again, store, plan)
    return readers


def _all_of_a_run(folder: Path) -> None:
    run = Run.open(folder, packages=PACKAGES)
    run.model(), run.codes(), run.history, run.scores()


def _checkpoints(run: Run) -> None:
    with warned() as warnings:
        found = usable_checkpoints(run, {"step": torch.ones(1)})
    if found or len(warnings) != 1:
        raise AssertionError("the checkpoint was used")


def _made_again(store: ImageStore, plan: Plan) -> None:
    np.testing.assert_array_equal(store.ensure(lambda: plan, "making").pixels, _IMAGES)


def _pipe(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    os.mkfifo(path)
    return path


def _device(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    path.symlink_to("/dev/zero")
    return path


PLACES = {"pipe": _pipe, "device": _device}


def _limit_memory() -> None:
    """From here on so much more than is in use now, and no more."""
    in_use = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (in_use + _BYTES_A_READER,) * 2)


def read_all(kind: str, folder: Path, said: TextIO) -> None:
    """Calls every reader, each with a pipe or a device of its own in the folder. The process is expected to end."""
    torch.set_num_threads(1)  # a pool of threads does not survive a fork
    place = PLACES[kind]
    os.environ["UNBRAID_CACHE"] = str(folder / "cache")
    readers = {name: partial(read, place(folder / name / "file")) for name, read in READERS.items()}
    readers |= run_files(folder / "runs", place) | cached_files(folder / "caches", place)
    _limit_memory()
    for name, read in readers.items():
        print(f"{name}:", end=" ", file=said, flush=True)
        signal.alarm(_SECONDS_A_READER)  # ends the process
        try:
            read()
            outcome = "made again"
        except (UnbraidError, OSError) as error:
            outcome = f"refused, {error}"
        except BaseException as error:  # noqa: BLE001 (whatever it is, it is what is asked for)
            outcome = f"failed, {error!r}"
        signal.alarm(0)
        print(" ".join(outcome.split()), file=said, flush=True)
