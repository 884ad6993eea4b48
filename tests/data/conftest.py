import os
from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    """A cache of the test's own, so that no test reads or writes the user's."""
    folder = tmp_path / "cache"
    monkeypatch.setenv("UNBRAID_CACHE", str(folder))
    return folder


@pytest.fixture
def real_data():
    if not (folder := os.environ.get("UNBRAID_DATA")):
        pytest.skip("UNBRAID_DATA is not set; it names the folder of real data files")
    return Path(folder)


@pytest.fixture
def no_data_folder(monkeypatch):
    monkeypatch.delenv("UNBRAID_DATA", raising=False)
