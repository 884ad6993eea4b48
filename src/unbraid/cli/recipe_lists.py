"""Recipes, a line on each: the first sentence of what their classes say of themselves."""

from collections.abc import Mapping

from rich.table import Table

from unbraid.cli.console import output

_WIDTH_OFF_SCREEN = 400  # more than any first sentence has


def list_recipes(kinds: Mapping[str, Mapping[str, str]]) -> None:
    """Prints the recipes of each kind by name, under the word for the kind. Off screen, a recipe is one line."""
    console = output()
    console.width = console.width if console.is_terminal else _WIDTH_OFF_SCREEN
    width = max(len(name) for recipes in kinds.values() for name in recipes)
    for number, (kind, recipes) in enumerate(kinds.items()):
        table = Table(box=None, pad_edge=False, header_style="bold", title_justify="left")
        table.add_column(kind, no_wrap=True, style="bold", min_width=width)
        table.add_column("")
        for name, line in recipes.items():
            table.add_row(name, line)
        if number:
            console.print()
        console.print(table)
