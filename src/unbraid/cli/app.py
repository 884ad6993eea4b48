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
from unbraid.cli.console import echo, print_error, warnings_as_notes
from unbraid.cli.plain_letters import plain_letters
from unbraid.errors import UnbraidError

_INTERRUPTED = 130  # the exit code of typer after Ctrl-C
_LESS_MEMORY = {
    "score": "Score a random subset of the images, or compute fewer metrics at a time with --metrics.",
    "report": "Report on fewer runs at a time.",
    "encode": "Encode fewer images at a time.",
}


def make_app() -> Any:
    """Returns the typer app with all commands. Words of a flag may be joined by dashes or underscores."""
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
    """Runs a command. The exit code is 0 after success, 2 after an error in the user's input, and 1 otherwise."""
    keep_freed_memory()
    words = sys.argv[1:] if arguments is None else arguments
    command = next((word for word in words if not word.startswith("-")), "")
    again = "Finished work is kept. To continue, run the command again" + " with --resume" * (command == "train")
    try:
        with warnings_as_notes():
            make_app()(arguments)
    except SystemExit as left:
        if left.code == _INTERRUPTED:
            print_error(f"Interrupted. {again}.")
        raise
    except UnbraidError as error:
        print_error(str(error))
        sys.exit(error.exit_code)
    except OSError as error:
        advice = "Check the path, the permissions and the free disk space."
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            advice = f"Free disk space. {again}."
        print_error(f"{error.filename or 'A file'}: {error.strerror or error}. {advice}")
        # A file name that is too long comes from the command line.
        sys.exit(UnbraidError.exit_code if error.errno == errno.ENAMETOOLONG else 1)
    except Exception as error:  # noqa: BLE001 (the last resort: whatever is left is a bug)
        from unbraid._internal.memory import is_out_of_memory  # which needs torch

        if is_out_of_memory(error):
            advice = "Train fewer seeds at a time, or use a smaller --batch-size, model or dataset."
            print_error(f"Out of memory ({error}). {_LESS_MEMORY.get(command, advice)}")
            sys.exit(1)
        traceback.print_exc()
        print_error(
            "This is a bug in unbraid. Please report it with the command, the output of `unbraid doctor` and the "
            "lines above."
        )
        sys.exit(1)


def _show_version(wanted: bool) -> bool:  # noqa: FBT001 (called by typer)
    if wanted:
        echo(f"unbraid {__version__}")
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
