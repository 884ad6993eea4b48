"""Several runs, traversed together."""

from dataclasses import replace

import pytest

from tests.training.runs.finished_runs import SPEC, finish
from unbraid.datasets.subsets import RandomSplit
from unbraid.errors import RunError
from unbraid.metrics.unused_latents import informativeness
from unbraid.training.runs import Run, traverse_together


@pytest.fixture
def two(tmp_path):
    return [finish(Run.place(tmp_path, SPEC, seed), seed) for seed in (0, 1)]


def test_runs_are_shown_by_name_and_their_latents_by_information(two):
    made = traverse_together({"one": two[0], "two": two[1]}, latents=[1, 0], num_frames=2, min_std=0)
    assert list(made.traversals) == ["one", "two"]
    assert [strip.latent for strip in made.traversals["one"].strips] == [1, 0]
    made = traverse_together([two[0]], num_frames=2, min_std=0)
    assert list(made.traversals) == [two[0].name]
    nats = informativeness(two[0].codes())
    shown = [float(nats[strip.latent]) for strip in made.traversals[two[0].name].strips]
    assert shown == sorted(shown, reverse=True) or max(nats) < 0.01


def test_runs_of_other_images_are_refused(two, tmp_path):
    other = Run.place(tmp_path, replace(SPEC, subset=RandomSplit(0.5)), 0)
    with pytest.raises(RunError, match="trained on other images"):
        traverse_together([two[0], other])
    with pytest.raises(RunError, match="No run was given"):
        traverse_together([])
