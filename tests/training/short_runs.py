"""Runs of ten steps, and how to stop one."""

import signal
from dataclasses import replace

import pytest

from tests.training.squares import MLP_SPEC
from tests.training.watchers import Stopwatch
from unbraid.errors import TrainingInterrupted
from unbraid.training import train
from unbraid.training.optimizers import Adam
from unbraid.training.runs import Run

SPEC = replace(MLP_SPEC, num_steps=10, precision="float32")
ABSURD = replace(SPEC, optimizer=Adam(1e30))
"""Its second loss is not finite."""


def stop():
    signal.raise_signal(signal.SIGTERM)


def stopped(specs, seeds, folder, at, **options):
    """Train until a signal comes at a step, and return the runs."""
    with pytest.raises(TrainingInterrupted, match=f"Stopped by a signal at step {at}"):
        train(specs, seeds, folder=folder, watch=Stopwatch(at, stop), **options)
    return [Run.place(folder, spec, seed) for spec in specs for seed in seeds]
