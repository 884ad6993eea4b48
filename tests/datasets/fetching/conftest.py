import pytest

from tests.datasets.fetching.downloads import PUBLISHED
from unbraid.datasets.fetching import download as downloading
from unbraid.datasets.fetching.download import Download


@pytest.fixture(autouse=True)
def _no_proxy(monkeypatch):
    monkeypatch.setenv("no_proxy", "*")


@pytest.fixture(autouse=True)
def waits(monkeypatch):
    """The seconds that downloads would have waited."""
    seconds = []
    monkeypatch.setattr(downloading, "sleep", seconds.append)
    return seconds


@pytest.fixture
def download(tmp_path, monkeypatch):
    """Makes a download from a server, with other limits."""

    def make(server, published=PUBLISHED, **limits):
        for name, value in limits.items():
            monkeypatch.setattr(downloading, name, value)
        return Download(published, server.url, tmp_path, "Try again.")

    return make
