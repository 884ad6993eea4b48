"""How training goes, shown while it goes."""

import io
import math

import pytest
from rich.console import Console

from unbraid.cli.progress import LiveDisplay, PlainDisplay, duration, medians, training_display
from unbraid.cli.run_folders import open_runs
from unbraid.data.progress import advance, watched
from unbraid.training.train import Progress


def progress(runs, step: int, num_steps: int = 100, speed: float = 2.0) -> Progress:
    count = len(runs)
    return Progress(runs, step, num_steps, speed, {"loss": [float(i) for i in range(count)], "rate": [0.5] * count})


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
        "Encoding the images with 4 models side by side ...",
    ]


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
        console.print(display._render())
        assert "Encoding the images" in console.file.getvalue()
    after = Console(file=io.StringIO(), width=100)
    after.print(display._render())
    assert "Encoding" not in after.file.getvalue()


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
            assert str(display._render()) == "Drawing or reading the images ..."
        assert outside == []
        advance("converting CelebA", 1, 2, "images")
    assert outside == [("converting CelebA", 1, 2, "images")]


def test_a_pipe_gets_the_plain_display(runs, capsys):
    assert isinstance(training_display(runs), PlainDisplay)


def test_a_failed_member_does_not_count_in_the_median(runs):
    event = Progress(runs, 1, 2, 1.0, {"loss": [math.nan, 3.0, math.nan, math.nan]})
    assert medians(event, {run.spec.digest: run.spec.digest for run in runs})[0][1] == {"loss": 3.0}
    assert math.isnan(medians(event, {run.spec.digest: run.spec.digest for run in runs})[1][1]["loss"])


@pytest.mark.parametrize(
    ("seconds", "words"), [(0.2, "1 s"), (59.0, "59 s"), (200.0, "3 min 20 s"), (7500.0, "2 h 5 min"), (math.inf, "unknown time")]
)
def test_a_duration_is_told_in_two_units(seconds, words):
    assert duration(seconds) == words
