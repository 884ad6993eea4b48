import math

import pytest

from unbraid._internal.amounts import amount_text, capitalized, duration, percent, size_text


@pytest.mark.parametrize(
    ("num_bytes", "text"),
    [
        (0, "0 bytes"),
        (999, "999 bytes"),
        (1000, "1.0 kB"),
        (28_881, "28.9 kB"),
        (99_949, "99.9 kB"),
        (99_951, "100 kB"),
        (999_499, "999 kB"),
        (999_500, "1.0 MB"),
        (9_912_422, "9.9 MB"),
        (1_443_490_838, "1.4 GB"),
        (3 * 10**15, "3000 TB"),
    ],
)
def test_a_size_has_two_or_three_digits(num_bytes, text):
    assert size_text(num_bytes) == text


@pytest.mark.parametrize(
    ("amount", "text"),
    [
        ((12_000, 202_599, "images"), "12,000 of 202,599 images"),
        ((3, 0, "cars"), "3 cars"),
        ((1_500_000, 9_912_422, "bytes"), "1.5 MB of 9.9 MB"),
        ((1_500_000, 0, "bytes"), "1.5 MB"),
    ],
)
def test_an_amount_is_told_with_its_total_where_that_is_known(amount, text):
    assert amount_text(*amount) == text


def test_only_the_first_letter_is_raised():
    assert capitalized("converting CelebA") == "Converting CelebA"
    assert capitalized("") == ""


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(0.2, "1 s"), (59.0, "59 s"), (200.0, "3 min 20 s"), (7500.0, "2 h 5 min"), (math.inf, "unknown time")],
)
def test_a_duration_is_told_in_two_units(seconds, words):
    assert duration(seconds) == words


@pytest.mark.parametrize(
    ("share", "text"),
    [(0.5, "50 %"), (0.004, "0.4 %"), (0.0, "0 %"), (-0.03, "−3 %"), (-1e-9, "0 %"), (1.234, "123 %")],
)
def test_a_share_is_told_in_percent(share, text):
    assert percent(share) == text
