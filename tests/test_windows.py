"""By the rules of Windows: the package is imported, and trains, scores and reports; no file is lost. See the rules for
what they cannot impose: the tests were not run on Windows itself.
"""

import ctypes
import json
import os
import re
import signal
import subprocess
import sys
import threading
from dataclasses import replace
from pathlib import Path

import pytest

from tests.training.squares import MLP_SPEC
from tests.windows_rules import windows_rules
from unbraid import BetaVAE, evaluate
from unbraid._internal import files, memory
from unbraid.errors import RunError, SpecError, TrainingInterrupted
from unbraid.studies import Setting, Study, StudyOptions, run_study
from unbraid.studies.cluster.fleet_task import unpack
from unbraid.training import TrainingOptions, train
from unbraid.training.interrupt import interruptible
from unbraid.training.runs.run import Run
from unbraid.training.runs.run_writer import RunWriter

pytestmark = pytest.mark.skipif(sys.platform == "darwin", reason="the rules read /proc to find what is open")
ROOT = Path(__file__).parent.parent
SPEC = replace(MLP_SPEC, num_steps=6, precision="float32")


@pytest.fixture(autouse=True)
def _windows():
    with windows_rules():
        yield


def names(folder):
    return sorted(path.name for path in folder.iterdir())


# The main job


@pytest.mark.usefixtures("_as_users_run_it")  # the checker of shapes holds codes, and so their file
def test_a_model_is_trained_interrupted_resumed_scored_and_trained_again(tmp_path):
    def stop(event):
        if event.done == 3:
            signal.raise_signal(signal.SIGINT)

    with pytest.raises(TrainingInterrupted):
        train(SPEC, [0, 1], folder=tmp_path, device="cpu", watch=stop, progress=False)
    runs = train(SPEC, [0, 1], folder=tmp_path, device="cpu", resume=True, progress=False)
    assert [run.status for run in runs] == ["finished", "finished"]
    first = runs[0].score("mig", progress=False)["mig"].value
    assert evaluate(runs[0].codes(), metrics=["mig"], progress=False)["mig"].value == first
    again = train(SPEC, [0, 1], folder=tmp_path, device="cpu", progress=False, options=TrainingOptions(force=True))
    assert again[0].score("mig", progress=False)["mig"].value == first
    assert len(names(tmp_path / ".archived")) == 2
    assert not list(tmp_path.rglob("*.part"))


def test_a_study_is_run_and_collected(tmp_path):
    study = Study("small", Setting.each([replace(SPEC, objective=BetaVAE())], range(2)), metrics=("mig",), threads=1)
    options = StudyOptions("cpu", num_scorers=0, packages=("tests",), progress=False)
    assert run_study(study, tmp_path, options).num_scored == 2
    assert run_study(study, tmp_path, options).num_trained == 0


JOB = """
set -e
unbraid() { "$PYTHON" -X warn_default_encoding -m tests.windows_rules -m unbraid "$@"; }
unbraid train --preset beta-tcvae-sprites --num-steps 3 --seeds 0,1 --out runs --device cpu
unbraid score runs --metrics mig,sap --device cpu
unbraid report runs --out report.html
unbraid train --preset beta-tcvae-sprites --num-steps 3 --seeds 0 --out runs --device cpu --force
"""


@pytest.mark.slow
def test_the_commands_work_where_the_modules_are_imported_by_these_rules(tmp_path):
    # cp1252 is what a pipe has on Windows; ASCII is what a file has here that is opened without an encoding.
    changes = {"PYTHON": sys.executable, "PYTHONPATH": str(ROOT), "PYTHONIOENCODING": "cp1252", "LC_ALL": "C"}
    changes |= {"PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        ["bash", "-c", JOB], cwd=tmp_path, env={**os.environ, **changes}, capture_output=True, check=False
    )
    assert done.returncode == 0, done.stdout.decode("cp1252") + done.stderr.decode("cp1252")
    assert len(list(tmp_path.glob("runs/*/finished.json"))) == 2
    assert len(list(tmp_path.glob("runs/.archived/*/finished.json"))) == 1
    assert not (tmp_path / "report.html").read_bytes().decode("utf-8").isascii()


# Files


def test_a_file_is_replaced_as_soon_as_its_readers_close_it(tmp_path):
    path = tmp_path / "a.txt"
    files.write_text(path, "old")
    reader = path.open("rb")
    threading.Timer(0.1, reader.close).start()
    files.write_text(path, "new")
    assert (path.read_text(encoding="utf-8"), names(tmp_path)) == ("new", ["a.txt"])


def test_a_file_that_stays_open_is_kept_and_named(tmp_path, monkeypatch):
    monkeypatch.setattr(files, "_SECONDS_BETWEEN_RENAMES", (0.0,))
    path = tmp_path / "a.txt"
    files.write_text(path, "old")
    with path.open("rb"), pytest.raises(PermissionError, match=r"a\.txt"):
        files.write_text(path, "new")
    assert (path.read_text(encoding="utf-8"), names(tmp_path)) == ("old", ["a.txt"])


def test_an_error_leaves_no_temporary_file(tmp_path):
    with pytest.raises(ValueError, match="half"), files.atomic_writer(tmp_path / "a.txt"):
        raise ValueError("half")
    assert names(tmp_path) == []


def test_what_another_writer_has_just_closed_is_not_swept(tmp_path):
    """Before it renames the file."""
    closed = tmp_path / f".a.{'0' * 32}.part"
    closed.touch()
    files.sweep(tmp_path)
    assert names(tmp_path) == [closed.name]


def test_a_folder_in_the_place_of_a_file_is_named_as_such(tmp_path):
    with pytest.raises(IsADirectoryError):
        files.read_bytes(tmp_path)


def test_the_lock_of_a_run_that_was_not_begun_is_left_and_free(tmp_path):
    writer = RunWriter(Run.place(tmp_path, SPEC, 0))
    with writer.locked():
        pass
    assert writer.run.status == "new"
    writer.check_unlocked()


def test_a_run_that_another_process_trains_is_not_archived(tmp_path):
    (run,) = train(SPEC, folder=tmp_path, device="cpu", progress=False)
    with RunWriter(run).locked(), pytest.raises(RunError, match=run.name):
        RunWriter(run).archive()
    assert run.status == "finished"


def test_a_run_whose_codes_are_in_use_is_not_archived_in_part(tmp_path, monkeypatch):
    monkeypatch.setattr(files, "_SECONDS_BETWEEN_RENAMES", (0.0,))
    (run,) = train(SPEC, folder=tmp_path, device="cpu", progress=False)
    codes = run.codes()
    with pytest.raises(RunError, match=f"{run.name} cannot be moved.*Close"):
        RunWriter(run).archive()
    assert run.codes().mean.equal(codes.mean)
    del codes
    RunWriter(run).archive()
    assert run.status == "new"


# Names


@pytest.mark.parametrize(
    "name", ["con", "nul.1", "com1", "lpt9.x", "Sweep", "a:b", "a\\b", "a b", "tab\t", "x" * 101, ""]
)
def test_a_study_has_no_name_that_a_file_cannot_have(name):
    with pytest.raises(SpecError, match=re.escape(repr(name))):
        Study(name, Setting.each([SPEC], [0]))


@pytest.mark.parametrize("name", ["con-1", "common", "nully", "a.con", "com"])
def test_names_that_only_resemble_those_of_devices_are_taken(name):
    assert Study(name, Setting.each([SPEC], [0])).name == name


@pytest.mark.parametrize("path", ["..\\..\\evil", "C:evil", "\\\\host\\share", "a:stream"])
def test_a_parcel_stays_in_its_folder_whatever_separates_its_names(tmp_path, path):
    import hashlib

    body = json.dumps({"run": "run", "files": [[path, 1]]}).encode() + b"\nx"
    with pytest.raises(RunError, match="inside the folder"):
        unpack(hashlib.sha256(body).digest() + body, tmp_path / "inside")
    assert names(tmp_path) == []


def test_runs_have_names_without_capitals_in_short_paths(tmp_path):
    """Two names that differ only in case are one on Windows and macOS; a path has 259 characters."""
    (run,) = train(SPEC, folder=tmp_path, device="cpu", progress=False, options=TrainingOptions(checkpoint_every=3))
    for path in [run.folder, *run.folder.rglob("*")]:
        assert path.name == path.name.lower()
        assert len(str(path.relative_to(tmp_path))) < 120


# The system


class Windows:
    """`ctypes.windll` of a machine with 16 GB, of which 5 GB are free."""

    class Status(ctypes.Structure):
        _fields_ = (
            ("dwLength", ctypes.c_uint32),
            ("dwMemoryLoad", ctypes.c_uint32),
            ("ullTotalPhys", ctypes.c_uint64),
            ("ullAvailPhys", ctypes.c_uint64),
            ("others", ctypes.c_uint64 * 5),
        )

    class kernel32:  # noqa: N801
        @staticmethod
        def GlobalMemoryStatusEx(given):  # noqa: N802
            status = Windows.Status.from_buffer(given)
            assert status.dwLength == ctypes.sizeof(status) == ctypes.sizeof(given)
            status.dwMemoryLoad, status.ullTotalPhys, status.ullAvailPhys = 69, 16_000_000_000, 5_000_000_000
            return 1


def test_free_memory_is_that_of_the_system(monkeypatch):
    monkeypatch.setattr(ctypes, "windll", Windows, raising=False)
    assert memory.total_memory() == 16_000_000_000
    assert memory._free_on_machine(Path("nowhere")) == 5_000_000_000


@pytest.mark.skipif(sys.platform == "win32", reason="it is known")
def test_where_it_is_not_known_all_memory_counts_as_free():
    assert memory._free_on_machine(Path("nowhere")) == memory.total_memory() > 2**60


def test_the_cache_is_where_windows_keeps_caches(monkeypatch, tmp_path):
    monkeypatch.delenv("UNBRAID_CACHE")
    monkeypatch.setenv("LOCALAPPDATA", str(tmp_path))
    monkeypatch.setattr(files.sys, "platform", "win32")
    assert files.cache_folder() == tmp_path / "unbraid"


def test_a_signal_without_sighup_asks_to_stop():
    before = signal.getsignal(signal.SIGTERM)
    with interruptible() as interrupt:
        signal.raise_signal(signal.SIGTERM)
        assert interrupt.requested
    assert signal.getsignal(signal.SIGTERM) is before
