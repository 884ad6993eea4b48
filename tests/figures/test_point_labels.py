import itertools

from hypothesis import given
from hypothesis.strategies import floats, lists

from unbraid.figures.point_labels import spread


def test_places_that_are_far_enough_apart_stay():
    assert spread([10.0, 50.0, 30.0], 12.0) == [10.0, 50.0, 30.0]


def test_places_that_touch_are_moved_apart_around_their_middle():
    assert spread([10.0, 12.0], 12.0) == [5.0, 17.0]


@given(lists(floats(0, 100), max_size=7))
def test_places_keep_their_distance_and_their_order(places):
    moved = spread(places, 12.0)
    assert sorted(range(len(places)), key=lambda i: places[i]) == sorted(range(len(places)), key=lambda i: moved[i])
    assert all(b - a > 12 - 1e-6 for a, b in itertools.pairwise(sorted(moved)))


@given(lists(floats(-50, 150), max_size=7))
def test_places_stay_between_the_ends_where_there_is_room(places):
    moved = sorted(spread(places, 12.0, 0.0, 100.0))
    assert all(-1e-6 <= place <= 100 + 1e-6 for place in moved)
    assert all(b - a > 12 - 1e-6 for a, b in itertools.pairwise(moved))
