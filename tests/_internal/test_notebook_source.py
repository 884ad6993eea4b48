"""Classes of scripts and notebooks: what a run keeps of them, and what is refused."""

import hashlib
import importlib.util
import linecache
import os
import runpy
import subprocess
import sys
import textwrap
from pathlib import Path
from types import ModuleType

import pytest

from tests._internal.user_modules import fresh, write
from unbraid import Run
from unbraid.config.digest import digest, user_source
from unbraid.errors import SpecError
from unbraid.studies import Setting, Study, StudyOptions, run_study

IMPORTS = """
import math
import torch
import numpy as np
from dataclasses import dataclass
from functools import cache
from math import log as logarithm
from typing import ClassVar
from jaxtyping import Float
from unbraid import Autoencoder, DSprites, MLP, Run, RunSpec, train
from unbraid.models.distributions import GaussianLatents
from unbraid.objectives.objective import Loss, Objective, Step
"""
CONSTANTS = """
SCALE = 2.0
LIMITS = {"low": (0.0, float("inf")), "all": [1, None, True]}
table = torch.zeros(3)
"""
FUNCTIONS = """
@cache
def factor(size):
    return SCALE * size + len(LIMITS)

double = lambda number: 2 * number
"""
OBJECTIVE = """
@dataclass(frozen=True)
class Base(Objective):
    weight: "float" = 1.0

@dataclass(frozen=True)
class Own(Base):
    '''An objective of a notebook.'''

    kind: ClassVar[str] = "own"

    def __call__(self, step: Step) -> Loss:
        table = double(factor(1)) * logarithm(math.e)
        distortion = -step.log_likelihood.mean() * float(np.float64(1.0))
        return Loss(self.weight * table * distortion, {"distortion": distortion})
"""
TRAIN = """
data = DSprites(resolution=8, shapes=("heart",), num_scales=2, num_orientations=1, num_positions=4)
model = Autoencoder(MLP((4,), decoder_hidden=(4,)), latents=GaussianLatents(2))
spec = RunSpec(data, model, Own(3.0), num_steps=2, batch_size=4)
[run] = train([spec], [0], folder=FOLDER, device="cpu", progress=False)
"""
CELLS = (IMPORTS, CONSTANTS, FUNCTIONS, OBJECTIVE)


class Notebook:
    """Runs cells as IPython does: each is compiled under a name of its own, under which tracebacks find its lines."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.module = ModuleType("__main__")
        monkeypatch.setitem(sys.modules, "__main__", self.module)
        monkeypatch.setattr(linecache, "cache", dict(linecache.cache))

    def run(self, *cells: str) -> dict:
        for cell in cells:
            name = f"/tmp/ipykernel_1/{hashlib.sha1(cell.encode()).hexdigest()[:10]}.py"
            linecache.cache[name] = len(cell), None, cell.splitlines(keepends=True), name
            exec(compile(cell, name, "exec"), vars(self.module))
        return vars(self.module)


@pytest.fixture
def notebook(monkeypatch: pytest.MonkeyPatch) -> Notebook:
    return Notebook(monkeypatch)


def kept_text(config: object) -> str:
    return user_source(config).modules["__main__"].text


def test_what_is_kept_defines_the_class_and_does_nothing_else(notebook):
    own = notebook.run(*CELLS, "unrelated = open")["Own"]()
    text = kept_text(own)
    assert "unrelated" not in text
    assert "table = torch" not in text  # a name of its own in the function
    module = ModuleType("kept")
    sys.modules["kept"] = module
    try:
        exec("from math import inf\n" + text, vars(module))
    finally:
        del sys.modules["kept"]
    assert vars(module)["Own"](3.0).weight == 3.0
    assert vars(module)["factor"](1) == 4.0
    assert vars(module)["LIMITS"]["low"] == (0.0, float("inf"))


@pytest.mark.parametrize(
    "cell",
    [
        "SCALE = 3.0",
        "double = lambda number: 3 * number",
        FUNCTIONS.replace("len(LIMITS)", "len(LIMITS) + 1"),
        OBJECTIVE.replace("weight: ", "other: int = 1\n    weight: "),
        "LIMITS['low'] = (1.0, 2.0)",
    ],
)
def test_a_cell_that_changes_what_the_class_does_changes_its_digest(notebook, cell):
    first = digest(notebook.run(*CELLS)["Own"]())
    assert digest(notebook.run(OBJECTIVE)["Own"]()) == first  # the same cell once more
    notebook.run(cell)
    assert digest(notebook.run(*([OBJECTIVE] if "class" not in cell else []))["Own"]()) != first


def test_a_cell_that_does_not_leaves_it(notebook):
    first = digest(notebook.run(*CELLS)["Own"]())
    notebook.run("other = 3", "table = None", OBJECTIVE.replace("An objective", "The objective") + "\n# and more")
    assert digest(vars(notebook.module)["Own"]()) == first


def test_a_spec_of_a_class_whose_cell_was_run_again_is_refused(notebook):
    old = notebook.run(*CELLS)["Own"]()
    notebook.run(OBJECTIVE)
    with pytest.raises(SpecError, match="^Own "):
        digest(old)
    base, _ = OBJECTIVE.split("\n\n@dataclass", 1)
    notebook.run(base)
    with pytest.raises(SpecError, match="^Base "):
        digest(vars(notebook.module)["Own"]())


@pytest.mark.parametrize(
    ("cell", "given"),
    [
        ("double = torch.zeros(3)", "'double' of type Tensor"),
        (
            "def scaled_by(k):\n    def scaled(x):\n        return k * x\n    return scaled\ndouble = scaled_by(2)",
            "'double' of type function",
        ),
        ("SCALE = GaussianLatents(3)", "'SCALE' of type GaussianLatents"),
    ],
)
def test_what_cannot_be_kept_is_refused_with_where_to_move_it(notebook, cell, given):
    own = notebook.run(*CELLS)["Own"]()
    notebook.run(cell)
    with pytest.raises(SpecError, match=f"^Own .*{given}.*from mine import Own"):
        digest(own)


def test_text_annotations_of_a_cell_stay_texts(notebook):
    cell = "from __future__ import annotations\n" + OBJECTIVE.replace("-> Loss", "-> Later")
    notebook.run(*CELLS[:3], cell)
    assert kept_text(vars(notebook.module)["Own"]()).startswith("from __future__ import annotations")


def test_a_class_whose_source_is_nowhere_is_refused(notebook):
    notebook.run(*CELLS)
    linecache.cache.clear()
    with pytest.raises(SpecError, match="'Base'"):
        digest(vars(notebook.module)["Own"]())


def test_a_run_of_a_notebook_is_opened_where_its_class_was_defined_again(notebook, tmp_path, monkeypatch):
    names = notebook.run(*CELLS, TRAIN.replace("FOLDER", repr(str(tmp_path))))
    run: Run = names["run"]
    assert Run.open(run.folder).spec == run.spec
    again = Notebook(monkeypatch)
    warnings = []
    without = Run.open(run.folder, warn=warnings.append)
    assert str(run.folder / "source") in warnings[0]
    assert without.codes() == run.codes()
    again.run(*CELLS)
    opened = Run.open(run.folder)
    assert (opened.digest, opened.spec.digest) == (run.digest, run.digest)
    assert (opened.spec.objective.weight, opened.spec.objective.kind) == (3.0, "own")
    assert len(opened.encoder()(run.spec.dataset.load().pixels[:3])) == 3
    again.run("SCALE = 3.0", OBJECTIVE)
    Run.open(run.folder, warn=warnings.append)
    assert "module __main__" in warnings[1]


def test_a_study_of_a_notebook_is_run_in_its_process_with_a_note(notebook, tmp_path, caplog):
    names = notebook.run(*CELLS, TRAIN.partition("[run]")[0])
    study = Study("mine", (Setting("own", names["spec"], (0, 1)),), metrics=("mig",))
    with caplog.at_level("WARNING"):
        outcome = run_study(study, tmp_path, StudyOptions(device="cpu", num_workers=2, progress=False))
    assert (outcome.failures, outcome.not_begun) == ({}, ())
    assert sum("study runs in this process" in message for message in caplog.messages) == 1
    with pytest.raises(SpecError, match="cluster can import"):
        run_study(study, tmp_path, StudyOptions(on="ray"))


def test_a_run_of_a_script_is_opened_again_without_running_it_again(tmp_path):
    script = tmp_path / "script.py"
    write(tmp_path, {"script": "import helper\n" + "".join(CELLS).replace("SCALE * size", "helper.times(SCALE, size)")})
    write(tmp_path, {"helper": "def times(a, b): return a * b"})
    with script.open("a") as stream:
        stream.write(TRAIN.replace("FOLDER", repr(str(tmp_path / "runs"))))
    with fresh(tmp_path):
        run = runpy.run_path(str(script), run_name="__main__")["run"]
    kept = sorted(path.name for path in (run.folder / "source").iterdir())
    assert kept == ["__main__.py", "helper.py"]
    assert "train(" not in (run.folder / "source" / "__main__.py").read_text()
    assert Run.open(run.folder).spec.objective.weight == 3.0
    assert [path.name for path in (tmp_path / "runs").iterdir()] == [run.name]


@pytest.mark.slow
def test_a_script_in_a_process_of_its_own_finds_its_run_again(tmp_path):
    script = tmp_path / "script.py"
    script.write_text("".join(CELLS) + TRAIN.replace("FOLDER", "'runs'") + "\nprint(run.folder.name)")
    names = [
        subprocess.run([sys.executable, "script.py"], cwd=tmp_path, env=_environment(), check=True, capture_output=True)
        for _ in range(2)
    ]
    assert names[0].stdout == names[1].stdout
    [folder] = (tmp_path / "runs").iterdir()
    assert Run.open(folder).spec.objective.weight == 3.0


@pytest.mark.slow
@pytest.mark.skipif(
    any(importlib.util.find_spec(name) is None for name in ("nbclient", "nbformat", "ipykernel")),
    reason="needs nbclient and ipykernel, of the extra `dev`",
)
def test_a_run_of_a_real_notebook_is_opened_again(tmp_path, monkeypatch):
    import nbclient
    import nbformat

    monkeypatch.setenv("PYTHONPATH", _environment()["PYTHONPATH"])
    edited = CONSTANTS.replace("SCALE = 2.0", "SCALE = 20.0")
    training = TRAIN.replace("FOLDER", repr(str(tmp_path / "runs")))
    cells = [*CELLS, training, training, edited, training, "again = Run.open(run.folder)"]
    book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(textwrap.dedent(cell)) for cell in cells])
    nbclient.NotebookClient(book, timeout=600, resources={"metadata": {"path": str(tmp_path)}}).execute()
    folders = list((tmp_path / "runs").iterdir())
    assert len(folders) == 2
    scales = {(folder / "source" / "__main__.py").read_text().count("SCALE = 20.0") for folder in folders}
    assert scales == {0, 1}
    for folder in folders:
        assert Run.open(folder).spec.objective.weight == 3.0


def _environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2] / "src"), "OMP_NUM_THREADS": "1"}
