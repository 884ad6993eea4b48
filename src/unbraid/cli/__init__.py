"""The command line, with one module per group of commands."""

import os
import signal
import threading
from collections.abc import Sequence
from types import FrameType

_INTERRUPTED = 130  # the exit code of a shell's command after Ctrl-C


def main(arguments: Sequence[str] | None = None) -> None:
    """Runs the command with these arguments, by default those in `sys.argv[1:]`."""
    is_main = threading.current_thread() is threading.main_thread()
    if is_main and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _interrupt)
    from unbraid.cli.app import main as run

    run(arguments)


def _interrupt(number: int, frame: FrameType | None) -> None:
    """Handles Ctrl-C: raises KeyboardInterrupt or, while a module is being imported, exits the process.

    An exception raised while torch is being imported can be lost, print a traceback, or abort the process. No resource
    that needs cleanup is open during imports.
    """
    while frame is not None:
        if frame.f_code.co_filename.startswith("<frozen importlib"):
            os.write(2, b"Error: Interrupted.\n")
            os._exit(_INTERRUPTED)
        frame = frame.f_back
    raise KeyboardInterrupt
