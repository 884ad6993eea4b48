"""How fast eight models of sprites train beside a busy process, by how OpenMP's threads wait for each other.

    python -m benchmarks.busy_cores

Eight models of the quickstart's kind, with batches of 32 images in place of 16, take steps for a few seconds, in a
process of their own: alone, and beside a process that keeps one core busy; with OpenMP's default, which spins, and
asleep, as `unbraid` sets it. The four are interleaved, three times over, and the medians are printed in steps per
second. It takes under four minutes.
"""

import os
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

import torch

from unbraid._internal.cpu import is_waiting_chosen, wait_asleep
from unbraid._internal.memory import keep_freed_memory
from unbraid.training import Fleet, Member
from unbraid.training.presets import preset

POLICIES = ("OpenMP's default", "asleep")
NUM_SEEDS, NUM_REPEATS = 4, 3
SECONDS = 4.0


def environment(policy: str, given: dict[str, str]) -> dict[str, str]:
    """The given environment with this policy alone."""
    plain = {name: value for name, value in given.items() if not is_waiting_chosen({name: value})}
    if policy == "asleep":
        wait_asleep(plain)
    return plain


def steps_per_second(seconds: float) -> float:
    """Of eight such models in this process, over so many seconds after the first steps."""
    keep_freed_memory()
    specs = [preset(f"{objective}-sprites") for objective in ("vae", "beta-tcvae")]
    fleet = Fleet([Member(spec, seed) for spec in specs for seed in range(NUM_SEEDS)], specs[0].training_data.load())
    for _ in range(2):
        fleet.advance()
    began, first = time.perf_counter(), fleet.step
    while time.perf_counter() - began < seconds:
        fleet.advance()
    return (fleet.step - first) / (time.perf_counter() - began)


@contextmanager
def busy_process() -> Iterator[None]:
    """A process that computes for as long as the block runs."""
    process = subprocess.Popen([sys.executable, "-c", "while True: pass"])
    try:
        yield
    finally:
        process.kill()
        process.wait()


def measured(policy: str) -> float:
    """Steps per second in a process of its own, whose threads wait by this policy."""
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.busy_cores", "measure"],
        env=environment(policy, dict(os.environ)),
        capture_output=True,
        text=True,
        check=True,
    )
    return float(done.stdout)


def main() -> None:
    if sys.argv[1:] == ["measure"]:
        print(steps_per_second(SECONDS))
        return
    quiet: dict[str, list[float]] = {policy: [] for policy in POLICIES}
    busy: dict[str, list[float]] = {policy: [] for policy in POLICIES}
    for _ in range(NUM_REPEATS):
        for policy in POLICIES:
            quiet[policy].append(measured(policy))
            with busy_process():
                busy[policy].append(measured(policy))
    threads, load = torch.get_num_threads(), os.getloadavg()[0]
    print(f"torch {torch.__version__}, {threads} threads, {os.cpu_count()} cores, load at the end {load:.1f}\n")
    print("| threads wait | alone, steps/s | beside a busy process, steps/s | share kept |\n|---|---|---|---|")
    for policy in POLICIES:
        alone, beside = statistics.median(quiet[policy]), statistics.median(busy[policy])
        print(f"| {policy} | {alone:.1f} | {beside:.1f} | {beside / alone:.0%} |")


if __name__ == "__main__":
    main()
