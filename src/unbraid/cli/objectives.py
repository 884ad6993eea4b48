"""`unbraid objectives`."""

from unbraid.cli.console import say
from unbraid.cli.flags import known_flags
from unbraid.cli.recipe_lists import list_recipes


def objectives() -> None:
    """List what models can be trained to minimise.

    Example:
      unbraid objectives
    """
    list_recipes({"objective": known_flags("train")["objective"].recipes})
    say("Train by one with: unbraid train --objective NAME (its fields: unbraid train --objective NAME --help)")
