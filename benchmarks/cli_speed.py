"""How long the command line takes to answer what needs no torch.

    python -m benchmarks.cli_speed

Each command runs in a Python of its own, in turn with one that imports typer and rich and one that imports torch, five
times over. The medians are printed, in seconds of a core, which do not depend on what else the machine does. It takes
about a minute.
"""

import os
import resource
import statistics
import subprocess
import sys

NUM_REPEATS = 5
IMPORTS = ("import typer, rich.console", "import torch")
COMMANDS = (
    "--version",
    "--help",
    "trian",
    "objectives",
    "metrics",
    "models",
    "train --help",
    "train --dataset celeba --objective factor-vae --help",
    "train --objectve vae",
    "score --help",
    "datasets show dsprites --help",
)


def seconds(arguments: list[str]) -> float:
    """Of a core, in a Python of its own with these arguments."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, *arguments], capture_output=True, check=False)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> None:
    asked = {code: ["-c", code] for code in IMPORTS}
    asked |= {f"unbraid {words}": ["-m", "unbraid", *words.split()] for words in COMMANDS}
    found: dict[str, list[float]] = {name: [] for name in asked}
    for arguments in asked.values():  # once before, so that the system has read every file
        seconds(arguments)
    for _ in range(NUM_REPEATS):
        for name, arguments in asked.items():
            found[name].append(seconds(arguments))
    medians = {name: statistics.median(times) for name, times in found.items()}
    least = medians[IMPORTS[0]]
    print(f"Python {sys.version.split()[0]}, {os.cpu_count()} cores\n")
    print("| what is run | seconds | beyond typer and rich |")
    print("|---|---|---|")
    for name, median in medians.items():
        print(f"| `{name}` | {median:.2f} | {median - least:+.2f} |")


if __name__ == "__main__":
    main()
