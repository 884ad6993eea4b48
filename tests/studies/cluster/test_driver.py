"""The driver: what is lost is handed out again, elsewhere; what goes wrong by itself is not; what is silent is lost."""

from collections import deque

import pytest

from unbraid._internal.worker_pool import Ended
from unbraid.errors import RunError
from unbraid.studies.cluster.driver import Driver, FleetTask, Patience

ANSWER = {"runs": {}, "shares_folder": True}


class Scripted:
    """Workers that end each request as a script says; "silent" never ends."""

    def __init__(self, *script):
        self.script, self.now = deque(script), 0.0
        self.requests, self.avoided, self.canceled = [], [], []
        self._ready, self._begun = deque(), {}

    def clock(self):
        return self.now

    def submit(self, task_id, request, avoid):
        self.requests.append(request)
        self.avoided.append(avoid)
        self._begun[task_id] = self.now
        how, content = self.script.popleft()
        if how not in ("silent", "not begun"):
            parts = {"answer": content} if how == "answered" else {"reason": content}
            self._ready.append(Ended(task_id, how, node="a", **parts))
        if how == "not begun":
            del self._begun[task_id]

    def wait(self, seconds):
        self.now += seconds
        while self._ready:
            ended = self._ready.popleft()
            self._begun.pop(ended.task_id, None)
            yield ended

    def cancel(self, task_id):
        self.canceled.append(task_id)
        self._begun.pop(task_id, None)

    def seconds_silent(self):
        return {task_id: self.now - at for task_id, at in self._begun.items()}


def driven(*script, take=lambda *_: None, num_runs=4, **patience):
    workers = Scripted(*script)
    driver = Driver(workers, take, Patience(**patience), workers.clock)
    driver.run([FleetTask("f", {"runs": [0] * num_runs, "side_by_side": num_runs})])
    return workers, driver


def test_what_is_lost_is_handed_out_again_elsewhere():
    workers, driver = driven(("lost", "node died"), ("lost", "node died"), ("answered", ANSWER))
    assert workers.avoided == [(), ("a",), ("a",)]
    assert driver.failures == {}


def test_what_is_lost_too_often_is_given_up_and_says_why():
    _, driver = driven(*[("lost", "node died")] * 3, losses=2)
    assert "lost 3 times" in driver.failures["f"]
    assert "node died" in driver.failures["f"]


def test_an_error_of_the_code_itself_is_not_tried_again():
    workers, driver = driven(("raised", "ValueError: no"))
    assert len(workers.requests) == 1
    assert driver.failures == {"f": "ValueError: no"}


def test_a_fleet_that_runs_out_of_memory_is_halved_until_it_fits():
    workers, driver = driven(*[("out of memory", "")] * 2, ("answered", ANSWER), num_runs=5)
    assert [request["side_by_side"] for request in workers.requests] == [5, 3, 2]
    assert driver.failures == {}


def test_one_model_alone_that_runs_out_of_memory_ends_as_a_failure():
    _, driver = driven(*[("out of memory", "")] * 3, num_runs=1, losses=2)
    assert "out of memory" in driver.failures["f"]


def test_what_goes_silent_is_canceled_and_handed_out_again():
    workers, driver = driven(("silent", ""), ("answered", ANSWER), silence=30, tick=10)
    assert workers.canceled == [0]
    assert (workers.now, driver.failures) == (50, {})


def test_what_is_never_begun_while_nothing_else_is_heard_is_handed_out_again():
    workers, _ = driven(("not begun", ""), ("answered", ANSWER), silence=30, tick=10)
    assert workers.canceled == [0]


def test_a_node_of_another_version_is_a_failure_that_says_so():
    _, driver = driven(("answered", {"refused": "unbraid 0.1 there"}))
    assert driver.failures == {"f": "unbraid 0.1 there"}


def test_a_worker_that_was_told_to_stop_lets_another_go_on():
    _, driver = driven(("answered", {"stopped": "SIGTERM"}), ("answered", ANSWER))
    assert driver.failures == {}


@pytest.mark.parametrize("damage", [RunError("another SHA-256")])
def test_what_comes_home_damaged_is_trained_again(damage):
    tries = []

    def take(*_):
        tries.append(1)
        if len(tries) == 1:
            raise damage

    _, driver = driven(("answered", ANSWER), ("answered", ANSWER), take=take)
    assert (len(tries), driver.failures) == (2, {})
