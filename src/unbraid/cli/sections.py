"""Help with its flags in sections, as plain text: a long flag is never cut, and an example can be copied."""

from collections import defaultdict
from typing import Any, final

from typer.core import TyperCommand, TyperGroup


@final
class SectionedCommand(TyperCommand):
    """A command whose help lists each flag under the panel it was given, and the others under Arguments and Options."""

    def format_options(self, ctx: Any, formatter: Any) -> None:
        sections: dict[str, list[tuple[str, str]]] = defaultdict(list, {"Arguments": [], "Options": []})
        for parameter in self.get_params(ctx):
            name, help_text = parameter.get_help_record(ctx) or ("", "")
            if parameter.param_type_name == "argument":
                # typer adds the Python type, which means nothing on a command line.
                sections["Arguments"].append((name.partition(" <")[0], help_text))
            elif name:
                sections[getattr(parameter, "rich_help_panel", None) or "Options"].append((name, help_text))
        for heading, records in sections.items():
            if records:
                with formatter.section(heading):
                    formatter.write_dl(records)


@final
class OrderedGroup(TyperGroup):
    """Commands in the order in which one comes to need them, whether there are commands below them or not."""

    ORDER = ("quickstart", "train", "score", "report", "runs", "datasets", "encode")

    def list_commands(self, ctx: Any) -> list[str]:
        return sorted(self.commands, key=self.ORDER.index)


@final
class ListingGroup(TyperGroup):
    """Commands of which `list` is meant where none is named."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        return super().parse_args(ctx, args or ["list"])
