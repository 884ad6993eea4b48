"""Progress is shown on a terminal and in a notebook, once, and nowhere else."""

import contextlib
import io
import sys
import types
from dataclasses import replace

import pytest
import rich.console

from tests.training.squares import MLP_SPEC
from unbraid._internal.progress import Event, emit, listening, part_of, showing
from unbraid._internal.progress_bar import Bar, shown
from unbraid.training import train


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture
def terminal(monkeypatch):
    """Bars come at once, and inside a block standard error is a terminal. (pytest puts its own back after set-up.)"""
    monkeypatch.setattr("unbraid._internal.progress_bar.SECONDS_BEFORE_A_BAR", -1.0)
    monkeypatch.setenv("TERM", "xterm")
    return Terminal()


@pytest.fixture
def notebook(monkeypatch):
    """Python runs in a notebook. Gives what was displayed below the cell."""
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
    assert terminal.getvalue().splitlines() == [
        f"It is finished already and not repeated (TrainingOptions(force=True) would): {run.folder}"
    ]


def test_a_notebook_shows_a_bar_and_the_line_of_what_was_found(notebook, folder, capsys):
    train([SPEC], [0, 1], folder=folder)
    assert any("Training: " in each["text/plain"] for each in notebook)
    assert any("<progress value=" in each["text/html"] for each in notebook)
    assert notebook[-1] == {"text/plain": "", "text/html": ""}
    assert "1 of 2 runs are finished already and not repeated" in capsys.readouterr().out


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
    with contextlib.redirect_stderr(terminal), showing(seen.append), shown(True) as say:
        say("found")
        emit(Event("training", 1, 2, "steps"))
    assert len(seen) == 1
    assert terminal.getvalue() == ""


def test_nested_work_is_one_bar(terminal):
    with contextlib.redirect_stderr(terminal), shown(True), part_of(Event("study", 3, 40, "fleets", "beta 4")):
        emit(Event("training", 1, 10, "steps", per_second=2.0, seconds_left=5.0))
    assert "Study" in terminal.getvalue()
    assert "beta 4: training, 1 of 10 steps, 2 steps/s" in terminal.getvalue()
    assert "5 s left" in terminal.getvalue()


def test_who_listens_hears_whether_it_is_shown_or_not(capsys):
    heard = []
    with shown(False), listening(heard.append):
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
