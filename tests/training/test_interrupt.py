import contextlib
import signal
import sys
import threading

import pytest

from tests.training.short_runs import SPEC, stop, stopped
from tests.training.watchers import Stopwatch
from unbraid.errors import TrainingInterrupted
from unbraid.training import train
from unbraid.training.interrupt import interruptible, stoppable

SIGNALS = [signal.SIGINT, signal.SIGTERM, signal.SIGHUP]


class Ended(BaseException):
    """What these tests' own handler raises, in place of the end of the process."""


@pytest.fixture(autouse=True)
def _signals_end_the_test_and_not_pytest():
    def end(number, frame):
        raise Ended(number)

    before = {number: signal.signal(number, end) for number in SIGNALS}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


def test_nobody_has_asked_until_somebody_does():
    with interruptible() as interrupt:
        assert not interrupt.requested


@pytest.mark.parametrize("number", SIGNALS)
def test_the_first_signal_is_noted(number):
    with interruptible() as interrupt:
        signal.raise_signal(number)
        assert interrupt.requested


@pytest.mark.parametrize("first", SIGNALS)
@pytest.mark.parametrize("second", SIGNALS)
def test_the_second_signal_does_what_it_would_have_done_without_us(first, second):
    with interruptible():
        signal.raise_signal(first)
        with pytest.raises(Ended):
            signal.raise_signal(second)


@pytest.mark.parametrize("number", SIGNALS)
def test_afterwards_all_is_as_before(number):
    before = signal.getsignal(number)
    with interruptible():
        assert signal.getsignal(number) is not before
    assert signal.getsignal(number) is before


@pytest.mark.parametrize("number", SIGNALS)
def test_so_it_is_after_an_error(number):
    def stopped_by_an_error():
        with interruptible():
            signal.raise_signal(number)
            raise ZeroDivisionError

    before = signal.getsignal(number)
    with pytest.raises(ZeroDivisionError):
        stopped_by_an_error()
    assert signal.getsignal(number) is before


@pytest.mark.parametrize("number", SIGNALS)
def test_a_signal_that_is_ignored_stays_ignored(number):
    signal.signal(number, signal.SIG_IGN)
    with interruptible() as interrupt:
        signal.raise_signal(number)
        assert not interrupt.requested
        signal.raise_signal(next(other for other in SIGNALS if other != number))
        assert interrupt.requested
    assert signal.getsignal(number) is signal.SIG_IGN


def test_off_the_main_thread_signals_are_left_alone():
    seen = []

    def off_the_main_thread():
        with interruptible() as interrupt:
            seen.append((interrupt.requested, signal.getsignal(signal.SIGTERM)))

    before = signal.getsignal(signal.SIGTERM)
    thread = threading.Thread(target=off_the_main_thread)
    thread.start()
    thread.join()
    assert seen == [(False, before)]


# ---- what is raised


def interrupted(tmp_path, watch):
    with pytest.raises(TrainingInterrupted) as told:
        train([SPEC], [0, 1], folder=tmp_path, watch=watch)
    return told.value


def test_what_is_raised_is_a_keyboard_interrupt_that_names_the_runs_that_can_be_resumed(tmp_path):
    error = interrupted(tmp_path, Stopwatch(3, stop))
    assert isinstance(error, KeyboardInterrupt)
    assert not isinstance(error, Exception)
    assert [(run.seed, run.status, run.steps_done) for run in error.runs] == [
        (0, "unfinished", 3),
        (1, "unfinished", 3),
    ]
    assert not error.at_once
    assert str(error) == (
        "Stopped by a signal at step 3 of 10 with a checkpoint. Resume with the same command and --resume (in "
        f"Python, resume=True). 2 runs can be resumed (the first is {error.runs[0].folder})."
    )
    [*runs] = train([SPEC], [0, 1], folder=tmp_path, resume=True)
    assert [run.status for run in runs] == ["finished", "finished"]


def test_a_loop_that_catches_exceptions_stops_too(tmp_path):
    def loop():
        for seed in range(3):
            try:
                train([SPEC], [seed], folder=tmp_path, watch=Stopwatch(3, stop))
            except Exception:  # noqa: BLE001 (as a user may write it)
                continue

    with pytest.raises(KeyboardInterrupt):
        loop()
    assert len(list(tmp_path.iterdir())) == 1


def test_in_the_middle_of_a_step_it_names_the_runs_too(tmp_path):
    def at_once():
        raise KeyboardInterrupt

    error = interrupted(tmp_path, Stopwatch(3, at_once))
    assert error.at_once
    assert "Stopped at once" in str(error)
    assert len(error.runs) == 2


def test_the_hook_of_the_process_for_errors_is_left_alone(tmp_path):
    before = sys.excepthook
    stopped([SPEC], [2], tmp_path, at=3)
    assert sys.excepthook is before


def test_a_signal_during_the_start_stops_even_where_an_exception_would_be_lost():
    with (
        pytest.raises(TrainingInterrupted, match="before the next"),
        stoppable(),
        contextlib.suppress(Ended),
    ):
        signal.raise_signal(signal.SIGINT)


def test_a_notebook_shows_the_sentence_in_place_of_a_traceback():
    assert TrainingInterrupted("Stopped.")._render_traceback_() == ["Stopped."]
