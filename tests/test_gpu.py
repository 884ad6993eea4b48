"""`make test-gpu` says what is missing, and tests nothing without it."""

import pytest
import torch

from tests import gpu


def test_without_a_gpu_it_says_so(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert "CUDA device" in gpu.main([])


def test_a_required_package_that_is_missing_is_named(monkeypatch):
    monkeypatch.setattr(gpu, "REQUIRED", ("torch", "no_such_package"))
    assert "lacks no_such_package" in gpu.main([])


@pytest.mark.parametrize(("absent", "without"), [(["beartype"], "--jaxtyping-packages"), (["xdist"], "--numprocesses")])
def test_what_needs_a_missing_package_is_left_out(absent, without):
    assert not any(option.startswith(without) for option in gpu.command_line(absent, []))
    assert any(option.startswith(without) for option in gpu.command_line([], []))


def test_the_tests_that_it_names_are_there():
    assert all((gpu.ROOT / path).exists() for path in gpu.TESTS)
