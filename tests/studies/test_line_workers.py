"""Processes that answer lines: what is left to do when they are ended is not begun."""

import threading

from unbraid.studies.line_workers import LineWorkers


def test_a_pool_that_is_closed_begins_nothing(monkeypatch):
    began, go_on = threading.Event(), threading.Event()

    class Process:
        """Stands for a process that is at its first order when the pool is closed."""

        stdin = stdout = None

        def poll(self):
            return 1

        def wait(self):
            return 1

        def kill(self):
            go_on.set()

    started = []

    def start(pool):
        started.append(Process())
        pool._processes.append(started[-1])
        return started[-1]

    def ask(process, line):
        began.set()
        go_on.wait(10)

    monkeypatch.setattr(LineWorkers, "_start", start)
    monkeypatch.setattr("unbraid.studies.line_workers._ask", ask)
    pool = LineWorkers(1, "pass", lambda line: {})
    pool.give("a", "1")
    pool.give("b", "2")
    assert began.wait(10)
    pool.close()
    assert len(started) == 1
