"""Scorecards of several runs or files of codes, in one file."""

import csv
import io
import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from unbraid._internal import files
from unbraid._internal.table import plain_text
from unbraid.errors import SpecError
from unbraid.metrics.score_rows import in_markdown
from unbraid.metrics.scorecard import Scorecard, check_target


def check_save(path: Path, what: Sequence[Path], *, force: bool) -> None:
    """Refuses a target that cannot or must not be written, before anything is computed."""
    # Whether it exists is asked last: it may be a folder, or have too long a name to ask.
    check_target(path, overwrite=True)
    if any(path.resolve() == other.resolve() for other in what):
        raise SpecError(f"--save is {path}, which holds the codes. Name another file.")
    if path.exists() and not force:
        raise SpecError(f"--save is {path}, which exists. Name another file, or replace it with --force.")


def save_cards(path: Path, cards: Mapping[str, Scorecard]) -> None:
    """Saves one card, or several by name.

    Several are saved in .json under their names, in .csv behind a first column, in .md under headings.
    """
    if len(cards) == 1:
        next(iter(cards.values())).save(path, overwrite=True)
    else:
        files.write_text(path, {".json": _json, ".csv": _csv, ".md": _markdown}[path.suffix](cards))


def _json(cards: Mapping[str, Scorecard]) -> str:
    return (
        json.dumps({name: json.loads(card.to_json()) for name, card in cards.items()}, indent=2, allow_nan=False) + "\n"
    )


def _csv(cards: Mapping[str, Scorecard]) -> str:
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    for number, (name, card) in enumerate(cards.items()):
        header, *rows = csv.reader(io.StringIO(card.to_csv()))
        if number == 0:
            writer.writerow(["codes", *header])
        writer.writerows([plain_text(name), *row] for row in rows)
    return stream.getvalue()


def _markdown(cards: Mapping[str, Scorecard]) -> str:
    return "\n".join(f"## {in_markdown(name)}\n\n{card.to_markdown()}" for name, card in cards.items())
