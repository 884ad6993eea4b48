"""Many scorecards as one table."""

import pytest

from tests.metrics.fakes import CountFactors
from unbraid import Codes, evaluate
from unbraid.metrics.score_table import score_table


@pytest.fixture(scope="module")
def cards():
    codes = Codes.from_arrays([[0.0], [1.0], [0.5], [0.2]], [[0.1]] * 4, factors={"hue": [0, 1, 0, 1]})
    return {"one": evaluate(codes, metrics=["mig", CountFactors()]), "other": evaluate(codes, metrics=["mig"])}


def test_a_card_is_a_row_and_a_score_a_column(cards):
    table = score_table(cards)
    assert table.columns == ("codes", "mig", "count-factors")
    assert table["codes"] == ["one", "other"]
    assert table["mig"] == [card["mig"].value for card in cards.values()]
    assert table["count-factors"] == [cards["one"]["count-factors"].value, None]


def test_cards_without_names_are_numbered(cards):
    assert score_table(cards.values())["codes"] == [0, 1]
    assert score_table(cards["other"])["codes"] == [0]


def test_every_number_of_every_card_is_a_row(cards):
    table = score_table(cards, every_number=True)
    assert len(table) == sum(len(card.rows) for card in cards.values())
    assert {"codes", "name", "quantity", "of", "value", "low", "high"} <= {*table.columns}
    assert table["value"][0] == cards["one"]["mig"].value


def test_pandas_takes_it(cards):
    pytest.importorskip("pandas")
    assert list(score_table(cards).to_pandas().columns) == ["codes", "mig", "count-factors"]
