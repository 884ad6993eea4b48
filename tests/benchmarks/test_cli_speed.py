"""The benchmark of the command line."""

from benchmarks.cli_speed import COMMANDS, seconds
from unbraid.cli.commands import subcommands


def test_a_python_of_its_own_takes_a_moment():
    assert seconds(["-c", "pass"]) > 0


def test_the_commands_that_are_timed_are_there():
    known = {*subcommands(), "--version", "--help", "trian"}
    assert {words.split()[0] for words in COMMANDS} <= known
