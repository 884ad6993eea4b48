"""Registry of the commands. Only the module of the requested command is imported.

A new command needs a function and one line here. The name of the function is the words of the command, joined by
underscores. The module of the function is named by the first word, unless `_MODULES` lists another module.
"""

import functools
import importlib
import inspect
import re
import textwrap
from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import Annotated, Any, final

import typer
from typer.core import TyperCommand, TyperGroup

from unbraid.cli.flags import ConfigFlags, flag_name, flag_values
from unbraid.cli.progress import progress_of_commands
from unbraid.errors import TrainingError, TrainingInterrupted

# In the order in which users need them, each with the first line of its help.
COMMANDS = {
    "quickstart": "Train, score and show a few small models.",
    "train": "Train models side by side, from one seed or many.",
    "score": "Score runs, or codes from anywhere.",
    "diagnose": "Diagnose runs and suggest fixes.",
    "report": "Write a page about runs.",
    "explore": "Write a page that decodes in the browser.",
    "runs": "List the runs in a folder and its subfolders.",
    "datasets": "List, show or download datasets.",
    "datasets list": "List the datasets.",
    "datasets show": "Write a page about a dataset.",
    "datasets fetch": "Download the files of a dataset.",
    "objectives": "List objectives.",
    "models": "List nets, latents, priors and likelihoods.",
    "metrics": "List metrics of codes and scores of models.",
    "encode": "Encode new images.",
    "sample": "Draw images from the prior of a model.",
    "export": "Write the encoder and the decoder of a run as ONNX files.",
    "push": "Push a run to the Hugging Face Hub.",
    "pull": "Fetch a run or a zoo of runs from the Hugging Face Hub.",
    "zoo": "Push the runs of a study to the Hugging Face Hub.",
    "study": "Plan, run and show a study.",
    "study plan": "Show what a study would train, and how long it takes.",
    "study run": "Train and score the missing runs of a study.",
    "study status": "Show the progress of a study.",
    "study retry": "Archive the failed runs of a study.",
    "study table": "Show the scores of a study.",
    "study figure": "Draw the scores of a study.",
    "study select": "Choose runs without labels.",
    "study report": "Write a page about a study.",
    "doctor": "Check the installation.",
}
_MODULES = {
    **dict.fromkeys(("objectives", "models", "metrics"), "lists"),
    "explore": "report",
    **dict.fromkeys(("push", "pull", "zoo"), "hub"),
    **dict.fromkeys(("study table", "study figure", "study select", "study report"), "study_results"),
}


def subcommands(words: str = "") -> dict[str, str]:
    """Returns the subcommands of a command such as "study", each with the first line of its help."""
    start = f"{words} ".lstrip()
    rest = {name.removeprefix(start): line for name, line in COMMANDS.items() if name.startswith(start)}
    return {name: line for name, line in rest.items() if " " not in name}


def function_of(words: str) -> Callable[..., None]:
    """Imports the module of a command and returns the function of the command."""
    module = importlib.import_module(f"unbraid.cli.{_MODULES.get(words, words.partition(' ')[0])}")
    function: Callable[..., None] = getattr(module, words.replace(" ", "_"))
    return function


def make_group(words: str, function: Callable[..., None], **settings: Any) -> Any:
    """Returns the group of the subcommands of a command. `function` defines the flags and the help of the group."""
    app = typer.Typer(cls=CommandGroup, add_completion=False, rich_markup_mode=None, **settings)
    app.callback(help=_help(function))(function)
    group = typer.main.get_command(app)
    group.name, group.words = words or None, words  # type: ignore[attr-defined]
    group.commands = dict.fromkeys(subcommands(words))  # type: ignore[attr-defined]
    return group


@functools.cache
def command_of(words: str) -> Any:
    """Imports the module of a command without subcommands and returns the command.

    The command is cached, because typer needs half a millisecond for each of hundreds of flags.
    """
    function = function_of(words)
    config_flags: ConfigFlags | None = vars(function).get("config_flags")
    app = typer.Typer(add_completion=False, rich_markup_mode=None)
    typed = function if config_flags is None else _with_parameters(function, config_flags)
    app.command(words.rpartition(" ")[2], cls=Command, help=_help(function))(typed)
    command = typer.main.get_command(app)
    command.config_flags = config_flags  # type: ignore[attr-defined]
    return command


def _help(function: Callable[..., None]) -> str:
    # The character \b prevents typer from joining the lines of examples and of locations.
    return re.sub("\n\n(?=Example|Locations)", "\n\n\b\n", inspect.getdoc(function) or "")


def _with_parameters(command: Callable[..., None], config_flags: ConfigFlags) -> Callable[..., None]:
    """Returns the command with a parameter for each config flag instead of the parameter `given`, as typer requires."""
    paths = {path.replace(".", "__"): path for path in config_flags.flags()}

    @functools.wraps(command)
    def with_given(**values: Any) -> None:
        typed = {path: values.pop(parameter) for parameter, path in paths.items()}
        command(**values, given={path: texts for path, texts in typed.items() if texts})

    keyword = inspect.Parameter.KEYWORD_ONLY
    own = [each for each in inspect.signature(command).parameters.values() if each.name != "given"]
    parameters = [each.replace(kind=keyword) for each in own]
    for parameter, path in paths.items():
        alias = config_flags.alias(path)
        option = typer.Option(flag_name(path), *([alias] if alias else []))
        # A list, so that a repeated flag raises an error and does not silently override the first one.
        parameters.append(
            inspect.Parameter(parameter, keyword, default=None, annotation=Annotated[list[str] | None, option])
        )
    with_given.__annotations__ = {each.name: each.annotation for each in parameters}
    vars(with_given)["__signature__"] = inspect.Signature(parameters)
    return with_given


@final
class CommandGroup(TyperGroup):
    """Group of lazily imported commands. Without a subcommand, the group runs its `list` command, if it has one."""

    words = ""

    def list_commands(self, ctx: Any) -> list[str]:
        return list(subcommands(self.words))

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        words = f"{self.words} {cmd_name}".lstrip()
        if cmd_name not in subcommands(self.words):
            return None
        return make_group(words, function_of(words)) if subcommands(words) else command_of(words)

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        return super().parse_args(ctx, args or (["list"] if "list" in subcommands(self.words) else []))

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(subcommands(self.words).items()))


@final
class Command(TyperCommand):
    """Command whose help lists arguments, options, and flags of config fields in panels of plain text.

    The help lists the fields of the default configs and of the configs named before --help. The progress of long work
    is shown while the command runs.
    """

    config_flags: ConfigFlags | None = None
    arguments: tuple[str, ...] = ()

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        self.arguments = tuple(args)
        return super().parse_args(ctx, args)

    def invoke(self, ctx: Any) -> Any:
        try:
            with progress_of_commands():
                return super().invoke(ctx)
        except TrainingInterrupted as stopped:
            if stopped.at_once:
                raise KeyboardInterrupt from None
            raise TrainingError(str(stopped)) from None

    def format_options(self, ctx: Any, formatter: Any) -> None:
        sections: dict[str, list[tuple[str, str]]] = defaultdict(list, {"Arguments": [], "Options": []})
        parameters = {parameter.name: parameter for parameter in self.get_params(ctx)}
        options = {}
        if self.config_flags is not None:
            options = {path: parameters.pop(path.replace(".", "__")) for path in self.config_flags.flags()}
        for parameter in parameters.values():
            name, help_text = parameter.get_help_record(ctx) or ("", "")
            is_argument = parameter.param_type_name == "argument"
            # Typer appends the Python type to an argument, which means nothing on a command line.
            if name:
                sections["Arguments" if is_argument else "Options"].append((name.partition(" <")[0], help_text))
        if self.config_flags is not None:
            sections |= {panel: [] for panel in self.config_flags.panels.values()}
            given = flag_values(self.arguments, self.config_flags.argument)
            for path, flag in self.config_flags.flags(given).items():
                names = f"{', '.join(options[path].opts)} {flag.metavar}"
                sections[self.config_flags.panel(path)].append((names, flag.help))
        for heading, records in sections.items():
            if records:
                with formatter.section(heading):
                    formatter.write_dl(_wrapped(records, formatter.width))


def _wrapped(records: Sequence[tuple[str, str]], width: int) -> list[tuple[str, str]]:
    """Wraps the help texts to the width. Words are not broken at dashes, so that they can be copied."""
    # The formatter prints 2 columns of indent, at most 30 columns of flags and 2 columns of space before the texts.
    room = max(width - min(max(len(name) for name, _ in records), 30) - 4, 10)
    # The character \b prevents the formatter from wrapping the texts again.
    return [(name, "\b\n" + "\n".join(textwrap.wrap(text, room, break_on_hyphens=False))) for name, text in records]
