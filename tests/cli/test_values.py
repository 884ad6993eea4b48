"""What is typed becomes what a field wants."""

from typing import Literal

import pytest

from unbraid.cli.values import expected, parse, parse_each, placeholder, shown
from unbraid.errors import SpecError

Word = Literal["exact", "means_histogram"]


@pytest.mark.parametrize(
    ("text", "annotation", "value"),
    [
        ("4", int, 4),
        ("-3", int, -3),
        ("6", float, 6.0),
        ("1e-3", float, 0.001),
        ("none", float | None, None),
        ("None", str | None, None),
        ("data", str | None, "data"),
        ("true", bool, True),
        ("False", bool, False),
        ("exact", Word, "exact"),
        ("means-histogram", Word, "means_histogram"),
        ("128,64", tuple[int, ...], (128, 64)),
        ("128", tuple[int, ...], (128,)),
        ("heart, square", tuple[str, ...], ("heart", "square")),
    ],
)
def test_a_text_is_read_as_its_field_says(text, annotation, value):
    read = parse(text, annotation, "--flag")
    assert (read, type(read)) == (value, type(value))


@pytest.mark.parametrize(
    ("text", "annotation", "complaint"),
    [
        ("abc", float, "--flag is 'abc'; expected a number."),
        ("1.5", int, "--flag is '1.5'; expected a whole number."),
        ("", str, "--flag is ''; expected a text."),
        ("yes", bool, "--flag is 'yes'; expected true or false."),
        ("x", float | None, "--flag is 'x'; expected a number or none."),
        ("1,,2", tuple[int, ...], "--flag is '1,,2'; expected a whole number, or several separated by commas."),
        ("means_histogran", Word, "--flag is 'means_histogran'. Did you mean 'means_histogram'? Valid: exact, means_histogram."),
    ],
)
def test_what_cannot_be_read_is_refused_with_what_was_expected(text, annotation, complaint):
    with pytest.raises(SpecError) as refused:
        parse(text, annotation, "--flag")
    assert str(refused.value) == complaint


def test_a_number_may_have_several_values():
    assert parse_each("1, 4,16", float, "--flag") == [1.0, 4.0, 16.0]
    assert parse_each("none,1", float | None, "--flag") == [None, 1.0]


def test_a_list_and_a_whole_number_are_one_value():
    assert parse_each("128,64", tuple[int, ...], "--flag") == [(128, 64)]
    with pytest.raises(SpecError, match="expected a whole number"):
        parse_each("32,64", int, "--flag")


def test_the_same_value_twice_is_refused():
    with pytest.raises(SpecError, match="names a value twice"):
        parse_each("4,4.0", float, "--flag")


def test_the_placeholder_says_what_to_type():
    assert [placeholder(kind) for kind in (int, float | None, str, bool, tuple[int, ...], Word)] == [
        "INTEGER",
        "NUMBER",
        "TEXT",
        "true|false",
        "INTEGER,...",
        "exact|means_histogram",
    ]


def test_a_value_is_shown_as_it_is_typed():
    assert [shown(value) for value in (6.0, 1e-3, None, True, (1, 2), "mws")] == ["6", "0.001", "none", "true", "1,2", "mws"]


def test_none_is_expected_as_a_word():
    assert expected(float | None) == "a number or none"
