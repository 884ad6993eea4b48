"""Table of several scorecards."""

from collections.abc import Iterable, Mapping
from dataclasses import asdict
from typing import Any

from unbraid._internal.table import Table
from unbraid.metrics.scorecard import Scorecard


def score_table(
    cards: Mapping[Any, Scorecard] | Iterable[Scorecard] | Scorecard, *, every_number: bool = False
) -> Table:
    """Returns a table with a row for each card: its name in the column "codes", and one column per score.

    Cards without names are numbered. With `every_number`, the table has a row for each value of each card, as in
    `Scorecard.to_csv`, including intervals, parts, and values per factor and latent.
    """
    several = [cards] if isinstance(cards, Scorecard) else cards
    named = several if isinstance(several, Mapping) else dict(enumerate(several))
    if every_number:
        return Table.from_records({"codes": name, **asdict(row)} for name, card in named.items() for row in card.rows)
    return Table.from_records(
        {"codes": name, **{of: score.value for of, score in dict(card).items()}} for name, card in named.items()
    )
