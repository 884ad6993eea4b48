"""Events reach all who listen, one display, and nobody else."""

import threading

import pytest

from tests.told import told_to
from unbraid.events import Event, for_thread, is_shown, listening, part_of, showing, tell

DRAWING = Event("drawing", 1, 2, "images")


def test_work_that_nobody_hears_goes_on():
    tell(DRAWING)


def test_a_listener_hears_what_is_told_inside_its_block():
    seen = []
    tell(Event("before", 1, 1, "images"))
    with told_to(seen):
        tell(DRAWING)
    tell(Event("after", 1, 1, "images"))
    assert seen == [("drawing", 1, 2, "images")]


def test_an_inner_listener_hears_beside_the_outer_one_and_no_longer_than_its_block():
    outer, inner = [], []
    with listening(outer.append):
        with pytest.raises(ValueError, match="inside"), listening(inner.append):  # noqa: PT012 (the block is tested)
            tell(DRAWING)
            raise ValueError("inside")
        tell(DRAWING)
    assert (outer, inner) == ([DRAWING, DRAWING], [DRAWING])


def test_there_is_one_display_and_an_inner_one_takes_the_place_of_the_outer_one():
    outer, inner, heard = [], [], []
    assert not is_shown()
    with listening(heard.append), showing(outer.append):
        assert is_shown()
        with showing(inner.append):
            tell(DRAWING)
        with showing(None):
            assert is_shown()
            tell(DRAWING)
        tell(DRAWING)
    assert (len(outer), len(inner), len(heard)) == (1, 1, 3)


def test_work_inside_work_says_what_it_is_a_part_of():
    seen, study, fleet = [], Event("study", 2, 40, "fleets"), Event("fleet", 0, 1, "models")
    with listening(seen.append), part_of(study):
        with part_of(fleet):
            tell(DRAWING)
        tell(DRAWING)
    assert [event.about for event in seen] == ["study", "fleet", "drawing", "drawing"]
    assert [event.within for event in seen] == [(), (study,), (study, fleet), (study,)]


def test_of_what_a_listener_does_nothing_is_told():
    seen = []

    def listener(event):
        seen.append(event)
        tell(Event("scoring"))

    with listening(listener):
        tell(DRAWING)
        tell(DRAWING)
    assert seen == [DRAWING, DRAWING]


def in_thread(work):
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()


def test_another_thread_is_heard_only_if_the_work_is_carried_over():
    seen = []

    def work():
        tell(DRAWING)

    with listening(seen.append):
        in_thread(work)
        assert seen == []
        carried = for_thread(work)
    in_thread(carried)
    assert seen == [DRAWING]


def test_carried_work_keeps_its_arguments_and_its_result():
    assert for_thread(divmod)(7, 2) == (3, 1)
    assert for_thread(int)("11", base=2) == 3
