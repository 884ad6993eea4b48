"""`unbraid objectives`."""

from unbraid.cli.config_lists import list_configs
from unbraid.cli.console import say
from unbraid.cli.flags import known_flags


def objectives() -> None:
    """List what models can be trained to minimize.

    Example:
      unbraid objectives
    """
    list_configs({"objective": known_flags("train")["objective"].configs})
    say("Train by one with: unbraid train --objective NAME (its fields: unbraid train --objective NAME --help)")
