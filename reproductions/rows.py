"""Claims as rows of the file of a paper: `{ text = "{a} is higher.", difference = ["rmig", "{a}", "VAE"], above = 0, a = ["x", "y"] }`.

A row has the fields of a claim and a quantity of `unbraid.studies` with its arguments. Keys of at most three letters are
loops: every value, or rows of values under a key of as many letters; `central` and `ours` may be such a letter. "$NAME" stands for an
entry of `[names]` or of the dataset's `names`, which may be a table by scale. `on` and `scale` limit a row to a dataset and a scale. A row with
`printed` is about numbers of the paper, and not judged on a laptop. A row with `ours` is a control.
"""

import itertools
from collections.abc import Iterator, Mapping
from typing import Any

from reproductions.item import Item, at_scale
from unbraid import studies
from unbraid.studies import Claim, computed

Row = Mapping[str, Any]
_QUANTITIES = ("median", "difference", "ratio", "paired_difference", "trend", "correlation", "share", "lead", "computed")
_OPTIONS, _REGION = ("at_least", "at_most", "over"), ("above", "below", "between")


def claims_of(item: Item, data: str, scale: Any) -> list[Claim]:
    """Returns the claims of an item; without any, that each expected number is met."""
    if any(row.get("ours") is not True for row in item.claims):
        return list(_claims_of_rows(item, data, scale, ours=False))
    return [
        Claim(
            f"{each.metric.replace(':', ' of ')} ({each.setting}) is {each.value:g}.",
            computed(each.metric, item.tolerance, each.setting),
            between=(each.value, each.value),
        )
        for each in item.expected or item.printed
    ]


def controls_of(item: Item, data: str, scale: Any) -> list[Claim]:
    """Returns the claims of ours beside those of the paper."""
    return list(_claims_of_rows(item, data, scale, ours=True))


def filled(value: Any, names: Mapping[str, Any], scale: str, letters: Mapping[str, Any] | None = None) -> Any:
    """Returns a value with its letters and names replaced. Lists become tuples, in which a name of several values stands
    for each of them, and a table is the best of its labels.
    """
    if isinstance(value, list):
        opened: list[Any] = []
        for each in value:
            found = filled(each, names, scale, letters)
            opened += found if isinstance(each, str) and isinstance(found, tuple) else [found]
        return tuple(opened)
    if isinstance(value, dict):
        return studies.best_of(**{key: filled(each, names, scale, letters) for key, each in value.items()})
    if not isinstance(value, str):
        return value
    for letter, replacement in (letters or {}).items():
        value = value.replace(f"{{{letter}}}", str(replacement))
    if not (names and value.startswith("$")):
        return value
    name, colon, rest = value[1:].partition(":")
    entry = filled(at_scale(names[name], scale), names, scale)
    return entry if isinstance(entry, tuple) else f"{entry}{colon}{rest}"


def _claims_of_rows(item: Item, data: str, scale: str, *, ours: bool) -> Iterator[Claim]:
    for row in item.claims:
        if data in row.get("on", data) and row.get("scale", scale) == scale and not (row.get("printed") and scale == "laptop"):
            yield from (claim for claim, is_ours in _claims(row, item.on[data].names, scale) if is_ours == ours)


def _claims(row: Row, names: Mapping[str, Any], scale: str) -> Iterator[tuple[Claim, bool]]:
    """Returns each claim of a row, and whether it is a control."""
    [name] = [name for name in row if name in _QUANTITIES]
    loops = {letters: filled(values, names, scale) for letters, values in row.items() if len(letters) < 4 and letters != "on"}
    options, region = ({key: filled(row[key], {}, scale) for key in keys if key in row} for keys in (_OPTIONS, _REGION))
    for values in itertools.product(*loops.values()):
        letters = {letter: each for key, value in zip(loops, values, strict=True) for letter, each in _letters(key, value)}
        quantity = getattr(studies, name)(*(filled(argument, names, scale, letters) for argument in row[name]), **options)
        central, ours = (letters.get(str(flag), flag) for flag in (row.get("central", False), row.get("ours", False)))
        yield Claim(filled(row["text"], {}, scale, letters), quantity, **region, central=bool(central) and not ours), bool(ours)


def _letters(key: str, value: Any) -> Iterator[tuple[str, Any]]:
    return zip(key, [value] if len(key) == 1 else value, strict=True)
