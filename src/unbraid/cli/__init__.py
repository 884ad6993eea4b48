"""The command line: a command is one file."""

import sys
from collections.abc import Sequence

from unbraid.threads import others_are_running, wait_asleep


def main(arguments: Sequence[str] | None = None) -> None:
    """Runs the command that was typed. Nothing is imported before it is said how torch's threads wait."""
    if "torch" not in sys.modules and others_are_running():
        wait_asleep()
    from unbraid.cli.app import main as run

    run(arguments)
