"""Where lives begin: `python -m tests.crash.nursery` imports and warms everything up once, and forks a process for each
life that it is asked for.

A request is a line of JSON: ["begin", folder, {disturbance: {option: value}}] begins a life and answers its process id,
["end", id] waits until it has ended and answers what `os.waitstatus_to_exitcode` says of it.
"""

import contextlib
import gc
import json
import sys
import tempfile
from pathlib import Path
from typing import Any

import torch

from tests.crash import disturbances, job, long_run, small_disk, small_fleet
from tests.crash.processes import exit_code, forked

Disturbances = dict[str, dict[str, Any]]


def live(folder: Path, disturbed_by: Disturbances) -> None:
    """The job with what happens to it; or, by its name, another life altogether."""
    match disturbed_by:
        case {"long_run": options}:
            long_run.live(folder, **options)
        case {"small_disk": options}:
            small_disk.live(folder, **options)
        case {"small_fleet": options}:
            small_fleet.live(folder, **options)
        case _:
            with contextlib.ExitStack() as stack:
                for name, options in disturbed_by.items():
                    stack.enter_context(getattr(disturbances, name)(folder, **options))
                job.command(folder)


def serve() -> None:
    for line in sys.stdin:
        match json.loads(line):
            case ["begin", folder, disturbed_by]:
                answer = forked(
                    lambda folder=folder, by=disturbed_by: live(Path(folder), by), Path(folder) / "said.txt"
                )
            case ["end", pid]:
                answer = exit_code(pid)
        sys.stdout.write(f"{answer}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    torch.set_num_threads(1)  # a pool of threads does not survive a fork
    job.make_tiny()
    # In this process: what is imported and set up on the first use, forks then have.
    quiet = contextlib.redirect_stdout(None), contextlib.redirect_stderr(None)
    with tempfile.TemporaryDirectory() as warm_up, quiet[0], quiet[1], contextlib.suppress(SystemExit):
        job.command(Path(warm_up))
    gc.collect()
    gc.freeze()  # a life need not look through all that was imported when it gives memory back
    serve()
