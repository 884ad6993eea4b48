"""Whoever watches sees how far the work is; the others see nothing."""

import threading

import pytest

from unbraid.data import progress


def test_work_that_nobody_watches_goes_on():
    progress.advance("drawing", 1, 2, "images")


def test_a_watcher_sees_what_is_told_inside_its_block():
    seen = []
    progress.advance("before", 1, 1, "images")
    with progress.watched(lambda *told: seen.append(told)):
        progress.advance("drawing", 1, 2, "images")
        progress.advance("drawing", 2, 2, "images")
    progress.advance("after", 1, 1, "images")
    assert seen == [("drawing", 1, 2, "images"), ("drawing", 2, 2, "images")]


def test_an_inner_watcher_takes_the_place_of_the_outer_one_even_if_its_block_fails():
    outer, inner = [], []
    with progress.watched(lambda *told: outer.append(told)):
        with pytest.raises(ValueError, match="inside"), progress.watched(lambda *told: inner.append(told)):  # noqa: PT012 - the block is what is tested
            progress.advance("drawing", 1, 2, "images")
            raise ValueError("inside")
        progress.advance("drawing", 2, 2, "images")
        with progress.watched(None):
            progress.advance("unseen", 1, 1, "images")
    assert outer == [("drawing", 2, 2, "images")]
    assert inner == [("drawing", 1, 2, "images")]


def in_thread(work):
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()


def test_another_thread_is_watched_only_if_the_work_is_carried_over():
    seen = []

    def work():
        progress.advance("decoding", 1, 1, "images")

    with progress.watched(lambda *told: seen.append(told)):
        in_thread(work)
        assert seen == []
        carried = progress.for_thread(work)
    in_thread(carried)
    assert seen == [("decoding", 1, 1, "images")]


def test_carried_work_keeps_its_arguments_and_its_result():
    assert progress.for_thread(divmod)(7, 2) == (3, 1)
    assert progress.for_thread(int)("11", base=2) == 3
