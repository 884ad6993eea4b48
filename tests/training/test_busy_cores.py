"""Advice where cores are busy, and silence everywhere else."""

import logging

import pytest
import torch

from unbraid._internal.progress import Event
from unbraid.training import busy_cores
from unbraid.training.busy_cores import ADVICE, _Noticing, _seconds_waited, noticing_busy_cores

CORES = 2


class Machine:
    """Clocks that go on together: of a second, so much is waited for a core, and so much is computed by all threads."""

    def __init__(self, waiting, computing):
        self.now, self.waiting, self.computing = 100.0, waiting, computing

    def noticing(self):
        return _Noticing(
            clock=lambda: self.now,
            waited=lambda: self.now * self.waiting,
            computed=lambda: self.now * self.computing,
        )


@pytest.fixture
def _two_cores(monkeypatch):
    monkeypatch.setattr(busy_cores, "usable_cores", lambda: CORES)


def said(caplog):
    return [record.getMessage() for record in caplog.records if record.levelno == logging.WARNING]


def trained(machine, seconds, step=1.0):
    """A machine trains for so long."""
    listener = machine.noticing()
    for _ in range(int(seconds / step)):
        machine.now += step
        listener(Event("training"))


@pytest.mark.usefixtures("_two_cores")
@pytest.mark.parametrize("step", [0.01, 1.0, 25.0])
def test_advice_is_given_once_where_cores_are_busy(caplog, step):
    trained(Machine(waiting=0.4, computing=1.2), seconds=100, step=step)
    assert said(caplog) == [ADVICE]
    assert "OMP_WAIT_POLICY=PASSIVE" in ADVICE


@pytest.mark.usefixtures("_two_cores")
@pytest.mark.parametrize(
    ("waiting", "computing"),
    [
        (0.0, 2.0),  # alone
        (0.0, 1.0),  # alone, in code that one thread computes
        (0.1, 1.8),  # something small runs now and then
        (0.4, 1.95),  # its own threads are in each other's way
    ],
)
def test_nothing_is_said_on_a_quiet_machine(caplog, waiting, computing):
    trained(Machine(waiting, computing), seconds=100)
    assert said(caplog) == []


@pytest.mark.usefixtures("_two_cores")
def test_a_busy_moment_is_not_worth_a_word(caplog):
    trained(Machine(waiting=0.9, computing=0.5), seconds=15)
    assert said(caplog) == []


@pytest.mark.parametrize("variable", ["OMP_WAIT_POLICY", "GOMP_SPINCOUNT", "KMP_BLOCKTIME"])
def test_who_has_chosen_is_not_advised(monkeypatch, variable):
    monkeypatch.setattr(torch, "get_num_threads", lambda: 2)
    for name in ("OMP_WAIT_POLICY", "GOMP_SPINCOUNT", "KMP_BLOCKTIME", "KMP_LIBRARY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(busy_cores, "_seconds_waited", lambda: 0.0)
    assert len(noticing_busy_cores(torch.device("cpu"))) == 1
    assert noticing_busy_cores(torch.device("cuda")) == []
    monkeypatch.setenv(variable, "1")
    assert noticing_busy_cores(torch.device("cpu")) == []


@pytest.mark.skipif(_seconds_waited() is None, reason="only Linux tells")
def test_the_system_says_how_long_a_thread_has_waited():
    before = _seconds_waited()
    sum(range(10**6))
    assert 0 <= before <= _seconds_waited()


def test_a_system_that_does_not_say_is_taken_at_its_word(monkeypatch, tmp_path):
    monkeypatch.setattr(busy_cores, "_SCHEDULER_STATISTICS", tmp_path / "schedstat")
    assert _seconds_waited() is None
    (tmp_path / "schedstat").write_text("17")
    assert _seconds_waited() is None
