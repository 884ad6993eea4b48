"""An event says what it is about, how much is done, of how much, in which unit, and one line of it can be read."""

import math

import pytest

from unbraid.events import Event


@pytest.mark.parametrize(
    ("event", "line"),
    [
        (Event("converting CelebA", 12_000, 202_599, "images"), "Converting CelebA: 12,000 of 202,599 images"),
        (Event("downloading a.bin", 5_000_000, unit="bytes"), "Downloading a.bin: 5.0 MB"),
        (Event("quantised information"), "Quantised information"),
        (
            Event("planning", text="1 model, 5 steps each, on cpu.", runs=("vae-1-seed0",)),
            "Planning (vae-1-seed0): 1 model, 5 steps each, on cpu.",
        ),
        (
            Event(
                "training",
                40,
                100,
                "steps",
                "then 1 other model",
                runs=("a", "b", "c"),
                values={"loss": [1.0, 3.0, math.nan], "total_correlation": [-0.0, 0.0, math.nan]},
                per_second=2.0,
                seconds_left=30.0,
            ),
            "Training (3 runs): 40 of 100 steps, 2 steps/s, 30 s left, then 1 other model, loss 2, total correlation 0",
        ),
        (Event("training", 1, 9, "steps", seconds_left=math.inf), "Training: 1 of 9 steps"),
        (
            Event("training", 1, 10, "steps", within=(Event("study", 3, 40, "fleets", "beta 4"),)),
            "Study: 3 of 40 fleets, beta 4; Training: 1 of 10 steps",
        ),
    ],
)
def test_an_event_is_one_readable_line(event, line):
    assert str(event) == line


def test_the_share_of_nested_work_counts_what_is_inside_as_one_unit_of_what_is_around_it():
    study, fleet = Event("study", 1, 4, "fleets"), Event("training", 50, 100, "steps")
    assert study.share == 0.25
    assert Event("training", 50, 100, "steps", within=(study,)).share == pytest.approx(1.5 / 4)
    inner = Event("saving", 1, 2, "files", within=(study, fleet))
    assert inner.share == pytest.approx((1 + 50.5 / 100) / 4)
    assert Event("of unknown length", 5, within=(study,)).share == 0.25
    assert Event("unknown").share == 0.0


def test_work_is_over_when_all_of_it_is_done():
    assert Event("drawing", 2, 2, "images").is_over
    assert not Event("drawing", 1, 2, "images").is_over
    assert not Event("downloading", 5, 0, "bytes").is_over
