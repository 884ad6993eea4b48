"""Claims as rows of the file of a paper: `{ higher = ["rmig", "{a}", "VAE"], text = "{a} is higher.", a = ["x", "y"] }`.

A row names a function of `words` with its arguments. Keys of one letter are loops: every value, or pairs of values under
a key of two letters. "$NAME" stands for an entry of `[names]`. `on` and `scale` limit a row to a data set and a scale.
"""

import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from reproductions import words
from unbraid.studies import Claim

Row = Mapping[str, Any]
_REGIONS = ("above", "below", "between", "over", "by", "of", "lowest", "high")


def claims_of_rows(rows: Sequence[Row], names: Mapping[str, Any], data: str, scale: str) -> list[Claim]:
    """Returns the claims of these rows for a data set at a scale."""
    wanted = [row for row in rows if data in row.get("on", data) and row.get("scale", scale) == scale]
    return [claim for row in wanted for claim in _claims(row, names)]


def _claims(row: Row, names: Mapping[str, Any]) -> Iterator[Claim]:
    [(word, arguments)] = [(name, value) for name, value in row.items() if hasattr(words, name)]
    loops = {name: value for name, value in row.items() if len(name) < 3 and name not in ("on", "of", "by")}
    options = {name: _filled(row[name], {}, names) for name in _REGIONS if name in row}
    for values in itertools.product(*(_filled(each, {}, names) if isinstance(each, str) else each for each in loops.values())):
        letters = {k: v for name, value in zip(loops, values, strict=True) for k, v in zip(name, [value] if len(name) == 1 else value, strict=True)}
        filled = [_filled(argument, letters, names) for argument in arguments]
        yield getattr(words, word)(_filled(row["text"], letters, {}), *filled, central=row.get("central", False), **options)


def _filled(value: Any, letters: Mapping[str, Any], names: Mapping[str, Any]) -> Any:
    """Returns a value with its letters and names replaced; lists become tuples."""
    if isinstance(value, list):
        return tuple(_filled(each, letters, names) for each in value)
    if not isinstance(value, str):
        return value
    for letter, replacement in letters.items():
        value = value.replace(f"{{{letter}}}", str(replacement))
    if names and value.startswith("$"):
        name, colon, rest = value[1:].partition(":")
        found = names[name]
        return tuple(found) if isinstance(found, list) else f"{found}{colon}{rest}"
    return value
