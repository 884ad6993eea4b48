"""The commands under one name, and what becomes of their errors."""

import errno
import sys
import traceback
from collections.abc import Sequence
from typing import Annotated, Any

import typer

from unbraid._internal.memory import keep_freed_memory
from unbraid._internal.version import __version__
from unbraid.cli.commands import make_group
from unbraid.cli.console import complain, log_as_notes, say, warnings_as_notes
from unbraid.cli.plain_letters import plain_letters
from unbraid.errors import UnbraidError

_FAILURE = 1
_INTERRUPTED = 130  # what typer leaves with after Ctrl-C
_GO_ON = "What is finished is kept; to go on, type the command again{}."
_LESS_MEMORY = {
    "score": "Score a random subset of the images, or ask for fewer metrics at a time with --metrics.",
    "report": "Report on fewer runs at a time.",
    "encode": "Encode fewer images at a time.",
    "runs": "List a folder with fewer runs.",
    "datasets": "Close other programs, or show fewer images with --subset.",
}


def make_app() -> Any:
    """Returns the app with every command. A flag may be typed with dashes or underscores."""
    return make_group(
        "",
        _unbraid,
        no_args_is_help=True,
        context_settings={
            "help_option_names": ["--help", "-h"],
            "max_content_width": 120,
            "token_normalize_func": _with_dashes,
        },
    )


@plain_letters()
def main(arguments: Sequence[str] | None = None) -> None:
    """Runs the command that was typed, and exits with 0 if it succeeded, 2 if the user can fix it, 1 if it failed."""
    keep_freed_memory()
    try:
        with warnings_as_notes(), log_as_notes():
            make_app()(arguments)
    except SystemExit as left:
        if left.code == _INTERRUPTED:
            complain(f"Stopped at once, as asked. {_go_on(arguments)}")
        raise
    except UnbraidError as error:
        complain(str(error))
        sys.exit(error.exit_code)
    except OSError as error:
        complain(f"{error.filename or 'A file'}: {error.strerror or error}. {_advice(error, arguments)}")
        # No file can have such a name, so it was typed.
        sys.exit(UnbraidError.exit_code if error.errno == errno.ENAMETOOLONG else _FAILURE)
    except Exception as error:  # noqa: BLE001 (the last resort: whatever is left is a bug)
        from unbraid._internal.memory import is_out_of_memory  # which needs torch

        if is_out_of_memory(error):
            complain(f"Out of memory ({error}). {_less_memory(arguments)}")
            sys.exit(_FAILURE)
        traceback.print_exc()
        complain(
            "This is a bug in unbraid, not a mistake of yours. Please report it, with the command you typed, what "
            "`unbraid doctor` prints and the lines above."
        )
        sys.exit(_FAILURE)


def _advice(error: OSError, arguments: Sequence[str] | None) -> str:
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return f"Make room on that disk. {_go_on(arguments)}"
    return "Check the path, the permissions and the space on the disk."


def _command(arguments: Sequence[str] | None) -> str:
    """Returns the command that was typed: the first word that is no flag."""
    return next((word for word in (sys.argv[1:] if arguments is None else arguments) if not word.startswith("-")), "")


def _go_on(arguments: Sequence[str] | None) -> str:
    return _GO_ON.format(" with --resume" if _command(arguments) == "train" else "")


def _less_memory(arguments: Sequence[str] | None) -> str:
    """Returns what to do about it, by the command that was typed."""
    return _LESS_MEMORY.get(
        _command(arguments), "Train fewer seeds at a time, or use a smaller --batch-size, model or data set."
    )


def _with_dashes(token: str) -> str:
    return token.replace("_", "-")


def _show_version(wanted: bool) -> bool:  # noqa: FBT001 (called by typer)
    if wanted:
        say(f"unbraid {__version__}")
        raise typer.Exit
    return wanted


def _unbraid(
    *,
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Print the version and leave.")
    ] = False,
) -> None:
    """Learn, measure and show disentangled representations.

    Begin with `unbraid quickstart`. Each command has its own help: `unbraid train --help`.
    """
