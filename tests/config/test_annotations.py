"""Annotations of fields, the values that they allow, and the docs below them."""

import math
from dataclasses import dataclass
from typing import Literal

import pytest

from unbraid.config.annotations import alternatives, check_value, describe, field_docs
from unbraid.metrics import MIG
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
        (int, "an integer"),
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


# ---- docs of fields


@dataclass(frozen=True)
class Shape:
    """A shape."""

    size: float = 1.0
    """How large
    it is.
    """
    color: str = "red"
    num_sides: int = 3
    """How many sides."""


@dataclass(frozen=True)
class Square(Shape):
    """A square."""

    num_sides: int = 4
    """Always four."""
    angle: float = 0.0


def test_the_text_below_a_field_is_what_it_means():
    assert field_docs(Shape) == {"size": "How large it is.", "num_sides": "How many sides."}


def test_a_class_has_the_texts_of_those_it_inherits_from_and_its_own_come_first():
    assert field_docs(Square) == {"size": "How large it is.", "num_sides": "Always four."}
    assert set(field_docs(MIG)) == {"estimator", "value_weights"}


def test_a_class_without_a_source_has_none():
    namespace: dict[str, object] = {"__name__": "nowhere"}
    exec("class Odd:\n    size: int = 1\n    'A text.'", namespace)
    assert field_docs(namespace["Odd"]) == {}
