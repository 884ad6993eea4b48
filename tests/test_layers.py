"""Who may import whom: the contracts are in pyproject.toml, the reasons in docs/design.md."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


def lint_imports(folder: Path) -> subprocess.CompletedProcess[str]:
    """Check the contracts against the `unbraid` that lies in `folder`."""
    command = [
        Path(sys.executable).with_name("lint-imports"),
        "--config",
        ROOT / "pyproject.toml",
        "--no-cache",
        "--no-logo",
    ]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}  # where `reproductions` lies
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


def test_the_layers_are_kept():
    checked = lint_imports(ROOT / "src")
    assert checked.returncode == 0, checked.stdout + checked.stderr


BREACHES = {  # the file to which the line is added, the line, and what is said of it
    "a folder without a layer": ("brand_new.py", "", "not listed as layers"),
    "upwards": ("errors.py", "import unbraid.codes", "unbraid.errors is not allowed to import unbraid.codes"),
    "sideways": (
        "codes/codes.py",
        "import unbraid.information",
        "unbraid.codes is not allowed to import unbraid.information",
    ),
    "a metric that reads a dataset": (
        "metrics/new.py",
        "import unbraid.datasets.dataset",
        "unbraid.metrics is not allowed to import unbraid.datasets",
    ),
    "the command line outside cli": ("codes/codes.py", "import typer", "unbraid is not allowed to import typer"),
    "a pickle": ("codes/codes.py", "import pickle", "unbraid is not allowed to import pickle"),
}


@pytest.fixture(scope="module")
def breached(tmp_path_factory):
    """What is said of one copy of the package in which every contract is broken."""
    folder = tmp_path_factory.mktemp("breached")
    shutil.copytree(ROOT / "src" / "unbraid", folder / "unbraid", ignore=shutil.ignore_patterns("__pycache__"))
    for file, line, _ in BREACHES.values():
        with (folder / "unbraid" / file).open("a") as module:
            module.write(f"\n{line}\n")
    return lint_imports(folder)


@pytest.mark.parametrize("breach", BREACHES)
def test_a_breach_is_noticed(breach, breached):
    assert breached.returncode == 1, breached.stderr
    assert BREACHES[breach][2] in " ".join(breached.stdout.split())
