"""The command line, with one module per group of commands."""

import os
import signal
import threading
from collections.abc import Sequence
from types import FrameType

_INTERRUPTED = 130  # the exit code of a shell's command after Ctrl-C


def main(arguments: Sequence[str] | None = None) -> None:
    """Runs the command given by `arguments`, by default `sys.argv`."""
    is_main = threading.current_thread() is threading.main_thread()
    if is_main and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _interrupt)
    from unbraid.cli.app import main as run

    run(arguments)


def _interrupt(number: int, frame: FrameType | None) -> None:
    """Raises KeyboardInterrupt, or ends the process where modules are being imported.

    An exception in the middle of an import of torch can be lost, leave a traceback, or abort the process. No resource
    that needs cleanup is open during imports.
    """
    while frame is not None:
        if frame.f_code.co_filename.startswith("<frozen importlib"):
            os.write(2, b"Error: Stopped at once, as asked.\n")
            os._exit(_INTERRUPTED)
        frame = frame.f_back
    raise KeyboardInterrupt
