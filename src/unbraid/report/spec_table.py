"""What was trained, as a table: what all specs share, and what differs."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

from unbraid.runs.spec import RunSpec
from unbraid.runs.spec_words import describe_spec


@final
@dataclass(frozen=True)
class SpecTable:
    """Holds fields by their names in words: those that all specs share, and those that differ, with a value for each
    spec (or "–").
    """

    shared: dict[str, str]
    differing: dict[str, list[str]]


def spec_table(specs: Sequence[RunSpec]) -> SpecTable:
    described = [describe_spec(spec) for spec in specs]
    names = list(dict.fromkeys(name for fields in described for name in fields))
    values = {name: [fields.get(name, "–") for fields in described] for name in names}
    return SpecTable(
        shared={name: given[0] for name, given in values.items() if len(set(given)) == 1},
        differing={name: given for name, given in values.items() if len(set(given)) > 1},
    )
