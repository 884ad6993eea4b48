"""How training goes, shown while it goes."""

import io
import math

import pytest
import torch
from rich.console import Console

from unbraid.cli.progress import LiveDisplay, PlainDisplay, duration, medians, plan_text, training_display
from unbraid.cli.run_folders import open_runs
from unbraid.data.progress import advance, watched
from unbraid.training import Compiling, Encoding, Progress, TrainingPlan
from unbraid.training.sizing import Memory

CPU = torch.device("cpu")


def progress(runs, step: int, num_steps: int = 100, speed: float = 2.0, num_later: int = 0) -> Progress:
    losses = {"loss": [float(i) for i in range(len(runs))], "rate": [0.5] * len(runs)}
    left = (num_steps - step) / speed if speed else math.inf
    return Progress(runs, step, num_steps, speed, left, losses, num_later)


@pytest.fixture
def runs(trained):
    return open_runs([trained])


def test_a_log_gets_a_line_at_the_beginning_one_a_minute_and_one_at_the_end(runs, capsys):
    seconds = iter([0.0, 1.0, 2.0, 61.5, 62.0, 63.0])
    with PlainDisplay(runs, clock=lambda: next(seconds)) as display:
        for step in (1, 2, 3, 4, 100):
            display.watch(progress(runs, step))
    assert capsys.readouterr().out.splitlines() == [
        "Drawing or reading the images ...",
        "Training 4 models side by side for 100 steps ...",
        "step 3 of 100, 2 steps/s, 49 s left. beta-tcvae, beta 4: loss 0.5, rate 0.5. vae: loss 2.5, rate 0.5.",
        "step 100 of 100, 2 steps/s. beta-tcvae, beta 4: loss 0.5, rate 0.5. vae: loss 2.5, rate 0.5.",
    ]


def test_a_log_tells_the_plan_how_long_compiling_took_and_that_images_are_encoded(runs, capsys):
    with PlainDisplay(runs) as display:
        for event in (
            TrainingPlan([runs], 100, CPU, None, 0),
            Compiling(runs),
            Compiling(runs, 22.4),
            Compiling(runs, 0.0),
            Encoding(runs),
        ):
            display.watch(event)
    assert capsys.readouterr().out.splitlines()[1:] == [
        "The plan: 4 models, 100 steps each, on cpu.",
        "Compiling the step for 4 models side by side ...",
        "Compiled in 23 s.",
        "It was compiled before.",
        "Encoding the images with 4 models side by side ...",
    ]


def test_a_plan_names_the_fleets_the_memory_and_what_comes_later(runs):
    memory = Memory(per_member=310_000_000, beside=0, free=139_000_000_000)
    assert plan_text(TrainingPlan([runs[:3], runs[3:]], 100, CPU, memory, 2)) == (
        "The plan: 4 models in 2 fleets, one after the other (3 + 1), 100 steps each, on cpu. "
        "A model takes at most 310 MB, and 139 GB are free. Then 2 other models."
    )
    assert plan_text(TrainingPlan([runs[:1]], 5, CPU, None, 0)) == "The plan: 1 model, 5 steps each, on cpu."


def test_before_steps_are_measured_neither_speed_nor_time_is_told(runs, capsys):
    seconds = iter([0.0, 1.0, 70.0])
    with PlainDisplay(runs, clock=lambda: next(seconds)) as display:
        display.watch(progress(runs, 1, speed=0.0))
        display.watch(progress(runs, 1, speed=0.0))
    assert capsys.readouterr().out.splitlines()[-1].startswith("step 1 of 100. beta-tcvae")


def test_time_that_nobody_knows_is_not_hidden(runs, capsys):
    seconds = iter([0.0, 1.0, 70.0])
    with PlainDisplay(runs, clock=lambda: next(seconds)) as display:
        display.watch(progress(runs, 3, num_later=1))
        display.watch(progress(runs, 4, num_later=1))
    assert "2 steps/s, 48 s left, then 1 other model." in capsys.readouterr().out


def test_each_fleet_is_announced(runs, capsys):
    with PlainDisplay(runs) as display:
        display.watch(progress(runs[:1], 1))
        display.watch(progress(runs[1:], 1))
    assert "Training 1 model for 100 steps ..." in capsys.readouterr().out


def test_a_screen_shows_step_speed_time_left_and_the_parts_of_the_loss(runs):
    screen = io.StringIO()
    console = Console(file=screen, force_terminal=True, width=100, color_system=None)
    with LiveDisplay(console, runs) as display:
        display.watch(progress(runs, 40))
        display.warn("a member failed")
    shown = screen.getvalue()
    assert "Drawing or reading the images ..." in shown
    assert "step 40 of 100, 2 steps/s, 30 s left" in shown
    assert "Note: a member failed" in shown
    assert all(word in shown for word in ("objective", "loss", "rate", "vae", "beta-tcvae, beta 4"))


def test_a_screen_says_when_the_images_are_encoded_and_not_afterwards(runs):
    console = Console(file=io.StringIO(), force_terminal=True, width=100, color_system=None)
    display = LiveDisplay(console, runs)
    with display:
        display.watch(progress(runs, 100))
        display.watch(Encoding(runs))
        console.print(display._render())
        assert "Encoding the images" in console.file.getvalue()
    after = Console(file=io.StringIO(), width=100)
    after.print(display._render())
    assert "Encoding" not in after.file.getvalue()


def test_a_screen_shows_the_plan_and_that_the_step_is_compiled(runs):
    console = Console(file=io.StringIO(), force_terminal=True, width=100, color_system=None)
    display = LiveDisplay(console, runs)
    with display:
        display.watch(TrainingPlan([runs], 100, CPU, None, 0))
        display.watch(Compiling(runs))
        console.print(display._render())
        display.watch(Compiling(runs, 22.4))
    shown = console.file.getvalue()
    assert "The plan: 4 models, 100 steps each, on cpu." in shown
    assert "Compiling the step for 4 models side by side ..." in shown
    assert "Compiled in 23 s." in shown


def test_a_screen_shows_how_far_the_images_are_and_no_bar_beside_it(runs):
    console = Console(file=io.StringIO(), force_terminal=True, width=100, color_system=None)
    outside = []
    display = LiveDisplay(console, runs)
    with watched(lambda *how_far: outside.append(how_far)):
        with display:
            advance("converting CelebA", 12_000, 202_599, "images")
            console.print(display._render())
            assert "Converting CelebA: 12,000 of 202,599 images ..." in console.file.getvalue()
            advance("converting CelebA", 202_599, 202_599, "images")
            after = Console(file=io.StringIO(), width=100)
            after.print(display._render())
            assert after.file.getvalue() == "Drawing or reading the images ...\n"
        assert outside == []
        advance("converting CelebA", 1, 2, "images")
    assert outside == [("converting CelebA", 1, 2, "images")]


def test_a_pipe_gets_the_plain_display(runs, capsys):
    assert isinstance(training_display(runs), PlainDisplay)


def test_a_failed_member_does_not_count_in_the_median(runs):
    event = Progress(runs, 1, 2, 1.0, 1.0, {"loss": [math.nan, 3.0, math.nan, math.nan]})
    assert medians(event, {run.spec.digest: run.spec.digest for run in runs})[0][1] == {"loss": 3.0}
    assert math.isnan(medians(event, {run.spec.digest: run.spec.digest for run in runs})[1][1]["loss"])


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(0.2, "1 s"), (59.0, "59 s"), (200.0, "3 min 20 s"), (7500.0, "2 h 5 min"), (math.inf, "unknown time")],
)
def test_a_duration_is_told_in_two_units(seconds, words):
    assert duration(seconds) == words
