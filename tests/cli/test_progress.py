"""How training goes, shown while it goes."""

import io
import logging
import math

import pytest
from rich.console import Console

from unbraid._internal.progress import Event, emit, showing
from unbraid.cli.console import warnings_as_notes
from unbraid.cli.progress import PlainDisplay, medians, training_display
from unbraid.cli.runs import open_runs
from unbraid.training.runs.spec_text import spec_labels


def progress(runs, step: int, num_steps: int = 100, speed: float = 2.0, text: str = "") -> Event:
    losses = {"loss": [float(i) for i in range(len(runs))], "rate": [0.5] * len(runs)}
    left = (num_steps - step) / speed if speed else math.inf
    return Event(
        "training",
        step,
        num_steps,
        "steps",
        text,
        runs=names(runs),
        values=losses,
        per_second=speed,
        seconds_left=left,
    )


def labels(runs) -> dict[str, str]:
    by_digest = spec_labels([run.spec for run in runs])
    return {run.name: by_digest[run.spec.digest] for run in runs}


def names(runs):
    return tuple(run.name for run in runs)


@pytest.fixture
def runs(trained):
    return open_runs([trained])


def test_a_log_gets_a_line_at_the_beginning_one_a_minute_and_one_at_the_end(runs, capsys):
    seconds = iter([1.0, 2.0, 61.5, 62.0, 63.0])
    display = PlainDisplay(labels(runs), clock=lambda: next(seconds))
    for step in (1, 2, 3, 4, 100):
        display(progress(runs, step))
    assert capsys.readouterr().out.splitlines() == [
        "Training 4 models side by side for 100 steps ...",
        "step 3 of 100, 2 steps/s, 49 s left. beta-tcvae, beta 4: loss 0.5, rate 0.5. vae: loss 2.5, rate 0.5.",
        "step 100 of 100, 2 steps/s. beta-tcvae, beta 4: loss 0.5, rate 0.5. vae: loss 2.5, rate 0.5.",
    ]


def test_a_log_tells_the_plan_how_long_compiling_took_and_that_images_are_encoded(runs, capsys):
    with training_display(runs) as display:
        for event in (
            Event("planning", text="4 models, 100 steps each, on cpu.", runs=names(runs)),
            Event("compiling", 0, 1, runs=names(runs)),
            Event("compiling", 1, 1, text="Compiled in 23 s.", runs=names(runs)),
            Event("encoding images", 0, 4, "models", runs=names(runs)),
            Event("encoding images", 4, 4, "models", runs=names(runs)),
        ):
            display(event)
    assert capsys.readouterr().out.splitlines()[1:] == [
        "Plan: 4 models, 100 steps each, on cpu.",
        "Compiling the step for 4 models side by side ...",
        "Compiled in 23 s.",
        "Encoding the images with 4 models side by side ...",
    ]


def test_before_steps_are_measured_neither_speed_nor_time_is_told(runs, capsys):
    seconds = iter([1.0, 70.0])
    display = PlainDisplay(labels(runs), clock=lambda: next(seconds))
    display(progress(runs, 1, speed=0.0))
    display(progress(runs, 1, speed=0.0))
    assert capsys.readouterr().out.splitlines()[-1].startswith("step 1 of 100. beta-tcvae")


def test_time_that_nobody_knows_is_not_hidden(runs, capsys):
    seconds = iter([1.0, 70.0])
    display = PlainDisplay(labels(runs), clock=lambda: next(seconds))
    display(progress(runs, 3, text="then 1 other model"))
    display(progress(runs, 4, text="then 1 other model"))
    assert "2 steps/s, 48" in capsys.readouterr().out


def test_each_fleet_is_announced(runs, capsys):
    with training_display(runs) as display:
        display(progress(runs[:1], 1))
        display(progress(runs[1:], 1))
    assert "Training 1" in capsys.readouterr().out


def test_a_screen_shows_step_speed_time_left_and_the_parts_of_the_loss(runs):
    screen = io.StringIO()
    console = Console(file=screen, force_terminal=True, width=100, color_system=None)
    with training_display(runs, console) as display:
        display(progress(runs, 40))
    shown = screen.getvalue()
    assert "Drawing or reading" in shown
    assert "100, 2 steps/s" in shown
    assert all(word in shown for word in ("objective", "loss", "rate", "vae", "beta-tcvae, beta 4"))


def test_a_screen_says_when_the_images_are_encoded_and_not_afterwards(runs):
    console = Console(file=io.StringIO(), force_terminal=True, width=100, color_system=None)
    with training_display(runs, console) as display:
        display(progress(runs, 100))
        display(Event("encoding images", 0, 4, "models", runs=names(runs)))
        console.print(display.render())
        assert "Encoding the images" in console.file.getvalue()
    after = Console(file=io.StringIO(), width=100)
    after.print(display.render())
    assert "Encoding" not in after.file.getvalue()


def test_a_screen_shows_the_plan_and_that_the_step_is_compiled(runs):
    console = Console(file=io.StringIO(), force_terminal=True, width=100, color_system=None)
    with training_display(runs, console) as display:
        display(Event("planning", text="4 models, 100 steps each, on cpu.", runs=names(runs)))
        display(Event("compiling", 0, 1, runs=names(runs)))
        console.print(display.render())
        display(Event("compiling", 1, 1, text="Compiled in 23 s.", runs=names(runs)))
    shown = console.file.getvalue()
    assert "4 models, 100" in shown
    assert "4 models" in shown
    assert "23 s." in shown


def test_a_screen_shows_how_far_the_images_are_and_no_bar_beside_it(runs):
    console = Console(file=io.StringIO(), force_terminal=True, width=100, color_system=None)
    outside = []
    with showing(outside.append):
        with training_display(runs, console) as display:
            emit(Event("converting CelebA", 12_000, 202_599, "images"))
            console.print(display.render())
            assert "Converting CelebA: 12,000" in console.file.getvalue()
            emit(Event("converting CelebA", 202_599, 202_599, "images"))
            after = Console(file=io.StringIO(), width=100)
            after.print(display.render())
            assert after.file.getvalue() == "Drawing or reading the images ...\n"
        assert outside == []
        emit(Event("converting CelebA", 1, 2, "images"))
    assert outside == [Event("converting CelebA", 1, 2, "images")]


def test_a_pipe_gets_the_plain_display(runs, capsys):
    with training_display(runs) as display:
        assert isinstance(display, PlainDisplay)


def test_a_failed_member_does_not_count_in_the_median(runs):
    event = Event("training", 1, 2, "steps", runs=names(runs), values={"loss": [math.nan, 3.0, math.nan, math.nan]})
    assert medians(event, {run.name: run.spec.digest for run in runs})[0][1] == {"loss": 3.0}
    assert math.isnan(medians(event, {run.name: run.spec.digest for run in runs})[1][1]["loss"])


def test_a_log_is_told_of_work_on_data_too(runs, capsys, monkeypatch):
    monkeypatch.setattr("unbraid.cli.progress.SECONDS_BEFORE_A_LINE", -1.0)
    with training_display(runs):
        emit(Event("converting CelebA", 12_000, 202_599, "images"))
    assert capsys.readouterr().err == "Converting CelebA: 12,000 of 202,599 images.\n"


def test_a_warning_is_printed_above_a_live_display(runs, capsys):
    console = Console(force_terminal=True, width=100, color_system=None)
    with warnings_as_notes(), training_display(runs, console) as display:
        display(progress(runs, 40))
        logging.getLogger("unbraid.training").warning("a member failed")
    out, err = capsys.readouterr()
    assert "Note: a member" in out
    assert err == ""
