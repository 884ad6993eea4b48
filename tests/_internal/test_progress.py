"""Events reach every listener and one display: a terminal or a notebook."""

import contextlib
import contextvars
import functools
import io
import itertools
import logging
import math
import re
import sys
import threading
import types
from dataclasses import replace

import pytest
import rich.console

from tests.told import told_to, warned
from tests.training.squares import MLP_SPEC
from unbraid._internal.progress import Bar, Event, emit, listening, note_once, part_of, progress_bar, showing
from unbraid.training import train

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
    with listening(heard.append), showing(outer.append):
        with showing(inner.append):
            emit(DRAWING)
        with showing(None):
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


# ---- the bar


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture
def terminal(monkeypatch):
    """Bars come at once, and inside a block standard error is a terminal. (pytest puts its own back after set-up.)"""
    monkeypatch.setattr("unbraid._internal.progress.SECONDS_BEFORE_A_BAR", -1.0)
    monkeypatch.setenv("TERM", "xterm")
    return Terminal()


@pytest.fixture
def notebook(monkeypatch):
    """Python runs in a notebook. Gives what was displayed below the cell."""
    monkeypatch.setattr("unbraid._internal.progress.SECONDS_BEFORE_A_BAR", -1.0)
    displayed = []

    class Handle:
        def update(self, content, raw):
            displayed.append(content)

    def display(content, raw, display_id):
        displayed.append(content)
        return Handle()

    monkeypatch.setattr(rich.console, "_is_jupyter", lambda: True)
    monkeypatch.setitem(sys.modules, "IPython", types.ModuleType("IPython"))
    monkeypatch.setitem(sys.modules, "IPython.display", types.SimpleNamespace(display=display))
    return displayed


SPEC = replace(MLP_SPEC, num_steps=3)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with one finished run."""
    folder = tmp_path_factory.mktemp("runs")
    train([SPEC], [0], folder=folder)
    return folder


def test_a_terminal_shows_a_bar_while_training_and_is_left_clean(terminal, tmp_path):
    with contextlib.redirect_stderr(terminal):
        train([SPEC], [0], folder=tmp_path)
    assert f"of {SPEC.num_steps} steps" in terminal.getvalue()
    assert "loss" in terminal.getvalue()
    assert terminal.getvalue().endswith("\x1b[2K")


def test_one_line_says_what_was_found_finished(terminal, folder):
    with contextlib.redirect_stderr(terminal):
        [run] = train([SPEC], [0], folder=folder)
    [line] = terminal.getvalue().splitlines()
    assert "already finished" in line
    assert line.endswith(str(run.folder))


def test_a_notebook_shows_a_bar_and_the_line_of_what_was_found(notebook, folder, capsys):
    train([SPEC], [0, 1], folder=folder)
    assert any("Training" in each["text/plain"] for each in notebook)
    assert any("<progress value=" in each["text/html"] for each in notebook)
    lines = [each["text/plain"] for each in notebook if "<progress" not in each["text/html"] and each["text/plain"]]
    assert re.fullmatch(r"Training: 3 of 3 steps in 1 s, loss \d+\.\d", lines[0])
    assert lines[1:] == [notebook[-1]["text/plain"]]
    assert lines[1].startswith("Encoding images: ")
    assert "1 of 2" in capsys.readouterr().out


def test_without_progress_and_without_a_terminal_there_is_silence(terminal, folder, capsys):
    with contextlib.redirect_stderr(terminal):
        train([SPEC], [0], folder=folder, progress=False)
    assert terminal.getvalue() == ""
    train([SPEC], [0], folder=folder)
    assert tuple(capsys.readouterr()) == ("", "")


def test_print_is_a_listener_that_prints_one_readable_line_for_each_event(tmp_path, capsys):
    heard = []
    with listening(heard.append):
        [run] = train(SPEC, folder=tmp_path, watch=print)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == len(heard)
    assert lines[0] == f"Planning ({run.name}): 1 model, 3 steps each, on cpu."
    assert lines[1].startswith(f"Training ({run.name}): 1 of 3 steps, loss ")
    assert lines[-1] == f"Encoding images ({run.name}): 1 of 1 models"


def test_what_is_shown_already_gets_no_bar_of_its_own(terminal):
    seen = []
    with contextlib.redirect_stderr(terminal), showing(seen.append), progress_bar(show=True) as say:
        say("found")
        emit(Event("training", 1, 2, "steps"))
    assert len(seen) == 1
    assert terminal.getvalue() == ""


def test_nested_work_is_one_bar(terminal):
    with (
        contextlib.redirect_stderr(terminal),
        progress_bar(show=True),
        part_of(Event("study", 3, 40, "fleets", "beta 4")),
    ):
        emit(Event("training", 1, 10, "steps", per_second=2.0, seconds_left=5.0))
    assert "Study" in terminal.getvalue()
    assert "4: training, 1" in terminal.getvalue()
    assert "5 s left" in terminal.getvalue()


def test_who_listens_hears_whether_it_is_shown_or_not(capsys):
    heard = []
    with progress_bar(show=False), listening(heard.append):
        emit(Event("training", 1, 2, "steps"))
    assert len(heard) == 1


def test_a_notebook_is_updated_four_times_a_second_and_markup_is_text(notebook):
    times = iter([0.0, 0.1, 0.3])
    bar = Bar(rich.console.Console(), clock=lambda: next(times))
    for done in (1, 2, 3):
        bar(Event("reading <b>", done, 9, "images", seconds_left=0.0))
    assert [each["text/html"].rpartition("</progress> ")[2] for each in notebook] == [
        "Reading &lt;b&gt;: 1 of 9 images",
        "Reading &lt;b&gt;: 3 of 9 images",
    ]


def test_a_bar_that_did_not_end_leaves_no_line(notebook):
    bar = Bar(rich.console.Console(), clock=itertools.count().__next__)
    bar(Event("reading", 1, 9, "images"))
    bar(Event("reading", 2, 9, "images"))
    bar.close()
    assert notebook[-1] == {"text/plain": "", "text/html": ""}


def test_a_note_is_logged_once():
    log = logging.getLogger("unbraid.test")
    with warned() as told:
        for note in ("one", "two", "one"):
            note_once(log, note)
    assert told == ["one", "two"]
