"""The command line: a command is one file."""

import sys
from collections.abc import Sequence

from unbraid.threads import wait_asleep


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command that was typed. Nothing is imported before it is said how torch's threads wait."""
    if "torch" not in sys.modules:
        wait_asleep()
    from unbraid.cli.app import main as run

    run(arguments)
