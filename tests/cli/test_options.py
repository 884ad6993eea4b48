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
        ("5-2", "5-2 runs backwards. Write 2-5."),
        ("-1", "expected whole numbers from 0 on"),
        ("", "expected whole numbers from 0 on"),
        ("a", "expected whole numbers from 0 on"),
        ("1.5", "expected whole numbers from 0 on"),
        ("0-", "expected whole numbers from 0 on"),
        ("0-3,2", "names a seed twice"),
        ("0-1000", "more than 1000 seeds"),
        ("0-9223372036854775807", "more than 1000 seeds"),
        ("0-600,700-1200", "more than 1000 seeds"),
        ("9223372036854775808", "the largest seed is"),
        ("٣", "expected whole numbers from 0 on"),
    ],
)
def test_other_seeds_are_refused(text, complaint):
    with pytest.raises(SpecError, match=complaint):
        parse_seeds(text)


def test_the_largest_number_of_seeds_is_allowed():
    assert len(parse_seeds("0-999")) == 1000
