import pytest

from tests.datasets.fetching.downloads import PUBLISHED
from unbraid.datasets.fetching.download import Download, RetryPolicy


@pytest.fixture(autouse=True)
def _no_proxy(monkeypatch):
    monkeypatch.setenv("no_proxy", "*")


@pytest.fixture
def waits():
    """The seconds that the download would have waited."""
    return []


@pytest.fixture
def download(tmp_path, waits):
    """Makes a download from a server; it waits in no time."""

    def make(server, published=PUBLISHED, **policy):
        return Download(published, server.url, tmp_path, "Try again.", RetryPolicy(sleep=waits.append, **policy))

    return make
