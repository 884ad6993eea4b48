"""Collects the examples in docstrings of `src`.

Only files with examples are imported. Each example runs in an empty folder, with its own cache.
"""

import importlib
from pathlib import Path

import pytest
from _pytest.doctest import DoctestModule

from tests import shapes

_SOURCE = Path(__file__).parent / "src"

shapes.check_no_others()  # before anything of unbraid is imported


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> DoctestModule | None:
    """Returns the collector of the examples in a source file that has some."""
    is_source = file_path.suffix == ".py" and file_path.is_relative_to(_SOURCE)
    if is_source and ">>> " in file_path.read_text(encoding="utf-8"):
        # As users import it: pytest would make a second module of the file, and put it where a package has a function.
        importlib.import_module(".".join(file_path.relative_to(_SOURCE).with_suffix("").parts))
        return DoctestModule.from_parent(parent, path=file_path)
    return None


@pytest.fixture(autouse=True)
def _examples_run_elsewhere(request: pytest.FixtureRequest) -> None:
    if isinstance(request.node, pytest.DoctestItem):
        folder = request.getfixturevalue("tmp_path_factory").mktemp("example")
        patch = request.getfixturevalue("monkeypatch")
        patch.chdir(folder)
        patch.setenv("UNBRAID_CACHE", str(folder / "cache"))
