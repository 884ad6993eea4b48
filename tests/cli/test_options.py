"""Seeds and devices."""

import pytest

from unbraid.cli.options import parse_seeds
from unbraid.errors import SpecError


@pytest.mark.parametrize(
    ("text", "seeds"),
    [
        ("4", [4]),
        ("0-3", [0, 1, 2, 3]),
        ("0,3,5", [0, 3, 5]),
        ("0-2, 8", [0, 1, 2, 8]),
        ("5-5", [5]),
        ("9223372036854775807", [2**63 - 1]),
    ],
)
def test_seeds_are_numbers_and_ranges(text, seeds):
    assert parse_seeds(text) == seeds


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("5-2", "2-5"),
        ("-1", "integers >= 0"),
        ("", "integers >= 0"),
        ("a", "integers >= 0"),
        ("1.5", "integers >= 0"),
        ("0-", "integers >= 0"),
        ("0-3,2", "different seeds"),
        ("0-1000", "at most 1000"),
        ("0-9223372036854775807", "at most 1000"),
        ("0-600,700-1200", "at most 1000"),
        ("9223372036854775808", "<= 9223372036854775807"),
        ("٣", "integers >= 0"),
    ],
)
def test_other_seeds_are_refused(text, complaint):
    with pytest.raises(SpecError, match=complaint):
        parse_seeds(text)


def test_the_largest_number_of_seeds_is_allowed():
    assert len(parse_seeds("0-999")) == 1000
