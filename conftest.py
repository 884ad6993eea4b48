"""Collects the examples in docstrings of `src`, from the files that have some: the others need not be imported."""

from pathlib import Path

import pytest
from _pytest.doctest import DoctestModule

_SOURCE = Path(__file__).parent / "src"


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> DoctestModule | None:
    is_source = file_path.suffix == ".py" and file_path.is_relative_to(_SOURCE)
    if is_source and ">>> " in file_path.read_text(encoding="utf-8"):
        return DoctestModule.from_parent(parent, path=file_path)
    return None
