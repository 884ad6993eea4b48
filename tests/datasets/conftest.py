import os
from dataclasses import replace
from pathlib import Path

import pytest

from unbraid.datasets.published.converted import ConvertedDataset


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


@pytest.fixture
def any_checksum(monkeypatch):
    """Files of the tests' own pass for published ones: call it with the datasets whose checksums are not to be
    compared.
    """

    def forget(*classes: type[ConvertedDataset]) -> None:
        for cls in classes:
            files = tuple(replace(file, num_bytes=None, checksum=None) for file in cls.publication.files)
            monkeypatch.setattr(cls, "publication", replace(cls.publication, files=files))

    return forget
