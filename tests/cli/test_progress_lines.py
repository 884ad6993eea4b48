"""How far work is: a bar on a screen, a line now and then elsewhere."""

import contextvars
import io
import re
import sys
import threading

import pytest
from rich.console import Console

from unbraid._internal.progress import Bar, Event, emit
from unbraid.cli.progress import Lines, progress_of_commands


def screen(width=100):
    return Console(file=io.StringIO(), force_terminal=True, width=width, color_system=None)


def plain():
    return Console(file=io.StringIO(), width=200)


def shown(console):
    return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", console.file.getvalue())


def ticking(*seconds):
    times = iter(seconds)
    return lambda: next(times)


def test_a_log_gets_a_line_once_work_is_long_one_a_minute_and_one_at_the_end():
    console = plain()
    lines = Lines(console, clock=ticking(0.0, 4.9, 5.0, 64.9, 65.1, 70.0))
    for done in (1, 2, 3, 4, 5, 2000):
        lines(Event("converting CelebA", done, 2000, "images"))
    assert shown(console).splitlines() == [
        "Converting CelebA: 3 of 2,000 images.",
        "Converting CelebA: 5 of 2,000 images.",
        "Converting CelebA: 2,000 of 2,000 images.",
    ]


def test_work_that_is_soon_over_leaves_no_trace_in_a_log():
    console = plain()
    lines = Lines(console, clock=ticking(0.0, 3.0, 4.0, 6.0, 8.0))
    for done in (1, 2, 3):
        lines(Event("verifying a", done, 3, "bytes"))
    for done in (1, 2):  # another work has its own clock
        lines(Event("verifying b", done, 2, "bytes"))
    assert shown(console) == ""


def test_a_screen_shows_what_is_done_how_much_of_it_and_then_nothing():
    console = screen()
    bar = Bar(console, clock=ticking(0.0, 1.0, 2.0))
    bar(Event("converting CelebA", 1, 202_599, "images"))
    assert shown(console) == ""  # it may be over in a moment
    bar(Event("converting CelebA", 12_000, 202_599, "images"))
    assert "Converting CelebA" in shown(console)
    assert "12,000 of 202,599" in shown(console)
    bar(Event("converting CelebA", 202_599, 202_599, "images"))
    assert console.file.getvalue().endswith("\x1b[2K")  # the line is wiped
    assert bar._shown is None


def test_work_that_is_soon_over_does_not_flicker():
    console = screen()
    bar = Bar(console, clock=ticking(0.0, 0.2, 0.3))
    for done in (1, 2, 3):
        bar(Event("drawing", done, 3, "images"))
    assert shown(console) == ""


def test_other_work_gets_another_bar_and_work_without_an_end_is_closed():
    console = screen()
    bar = Bar(console, clock=ticking(0.0, 1.0, 2.0, 3.0))
    bar(Event("downloading a", 1, 2, "bytes"))
    bar(Event("downloading b", 1_000_000, 0, "bytes"))
    bar(Event("downloading b", 5_000_000, 0, "bytes"))
    bar.close()
    assert "5.0 MB" in shown(console).partition("Downloading b")[2]
    assert "Downloading a" not in shown(console).partition("Downloading b")[2]
    assert bar._shown is None


@pytest.mark.parametrize("width", [80, 120])
def test_a_bar_takes_one_line(width):
    console = screen(width)
    bar = Bar(console, clock=ticking(0.0, 1.0, 2.0))
    bar(Event("downloading " + "long-" * 30 + ".mat.gz", 120_000_000, 131_896_188, "bytes"))
    bar(Event("downloading " + "long-" * 30 + ".mat.gz", 120_000_001, 131_896_188, "bytes"))
    lines = [line for line in shown(console).replace("\r", "\n").splitlines() if line.strip()]
    bar.close()
    assert all("120 MB" in line and len(line) <= width for line in lines)


def test_a_failure_takes_the_bar_away(monkeypatch):
    console = screen()
    monkeypatch.setattr("unbraid.cli.progress.output", lambda **_: console)
    monkeypatch.setattr("unbraid._internal.progress.SECONDS_BEFORE_A_BAR", -1.0)
    with pytest.raises(ZeroDivisionError), progress_of_commands():  # noqa: PT012 - what happens before the error matters
        emit(Event("converting", 1, 9, "images"))
        assert "1 of 9" in shown(console)
        raise ZeroDivisionError
    assert console.file.getvalue().endswith("\x1b[2K")
    emit(Event("converting", 2, 9, "images"))
    assert "2 of 9 images" not in shown(console)


def test_threads_that_work_together_share_a_bar(monkeypatch):
    console = screen()
    monkeypatch.setattr("unbraid.cli.progress.output", lambda **_: console)
    monkeypatch.setattr("unbraid._internal.progress.SECONDS_BEFORE_A_BAR", -1.0)
    with progress_of_commands():
        event = Event("decoding", 1, 9, "images")
        threads = [threading.Thread(target=contextvars.copy_context().run, args=(emit, event)) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert shown(console).count("Decoding") >= 1


def test_every_command_is_watched(monkeypatch, unbraid):
    def find(*arguments):
        monkeypatch.setattr("unbraid.cli.progress.SECONDS_BEFORE_A_LINE", -1.0)
        emit(Event("converting CelebA", 12_000, 202_599, "images"))
        sys.exit(0)

    monkeypatch.setattr("unbraid.cli.runs.open_runs", find)
    outcome = unbraid("runs")
    assert (outcome.out, outcome.err) == ("", "Converting CelebA: 12,000 of 202,599 images.\n")
