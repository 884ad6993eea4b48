"""Help with its flags in sections, as plain text: a long flag is never cut, and an example can be copied."""

import textwrap
from collections import defaultdict
from collections.abc import Sequence
from typing import Any, final

from typer.core import TyperCommand

from unbraid.cli.flags import DerivedFlags, argument_of, relevant, typed_in
from unbraid.cli.progress_lines import progress_of_commands
from unbraid.errors import TrainingError, TrainingInterrupted

# What the formatter gives to the names of flags at most, and the space after them.
_FIRST_COLUMN, _BETWEEN = 30, 2


@final
class SectionedCommand(TyperCommand):
    """A command whose help lists its arguments, its options, and the derived flags, panel by panel.

    Derived flags are fields of the configs that were named before --help or are taken by default. While the command
    runs, long work shows its progress.
    """

    derived: DerivedFlags | None = None
    arguments: tuple[str, ...] = ()

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        self.arguments = tuple(args)
        return super().parse_args(ctx, args)

    def invoke(self, ctx: Any) -> Any:
        try:
            with progress_of_commands():
                return super().invoke(ctx)
        except TrainingInterrupted as stopped:
            if stopped.at_once:
                raise KeyboardInterrupt from None
            raise TrainingError(str(stopped)) from None

    def format_options(self, ctx: Any, formatter: Any) -> None:
        sections: dict[str, list[tuple[str, str]]] = defaultdict(list, {"Arguments": [], "Options": []})
        parameters = {parameter.name: parameter for parameter in self.get_params(ctx)}
        derived, flags = self.derived, {} if self.derived is None else self.derived.find()
        options = {path: parameters.pop(argument_of(path)) for path in flags}
        for parameter in parameters.values():
            name, help_text = parameter.get_help_record(ctx) or ("", "")
            is_argument = parameter.param_type_name == "argument"
            # To an argument typer adds the Python type, which means nothing on a command line.
            if name:
                sections["Arguments" if is_argument else "Options"].append((name.partition(" <")[0], help_text))
        if derived is not None:
            for path, flag in relevant(flags, typed_in(self.arguments, derived.first)).items():
                names = f"{', '.join(options[path].opts)} {flag.metavar}"
                sections[derived.panel(path)].append((names, flag.help))
        for heading, records in sections.items():
            if records:
                with formatter.section(heading):
                    formatter.write_dl(_wrapped(records, formatter.width))


def _wrapped(records: Sequence[tuple[str, str]], width: int) -> list[tuple[str, str]]:
    """Returns the records with their texts in lines, so that no name is broken at its dash: it could not be copied."""
    room = max(width - min(max(len(name) for name, _ in records), _FIRST_COLUMN) - _BETWEEN - 2, 10)
    # The sign \b keeps the formatter from wrapping them again.
    return [(name, "\b\n" + "\n".join(textwrap.wrap(text, room, break_on_hyphens=False))) for name, text in records]
