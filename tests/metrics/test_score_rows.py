"""Numbers as text."""

import math

import pytest

from unbraid.metrics.metric import Score
from unbraid.metrics.score_rows import cells, interval_text, number_text, rows_of
from unbraid.metrics.scorecard import Scorecard


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.12345, "0.123"),
        (-1e-17, "0.000"),
        (3.9e-09, "0.000"),
        (-1e-5, "-1e-05"),
        (0.0, "0.000"),
        (1.0, "1.000"),
        (3e-4, "0.0003"),
        (12345.678, "1.235e+04"),
        (math.nan, "–"),
        (math.inf, "inf"),
    ],
)
def test_a_number_has_three_decimals_where_they_say_something(value, text):
    assert number_text(value) == text


def test_an_interval_that_is_not_known_is_not_shown():
    assert interval_text(0.1, 0.25) == "0.100 to 0.250"
    assert interval_text(math.nan, math.nan) == ""


def test_a_value_that_is_undefined_is_a_dash_on_screen_and_empty_in_csv():
    rows = list(rows_of("mig", Score("MIG", math.nan), higher_is_better=None))
    assert cells(rows) == [("mig", "–", "", "", "")]
    card = Scorecard(("mig",), (Score("MIG", math.nan),), {}, 1, 1)
    assert card.to_csv().splitlines()[1] == "mig,MIG,value,,,,,,,{},"
