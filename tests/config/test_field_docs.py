"""What a field means is the text below it."""

from dataclasses import dataclass

from unbraid.config.field_docs import field_docs
from unbraid.metrics import MIG


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
