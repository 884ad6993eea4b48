"""The guards of conftest.py stop what they say they stop."""

import os
import socket

import numpy as np
import pytest
import torch

from tests import shared_state
from unbraid._internal import files


def test_the_network_is_out_of_reach():
    with pytest.raises(pytest.fail.Exception, match="reached"), socket.socket() as stream:
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


@pytest.mark.parametrize(
    ("change", "name"),
    [
        (lambda: torch.rand(1), "torch's global generator"),
        (np.random.rand, "numpy's global generator"),
        (lambda: torch.set_default_dtype(torch.float64), "torch's default dtype"),
        (lambda: torch.set_num_threads(torch.get_num_threads() + 1), "torch's number of threads"),
    ],
)
def test_a_test_that_changes_shared_state_fails_alone(request, change, name):
    assert "_shared_state_is_left_alone" in request.fixturenames
    with shared_state.left_alone():
        with pytest.raises(pytest.fail.Exception, match=f"The test changed {name},"), shared_state.left_alone():
            change()
        torch.rand(1, generator=torch.Generator())
