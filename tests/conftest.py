"""What every test stands on: no network, no user's cache, no change to the state that tests share."""

import gc
import ipaddress
import logging
import os
import signal
import socket
from collections.abc import Iterator
from typing import Any

import hypothesis
import jaxtyping
import pytest
import torch

from tests import shapes, shared_state
from tests.browser import chromium, open_page  # noqa: F401 - fixtures
from unbraid._internal.progress import noted

shapes.check_no_others()

# The same examples every time, so that a failure seen once can be seen again; and few, because more would be the same
# every time too: `--hypothesis-profile full` has many and new ones. No deadline, because a shared machine stalls.
hypothesis.settings.register_profile("unbraid", derandomize=True, deadline=None, max_examples=12)
hypothesis.settings.register_profile("full", deadline=None, max_examples=100)
hypothesis.settings.load_profile("unbraid")

# As in a terminal: a shell in the background, or nohup, would have them ignored, here and in all that the tests start.
for number in (signal.SIGINT, *([signal.SIGHUP] if hasattr(signal, "SIGHUP") else [])):
    if signal.getsignal(number) is signal.SIG_IGN:
        signal.signal(number, signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL)

# A figure is written to a file; there is no screen to show it on.
os.environ.setdefault("MPLBACKEND", "agg")


def pytest_make_parametrize_id(val: object, argname: str) -> str | None:
    """Names a file's bytes by their argument: some formats hold the time, and all processes must see the same names."""
    return argname if isinstance(val, bytes) and len(val) > 16 else None


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """A test that drives a browser is slow too."""
    for item in items:
        if item.get_closest_marker("browser"):
            item.add_marker(pytest.mark.slow)


def pytest_collection_finish() -> None:
    """What is imported by now stays: the garbage collector, which training calls, need not look through it again. And
    the fifty loggers of torch tell the root what they tell: pytest would listen to each of them, anew for every test.
    """
    for logger in logging.root.manager.loggerDict.values():
        if isinstance(logger, logging.Logger):
            logger.propagate = True
    _freeze()


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> None:
    """Nor through what the tests of a file have imported on their way and left in caches."""
    if nextitem is not None and nextitem.path != item.path:
        _freeze()


def _freeze() -> None:
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True, scope="session")
def _cache_of_its_own(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """The tests share a cache that is not the user's. A test that wants one to itself sets UNBRAID_CACHE with
    `monkeypatch`.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("UNBRAID_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture
def _as_users_run_it() -> Iterator[None]:
    """Leaves shapes unchecked, so that the library speaks before the checker does."""
    jaxtyping.config.update("jaxtyping_disable", True)
    yield
    jaxtyping.config.update("jaxtyping_disable", False)


@pytest.fixture(autouse=True, scope="session")
def _on_the_cpu_unless_named() -> Iterator[None]:
    """Where there is a GPU, "auto" is the CPU all the same: results are compared to the bit. Tests of a GPU name it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("unbraid._internal.device.automatic_device", lambda: torch.device("cpu"))
        yield


@pytest.fixture(autouse=True, scope="session")
def _no_wait_for_the_disk() -> Iterator[None]:
    """What a test writes need not outlive a power cut. When files are flushed, the tests of `files` look at."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda descriptor: None)
        yield


@pytest.fixture(autouse=True, scope="session")
def _no_network() -> Iterator[None]:
    """Only this machine may be reached: a test that needs a server starts one on the loopback address."""

    def only_nearby(reach: Any) -> Any:
        def guarded(self: socket.socket, address: Any, *rest: Any) -> Any:
            if self.family in {socket.AF_INET, socket.AF_INET6} and not _is_loopback(address[0]):
                # Not an OSError, which code that retries a download would take for bad luck.
                pytest.fail(f"A test reached for the network: {address}. Serve the bytes on 127.0.0.1 instead.")
            return reach(self, address, *rest)

        return guarded

    def only_nearby_names(host: Any, *rest: Any, **options: Any) -> Any:
        if host is not None and not _is_loopback(host):
            pytest.fail(f"A test asked for the address of {host!r}. Serve the bytes on 127.0.0.1 instead.")
        return getaddrinfo(host, *rest, **options)

    getaddrinfo = socket.getaddrinfo
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(socket.socket, "connect", only_nearby(socket.socket.connect))
        patch.setattr(socket.socket, "connect_ex", only_nearby(socket.socket.connect_ex))
        patch.setattr(socket, "getaddrinfo", only_nearby_names)
        yield


def _is_loopback(host: str | bytes) -> bool:
    name = host.decode() if isinstance(host, bytes) else host
    try:
        return ipaddress.ip_address(name).is_loopback
    except ValueError:
        return name in {"", "localhost"}


@pytest.fixture(autouse=True)
def _shared_state_is_left_alone() -> Iterator[None]:
    shapes.begin_test()
    noted.clear()
    with shared_state.left_alone():
        yield
