"""Events reach all who listen, one display, and nobody else."""

import contextvars
import functools
import math
import threading

import pytest

from tests.told import told_to
from unbraid._internal.progress import Event, emit, is_shown, listening, part_of, showing

DRAWING = Event("drawing", 1, 2, "images")


def test_work_that_nobody_hears_goes_on():
    emit(DRAWING)


def test_a_listener_hears_what_is_told_inside_its_block():
    seen = []
    emit(Event("before", 1, 1, "images"))
    with told_to(seen):
        emit(DRAWING)
    emit(Event("after", 1, 1, "images"))
    assert seen == [("drawing", 1, 2, "images")]


def test_an_inner_listener_hears_beside_the_outer_one_and_no_longer_than_its_block():
    outer, inner = [], []
    with listening(outer.append):
        with pytest.raises(ValueError, match="inside"), listening(inner.append):  # noqa: PT012 (the block is tested)
            emit(DRAWING)
            raise ValueError("inside")
        emit(DRAWING)
    assert (outer, inner) == ([DRAWING, DRAWING], [DRAWING])


def test_there_is_one_display_and_an_inner_one_takes_the_place_of_the_outer_one():
    outer, inner, heard = [], [], []
    assert not is_shown()
    with listening(heard.append), showing(outer.append):
        assert is_shown()
        with showing(inner.append):
            emit(DRAWING)
        with showing(None):
            assert is_shown()
            emit(DRAWING)
        emit(DRAWING)
    assert (len(outer), len(inner), len(heard)) == (1, 1, 3)


def test_work_inside_work_says_what_it_is_a_part_of():
    seen, study, fleet = [], Event("study", 2, 40, "fleets"), Event("fleet", 0, 1, "models")
    with listening(seen.append), part_of(study):
        with part_of(fleet):
            emit(DRAWING)
        emit(DRAWING)
    assert [event.about for event in seen] == ["study", "fleet", "drawing", "drawing"]
    assert [event.within for event in seen] == [(), (study,), (study, fleet), (study,)]


def test_of_what_a_listener_does_nothing_is_told():
    seen = []

    def listener(event):
        seen.append(event)
        emit(Event("scoring"))

    with listening(listener):
        emit(DRAWING)
        emit(DRAWING)
    assert seen == [DRAWING, DRAWING]


def test_another_thread_is_heard_only_if_it_runs_in_a_copy_of_the_context():
    seen = []

    def work():
        emit(DRAWING)

    with listening(seen.append):
        context = contextvars.copy_context()
        for target in (work, functools.partial(context.run, work)):
            thread = threading.Thread(target=target)
            thread.start()
            thread.join()
    assert seen == [DRAWING]


# ---- one event


@pytest.mark.parametrize(
    ("event", "line"),
    [
        (Event("converting CelebA", 12_000, 202_599, "images"), "Converting CelebA: 12,000 of 202,599 images"),
        (Event("downloading a.bin", 5_000_000, unit="bytes"), "Downloading a.bin: 5.0 MB"),
        (Event("quantized information"), "Quantized information"),
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
