"""Every command by its name, found without being loaded: only the one that is typed is imported.

A new command is one file and one line here. The words of the command, joined by underscores, are the name of the
module and of the function in it: `unbraid datasets show` is `datasets_show` in `datasets_show.py`.
"""

import functools
import importlib
import inspect
import re
from collections.abc import Callable
from typing import Any, final

import typer
from typer.core import TyperGroup

from unbraid.cli.flags import attached, derived_of
from unbraid.cli.sections import SectionedCommand

# In the order in which one comes to need them, each with the first line of its help.
COMMANDS = {
    "quickstart": "Train, score and show a few small models.",
    "train": "Train models side by side, from one seed or many.",
    "score": "Score runs, or codes from anywhere.",
    "diagnose": "Diagnose runs and suggest fixes.",
    "report": "Write a page about runs.",
    "explore": "Write a page that decodes in the browser.",
    "runs": "List the runs in a folder and below it.",
    "datasets": "List the data sets, show one, or fetch one.",
    "datasets list": "List the data sets.",
    "datasets show": "Write a page about a data set.",
    "datasets fetch": "Download the files of a data set.",
    "objectives": "List what models can be trained to minimize.",
    "models": "List what models can be made of.",
    "metrics": "List what codes and models can be scored by.",
    "encode": "Turn new images into codes.",
    "sample": "Draw images from the prior of a model.",
    "export": "Write the encoder and the decoder of a run as ONNX files.",
    "push": "Push a run to the Hugging Face Hub.",
    "pull": "Fetch a run, or a zoo of them, from the Hugging Face Hub.",
    "zoo": "Turn the runs of a study into a zoo on the Hugging Face Hub.",
    "study": "Plan, run and look at a study.",
    "study plan": "Say what a study would do.",
    "study run": "Train and score what is missing of a study.",
    "study status": "Say how far a study is.",
    "study retry": "Put the failed runs of a study aside.",
    "study table": "Show the scores of a study.",
    "study figure": "Draw the scores of a study.",
    "study select": "Choose runs without labels.",
    "study report": "Write a page about a study.",
    "doctor": "Check the installation.",
}


def below(words: str = "") -> dict[str, str]:
    """Returns the commands that follow these words, each with the first line of its help."""
    start = f"{words} ".lstrip()
    rest = {name.removeprefix(start): line for name, line in COMMANDS.items() if name.startswith(start)}
    return {name: line for name, line in rest.items() if " " not in name}


def function_of(words: str) -> Callable[..., None]:
    """Returns the function of a command, and imports its module."""
    name = words.replace(" ", "_")
    function: Callable[..., None] = getattr(importlib.import_module(f"unbraid.cli.{name}"), name)
    return function


def make_group(words: str, function: Callable[..., None], **settings: Any) -> Any:
    """Returns the group of the commands that follow these words. The function has the flags of the group itself."""
    app = typer.Typer(cls=CommandGroup, add_completion=False, rich_markup_mode=None, **settings)
    app.callback(help=_help(function))(function)
    group = typer.main.get_command(app)
    group.name, group.words = words or None, words  # type: ignore[attr-defined]
    group.commands = dict.fromkeys(below(words))  # type: ignore[attr-defined]
    return group


@final
class CommandGroup(TyperGroup):
    """Holds commands that are imported when they are typed.

    Of a group that has a command `list`, it is meant where none is named.
    """

    words = ""

    def list_commands(self, ctx: Any) -> list[str]:
        return list(below(self.words))

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        words = f"{self.words} {cmd_name}".lstrip()
        if cmd_name not in below(self.words):
            return None
        return make_group(words, function_of(words)) if below(words) else command_of(words)

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        return super().parse_args(ctx, args or (["list"] if "list" in below(self.words) else []))

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(below(self.words).items()))


@functools.cache
def command_of(words: str) -> Any:
    """Returns a command that has none below it, and imports its module.

    It is made once in a process: typer spends half a millisecond on each of hundreds of flags.
    """
    function = function_of(words)
    derived = derived_of(function)
    app = typer.Typer(add_completion=False, rich_markup_mode=None)
    app.command(words.rpartition(" ")[2], cls=SectionedCommand, help=_help(function))(
        function if derived is None else attached(function, derived)
    )
    command = typer.main.get_command(app)
    command.derived = derived  # type: ignore[attr-defined]
    return command


def _help(function: Callable[..., None]) -> str:
    # The sign \b keeps typer from running the lines of examples and of lists of words together.
    return re.sub("\n\n(?=Example|Words)", "\n\n\b\n", inspect.getdoc(function) or "")
