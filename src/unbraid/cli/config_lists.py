"""Configs, a line on each: the first sentence of the docstring of its class."""

from collections.abc import Mapping

from rich.table import Table

from unbraid.cli.console import output

_WIDTH_OFF_SCREEN = 400  # more than any first sentence has


def list_configs(kinds: Mapping[str, Mapping[str, str]]) -> None:
    """Prints the configs of each kind by name, under the word for the kind. Off screen, a config is one line."""
    console = output()
    console.width = console.width if console.is_terminal else _WIDTH_OFF_SCREEN
    width = max(len(name) for configs in kinds.values() for name in configs)
    for number, (kind, configs) in enumerate(kinds.items()):
        table = Table(box=None, pad_edge=False, header_style="bold", title_justify="left")
        table.add_column(kind, no_wrap=True, style="bold", min_width=width)
        table.add_column("")
        for name, line in configs.items():
            table.add_row(name, line)
        if number:
            console.print()
        console.print(table)
