"""What the annotation of a field allows."""

import math
from typing import Literal

import pytest

from unbraid.config.annotations import alternatives, check_value, describe
from unbraid.models.distributions import Likelihood
from unbraid.objectives import Objective


def test_a_union_has_alternatives_and_anything_else_is_its_own():
    assert alternatives(int | None) == (int, type(None))
    assert alternatives(float) == (float,)
    assert alternatives(tuple[int, ...]) == (tuple[int, ...],)


def test_alternatives_keep_their_order_whatever_was_asked_before():
    assert [alternatives(kind) for kind in (int | str, str | int)] == [(int, str), (str, int)]
    words = [alternatives(kind)[0] for kind in (Literal["a", "b"], Literal["b", "a"])]
    assert [word.__args__ for word in words] == [("a", "b"), ("b", "a")]


@pytest.mark.parametrize(
    ("annotation", "words"),
    [
        (int, "a whole number"),
        (float | None, "a number or None"),
        (tuple[float, ...], "a list, each entry a number"),
        (Literal["a", 2], "one of a, 2"),
        (Objective, "an Objective"),
        (Likelihood, "a Likelihood"),
    ],
)
def test_an_annotation_in_words(annotation, words):
    assert describe(annotation) == words


def test_a_list_becomes_a_tuple_and_null_nothing():
    assert check_value([1, 2], tuple[int, ...], "here") == (1, 2)
    assert check_value(None, float | None, "here") is None
    assert math.isinf(check_value(math.inf, float, "here"))  # whether it makes sense is for the config to say
