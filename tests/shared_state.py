"""What all tests share, and a test must leave as it found it: randomness and settings are arguments, never globals."""

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch


@contextlib.contextmanager
def left_alone() -> Iterator[None]:
    """Fails what leaves another world to the next test, and mends it, so that one careless test fails alone."""
    before = _shared_state()
    yield
    after = _shared_state()
    changed = [name for name in before if before[name] != after[name]]
    if changed:
        _restore(before)
        pytest.fail(
            f"The test changed {', '.join(changed)}, which every other test shares. Pass a generator, a seed or a "
            "dtype instead."
        )


def _shared_state() -> dict[str, Any]:
    # Not Python's own generator: beartype draws from it, to choose which item of a list to look at.
    _, numbers, *position = np.random.get_state()  # noqa: NPY002 - to see that it is not used
    return {
        "torch's global generator": torch.get_rng_state().numpy().tobytes(),
        "numpy's global generator": (numbers.tobytes(), *position),
        "torch's default dtype": torch.get_default_dtype(),
        "torch's number of threads": torch.get_num_threads(),
        "torch's gradient mode": torch.is_grad_enabled(),
        "torch's deterministic mode": torch.are_deterministic_algorithms_enabled(),
        "the working folder": Path.cwd(),
    }


def _restore(state: dict[str, Any]) -> None:
    torch.set_rng_state(torch.frombuffer(bytearray(state["torch's global generator"]), dtype=torch.uint8))
    numbers, *position = state["numpy's global generator"]
    np.random.set_state(("MT19937", np.frombuffer(numbers, dtype=np.uint32), *position))  # noqa: NPY002 - as above
    torch.set_default_dtype(state["torch's default dtype"])
    torch.set_num_threads(state["torch's number of threads"])
    torch.set_grad_enabled(state["torch's gradient mode"])
    torch.use_deterministic_algorithms(state["torch's deterministic mode"])
    os.chdir(state["the working folder"])
