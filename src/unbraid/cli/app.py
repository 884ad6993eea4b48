"""The typer app with all commands, and its error handling."""

import errno
import sys
import traceback
from collections.abc import Sequence
from typing import Annotated, Any

import typer

from unbraid._internal.memory import keep_freed_memory
from unbraid._internal.version import __version__
from unbraid.cli.commands import make_group
from unbraid.cli.console import complain, say, warnings_as_notes
from unbraid.cli.plain_letters import plain_letters
from unbraid.errors import UnbraidError

_INTERRUPTED = 130  # the exit code of typer after Ctrl-C
_LESS_MEMORY = {
    "score": "Score a random subset of the images, or ask for fewer metrics at a time with --metrics.",
    "report": "Report on fewer runs at a time.",
    "encode": "Encode fewer images at a time.",
}


def make_app() -> Any:
    """Returns the app with every command. Flags accept dashes or underscores."""
    return make_group(
        "",
        _unbraid,
        no_args_is_help=True,
        context_settings={
            "help_option_names": ["--help", "-h"],
            "max_content_width": 120,
            "token_normalize_func": lambda token: token.replace("_", "-"),
        },
    )


@plain_letters()
def main(arguments: Sequence[str] | None = None) -> None:
    """Runs a command. The exit code is 0 if it succeeded, 2 if the user can fix the error, and 1 if it failed."""
    keep_freed_memory()
    words = sys.argv[1:] if arguments is None else arguments
    command = next((word for word in words if not word.startswith("-")), "")
    again = "What is finished is kept. To continue, type the command again" + " with --resume" * (command == "train")
    try:
        with warnings_as_notes():
            make_app()(arguments)
    except SystemExit as left:
        if left.code == _INTERRUPTED:
            complain(f"Stopped at once, as asked. {again}.")
        raise
    except UnbraidError as error:
        complain(str(error))
        sys.exit(error.exit_code)
    except OSError as error:
        advice = "Check the path, the permissions and the space on the disk."
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            advice = f"Make room on that disk. {again}."
        complain(f"{error.filename or 'A file'}: {error.strerror or error}. {advice}")
        # No file can have such a name, so it was typed.
        sys.exit(UnbraidError.exit_code if error.errno == errno.ENAMETOOLONG else 1)
    except Exception as error:  # noqa: BLE001 (the last resort: whatever is left is a bug)
        from unbraid._internal.memory import is_out_of_memory  # which needs torch

        if is_out_of_memory(error):
            advice = "Train fewer seeds at a time, or use a smaller --batch-size, model or dataset."
            complain(f"Out of memory ({error}). {_LESS_MEMORY.get(command, advice)}")
            sys.exit(1)
        traceback.print_exc()
        complain(
            "This is a bug in unbraid, not a mistake of yours. Please report it, with the command you typed, the "
            "output of `unbraid doctor` and the lines above."
        )
        sys.exit(1)


def _show_version(wanted: bool) -> bool:  # noqa: FBT001 (called by typer)
    if wanted:
        say(f"unbraid {__version__}")
        raise typer.Exit
    return wanted


def _unbraid(
    *,
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Learn, measure and show disentangled representations.

    Begin with `unbraid quickstart`. Each command has its own help: `unbraid train --help`.
    """
