"""Help with its flags in sections, as plain text: a long flag is never cut, and an example can be copied."""

from collections import defaultdict
from typing import Any, final

from typer.core import TyperCommand

from unbraid.cli.progress_lines import progress_of_commands


@final
class SectionedCommand(TyperCommand):
    """A command whose help lists each flag under the panel it was given, and the others under Arguments and Options.
    While it runs, work that takes long tells how far it is.
    """

    def invoke(self, ctx: Any) -> Any:
        with progress_of_commands():
            return super().invoke(ctx)

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
