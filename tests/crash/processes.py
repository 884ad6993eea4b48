"""Processes that are forked, and how they end."""

import os
import sys
import traceback
from collections.abc import Callable
from pathlib import Path


def forked(life: Callable[[], None], said: Path) -> int:
    """Begin a life, and return its process id. What it prints goes to `said`, after what is there."""
    pid = os.fork()
    if pid:
        return pid
    code = 0
    try:
        with said.open("ab") as stream:
            os.dup2(stream.fileno(), 1)
            os.dup2(stream.fileno(), 2)
        life()
    except SystemExit as left:
        code = left.code if isinstance(left.code, int) else 0 if left.code is None else 1
    except BaseException:  # noqa: BLE001 - a child must never return into the code of its parent
        traceback.print_exc()
        code = 99
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def exit_code(pid: int) -> int:
    """The exit code of a life once it has ended; minus the number of the signal, if one ended it."""
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
