"""A sheet of results that is printed as it grows and kept as often: what was run, when and on what; tables; and checks
that may fail.
"""

import json
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, final

from unbraid._internal import files
from unbraid.studies.evidence import Circumstances


@final
@dataclass(frozen=True)
class Check:
    """A sentence that may be false, and whether it held."""

    holds: bool
    sentence: str

    def __str__(self) -> str:
        return f"- {'pass' if self.holds else 'FAIL'}: {self.sentence}"


@final
class Sheet:
    """A page of results that is printed as it grows and, where a file is asked for, written as often: what is there
    when a run is cut short stays.

    `out` names two files, `out`.md and `out`.json.
    """

    def __init__(
        self, title: str, circumstances: Circumstances, out: Path | None, say: Callable[[str], None] = print
    ) -> None:
        self._say = say
        self._parts = [f"# {title}", str(circumstances)]
        self._content: dict[str, Any] = {"circumstances": circumstances.to_json()}
        self._out = out
        self._say("\n\n".join(self._parts))

    def add(self, markdown: str) -> None:
        self._parts.append(markdown)
        self._say(f"\n{markdown}")
        self._write()

    def begin_table(self, columns: Sequence[str]) -> None:
        """A table whose rows come later, by `add_row`."""
        self.add(table(columns, []))

    def add_row(self, *cells: object) -> None:
        row = f"| {' | '.join(map(str, cells))} |"
        self._parts[-1] += f"\n{row}"
        self._say(row)
        self._write()

    def keep(self, **numbers: Any) -> None:
        """Numbers for the JSON, by name."""
        self._content |= numbers
        self._write()

    def _write(self) -> None:
        if self._out is not None:
            self._out.parent.mkdir(parents=True, exist_ok=True)
            files.write_text(self._out.with_name(f"{self._out.name}.md"), "\n\n".join(self._parts) + "\n")
            files.write_text(self._out.with_name(f"{self._out.name}.json"), json.dumps(self._content, indent=1) + "\n")


def circumstances_of(module: str, arguments: Sequence[str] | None, device: str, commit: str) -> Circumstances:
    """Returns the circumstances of a benchmark; `arguments` are those of the command, unless given."""
    given = sys.argv[1:] if arguments is None else arguments
    return Circumstances.now(["python", "-m", module, *given], device=device, commit=commit)


def table(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Returns a table in Markdown."""
    lines = [columns, ["---"] * len(columns), *([str(cell) for cell in row] for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def checks_text(of: Sequence[Check]) -> str:
    """Returns a line for each check."""
    return "\n".join(map(str, of))
