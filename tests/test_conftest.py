"""The guards of conftest.py stop what they say they stop."""

import os
import socket
from pathlib import Path

import pytest

from unbraid import files


@pytest.fixture
def guarded(pytester: pytest.Pytester) -> pytest.Pytester:
    """A folder whose tests run under a copy of our conftest.py."""
    pytester.makeconftest((Path(__file__).parent / "conftest.py").read_text())
    return pytester


def test_the_network_is_out_of_reach():
    with pytest.raises(pytest.fail.Exception, match="reached for the network"), socket.socket() as stream:
        stream.connect(("192.0.2.1", 80))  # an address kept for documentation (RFC 5737)


def test_names_are_not_looked_up():
    with pytest.raises(pytest.fail.Exception, match="example.org"):
        socket.create_connection(("example.org", 80))


def test_this_machine_is_within_reach():
    with socket.create_server(("127.0.0.1", 0)) as server, socket.create_connection(server.getsockname()) as client:
        assert client.getpeername() == server.getsockname()


def test_the_cache_is_not_the_users(tmp_path_factory):
    assert os.environ["UNBRAID_CACHE"].startswith(str(tmp_path_factory.getbasetemp()))
    assert files.cache_folder().is_relative_to(tmp_path_factory.getbasetemp())


def test_a_test_that_changes_shared_state_fails_alone(guarded):
    guarded.makepyfile("""
        import numpy, torch

        def test_draws_from_torch(): torch.rand(1)
        def test_draws_from_numpy(): numpy.random.rand()
        def test_changes_the_dtype(): torch.set_default_dtype(torch.float64)
        def test_changes_the_threads(): torch.set_num_threads(torch.get_num_threads() + 1)
        def test_leaves_everything_as_it_was(): torch.rand(1, generator=torch.Generator())
    """)
    result = guarded.runpytest_subprocess("-p", "no:cacheprovider")
    result.assert_outcomes(passed=5, errors=4)
    result.stdout.fnmatch_lines(
        ["*The test changed torch's global generator,*", "*The test changed torch's default dtype,*"]
    )
