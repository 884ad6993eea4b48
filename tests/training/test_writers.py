import threading

import pytest
import torch

from unbraid.training.writers import writers


def test_results_come_in_order_and_from_several_threads():
    meeting = threading.Barrier(4, timeout=60)

    def write(number):
        meeting.wait()
        return number, int(torch.arange(number + 1).sum())

    with writers() as pool:
        assert list(pool.map(write, range(4))) == [(0, 0), (1, 1), (2, 3), (3, 6)]


def test_an_error_surfaces():
    with writers() as pool, pytest.raises(ZeroDivisionError):
        list(pool.map(lambda number: 1 // number, [1, 0, 2]))
