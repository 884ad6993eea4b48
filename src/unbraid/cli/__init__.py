"""The command line: a command is one file."""

from unbraid.cli.app import main as main
