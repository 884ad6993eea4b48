"""Claims as rows of the file of a paper: `{ text = "{a} is higher.", difference = ["rmig", "{a}", "VAE"], above = 0, a = ["x", "y"] }`.

A row has the fields of a claim and a quantity of `unbraid.studies` with its arguments. Keys of at most three letters are
loops: every value, or rows of values under a key of as many letters. "$NAME" stands for an entry of `[names]`. `on` and
`scale` limit a row to a dataset and a scale.
"""

import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from unbraid import studies
from unbraid.studies import Claim

Row = Mapping[str, Any]
_QUANTITIES = ("median", "difference", "ratio", "paired_difference", "trend", "correlation", "share", "lead", "computed")
_OPTIONS, _REGION = ("at_least", "at_most", "over"), ("above", "below", "between")


def claims_of_rows(rows: Sequence[Row], names: Mapping[str, Any], data: str, scale: str) -> list[Claim]:
    """Returns the claims of these rows for a dataset at a scale."""
    wanted = [row for row in rows if data in row.get("on", data) and row.get("scale", scale) == scale]
    return [claim for row in wanted for claim in _claims(row, names)]


def _claims(row: Row, names: Mapping[str, Any]) -> Iterator[Claim]:
    [name] = [name for name in row if name in _QUANTITIES]
    loops = {letters: _filled(values, {}, names) for letters, values in row.items() if len(letters) < 4 and letters != "on"}
    options, region = ({key: _filled(row[key], {}, names) for key in keys if key in row} for keys in (_OPTIONS, _REGION))
    for values in itertools.product(*loops.values()):
        filled = {letter: each for key, value in zip(loops, values, strict=True) for letter, each in _letters(key, value)}
        quantity = getattr(studies, name)(*(_filled(argument, filled, names) for argument in row[name]), **options)
        yield Claim(_filled(row["text"], filled, {}), quantity, **region, central=row.get("central", False))


def _letters(key: str, value: Any) -> Iterator[tuple[str, Any]]:
    return zip(key, [value] if len(key) == 1 else value, strict=True)


def _filled(value: Any, letters: Mapping[str, Any], names: Mapping[str, Any]) -> Any:
    """Returns a value with its letters and names replaced. Lists become tuples, and a table is the best of its labels."""
    if isinstance(value, list):
        return tuple(_filled(each, letters, names) for each in value)
    if isinstance(value, dict):
        return studies.best_of(**{key: _filled(each, letters, names) for key, each in value.items()})
    if not isinstance(value, str):
        return value
    for letter, replacement in letters.items():
        value = value.replace(f"{{{letter}}}", str(replacement))
    if names and value.startswith("$"):
        name, colon, rest = value[1:].partition(":")
        found = names[name]
        return tuple(found) if isinstance(found, list) else f"{found}{colon}{rest}"
    return value
