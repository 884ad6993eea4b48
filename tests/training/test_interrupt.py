import signal
import threading

import pytest

from unbraid.training.interrupt import interruptible

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
