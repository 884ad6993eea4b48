"""Who may import whom: the contracts are in pyproject.toml, the reasons in docs/design.md."""

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
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


def test_the_layers_are_kept():
    checked = lint_imports(ROOT / "src")
    assert checked.returncode == 0, checked.stdout + checked.stderr


@pytest.mark.parametrize(
    ("file", "content", "complaint"),
    [
        pytest.param("brand_new.py", "", "not listed as layers", id="a room with no place in the house"),
        pytest.param(
            "errors.py", "import unbraid.codes", "unbraid.errors is not allowed to import unbraid.codes", id="upwards"
        ),
        pytest.param(
            "files.py", "import unbraid.codes", "unbraid.files is not allowed to import unbraid.codes", id="sideways"
        ),
        pytest.param(
            "metrics/new.py",
            "import unbraid.data.dataset",
            "unbraid.metrics is not allowed to import unbraid.data",
            id="a metric past its table",
        ),
        pytest.param(
            "codes/codes.py",
            "import typer",
            "unbraid is not allowed to import typer",
            id="the command line outside cli",
        ),
        pytest.param("codes/codes.py", "import pickle", "unbraid is not allowed to import pickle", id="a pickle"),
    ],
)
def test_a_breach_is_noticed(tmp_path, file, content, complaint):
    shutil.copytree(ROOT / "src" / "unbraid", tmp_path / "unbraid", ignore=shutil.ignore_patterns("__pycache__"))
    with (tmp_path / "unbraid" / file).open("a") as module:
        module.write(f"\n{content}\n")
    checked = lint_imports(tmp_path)
    assert checked.returncode == 1, checked.stderr
    assert complaint in " ".join(checked.stdout.split())
