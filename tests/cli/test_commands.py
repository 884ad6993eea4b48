"""Every command is found by its name, and only the one that is typed is loaded."""

import inspect
import json
import subprocess
import sys

import pytest

from unbraid.cli.commands import COMMANDS, command_of, function_of, subcommands

ANSWER = """
import contextlib, io, json, sys
from unbraid.cli import main
loaded = {}
for words in json.loads(sys.argv[1]):
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        try:
            main(words.split())
        except SystemExit as left:
            code = left.code
    loaded[words] = [code, sorted({"torch", "numpy", "scipy", "sklearn", "PIL"} & sys.modules.keys())]
print(json.dumps(loaded))
"""
ANSWERED_AT_ONCE = {
    "--version": 0,
    "--help": 0,
    "": 2,
    "trian": 2,
    "--metric mig": 2,
    "datasets --help": 0,
    **{f"{words} --help": 0 for words in COMMANDS},
    "train --objective factor-vae --help": 0,
    "train --objectve vae": 2,
    "objectives": 0,
    "metrics": 0,
    "models": 0,
    "datasets shw": 2,
}


def test_what_needs_no_torch_is_answered_without_it():
    """In one Python of its own, which answers all the questions."""
    done = subprocess.run(
        [sys.executable, "-c", ANSWER, json.dumps(list(ANSWERED_AT_ONCE))], capture_output=True, text=True, check=True
    )
    assert json.loads(done.stdout) == {words: [code, []] for words, code in ANSWERED_AT_ONCE.items()}


@pytest.mark.parametrize("words", COMMANDS)
def test_the_line_of_a_command_is_the_first_of_its_help(words):
    assert COMMANDS[words] == inspect.getdoc(function_of(words)).splitlines()[0]


def test_a_group_has_the_commands_that_follow_its_words():
    assert list(subcommands("datasets")) == ["list", "show", "fetch"]
    assert not subcommands("train")
    assert "datasets" in subcommands()
    assert not any(" " in name for name in subcommands())


@pytest.mark.parametrize("words", [words for words in COMMANDS if not subcommands(words)])
def test_no_placeholder_is_the_name_of_its_option(words):
    """For typer 0.27.2 takes it for the name: `--seeds SEEDS` could only be typed as `--SEEDS`."""
    for option in command_of(words).params:
        assert option.param_type_name == "argument" or (option.metavar or "").lower() != option.name
