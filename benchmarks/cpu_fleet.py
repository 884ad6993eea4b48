"""How long a training step takes on a CPU: fleets in one process, one model per process, and textbook loops.

    python -m benchmarks.cpu_fleet

Every row is measured by processes of its own, all rows in turn, four times. The least time is printed, in milliseconds
per model and step: other work on the machine only adds to it. The processes of a row run at the same time, each with a
part of the models. Half of the models of a fleet are VAEs and half beta-TCVAEs; a model by itself is a beta-TCVAE.
Steps are not logged, as most steps of training are not.

The second table computes what more cores would do from the two rows of processes with one thread each, one model and
eight models in a process. It assumes that cores do not slow each other down more than these do.
"""

import json
import math
import os
import subprocess
import sys
import time

import torch

from benchmarks.textbook import textbook_step
from unbraid import MLP, VAE, Autoencoder, BetaTCVAE, Conv, DSprites, RunSpec
from unbraid._internal.memory import keep_freed_memory
from unbraid.models import Architecture
from unbraid.training import Fleet, Member

NETS: dict[str, tuple[Architecture, int, int]] = {
    "conv, 64 pixels, batch 64": (Conv(), 64, 64),
    "conv, 32 pixels, batch 32": (Conv(channels=(16, 16, 32, 32)), 32, 32),
    "MLP 256, 32 pixels, batch 32": (MLP(hidden=(256, 256), decoder_hidden=(256, 256, 256)), 32, 32),
}
WAYS = {  # models in a process (0: a textbook loop), processes, threads of each
    "textbook loop, two threads": (0, 1, 2),
    "two textbook loops, one thread each": (0, 2, 1),
    "a fleet of 8, two threads (workers=0)": (8, 1, 2),
    "two processes, 8 models in each, one thread each": (8, 2, 1),
    "two processes, 1 model in each, one thread each (workers=2)": (1, 2, 1),
}
NUM_MODELS, NUM_REPEATS, SECONDS = 16, 4, 0.5


def step_of(num_models: int, net: str):
    """Returns a function that takes one step with all models of a process."""
    architecture, resolution, batch_size = NETS[net]
    dataset = DSprites(resolution=resolution, shapes=("heart",), num_orientations=1, num_positions=16)
    spec = RunSpec(dataset, Autoencoder(architecture), BetaTCVAE(beta=4.0), num_steps=1000, batch_size=batch_size)
    vae = RunSpec(dataset, Autoencoder(architecture), VAE(), num_steps=1000, batch_size=batch_size)
    images = dataset.load()
    if num_models == 0:
        return textbook_step(spec, images)
    members = [Member(vae if seed < num_models // 2 else spec, seed) for seed in range(num_models)]
    fleet = Fleet(members, images)
    return lambda: fleet.advance(log=False)


def measure(num_models: int) -> dict[str, float]:
    """Returns the milliseconds per step of each net in this process, each measured after a line of stdin."""
    keep_freed_memory()
    times = {}
    for net in NETS:
        step = step_of(num_models, net)
        step()
        step()
        print("ready", flush=True)
        sys.stdin.readline()
        began, count = time.perf_counter(), 0
        while time.perf_counter() < began + SECONDS * (3 if "64" in net else 1) or count < 3:
            step()
            count += 1
        times[net] = (time.perf_counter() - began) / count * 1000
    return times


def measured_together(way: str) -> dict[str, float]:
    """Returns the milliseconds per model and step of each net."""
    num_models, num_processes, num_threads = WAYS[way]
    environment = {**os.environ, "OMP_NUM_THREADS": str(num_threads)}
    processes = [
        subprocess.Popen(
            [sys.executable, "-m", "benchmarks.cpu_fleet", str(num_models)],
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for _ in range(num_processes)
    ]
    for _ in NETS:
        for process in processes:
            assert process.stdout is not None
            process.stdout.readline()
        for process in processes:
            assert process.stdin is not None
            process.stdin.write("go\n")
            process.stdin.flush()
    times = [json.loads(process.communicate()[0]) for process in processes]
    return {net: sum(each[net] for each in times) / num_processes**2 / max(1, num_models) for net in NETS}


def main() -> None:
    if len(sys.argv) == 2:
        print(json.dumps(measure(int(sys.argv[1]))))
        return
    print(f"torch {torch.__version__}, {os.cpu_count()} cores\n")
    least = {way: dict.fromkeys(NETS, math.inf) for way in WAYS}
    for _ in range(NUM_REPEATS):
        for way in WAYS:
            least[way] = {net: min(least[way][net], found) for net, found in measured_together(way).items()}
    print("| ms per model and step | " + " | ".join(NETS) + " |\n|" + "---|" * (len(NETS) + 1), flush=True)
    for way, times in least.items():
        print(f"| {way} | " + " | ".join(f"{times[net]:.2f}" for net in NETS) + " |")
    _, _, _, eight, one = least.values()
    print(f"\n| ms per step of all {NUM_MODELS} models | " + " | ".join(NETS) + " |" + "\n|" + "---|" * (len(NETS) + 1))
    for cores in (2, 4, 8, 16):
        # A core takes twice the time that two cores take together.
        ones = {net: math.ceil(NUM_MODELS / cores) * 2 * one[net] for net in NETS}
        eights = {net: math.ceil(NUM_MODELS / 8 / cores) * 8 * 2 * eight[net] for net in NETS}
        for text, times in (("1 model in a process", ones), ("8 models in a process", eights)):
            print(f"| {cores} cores, {text} | " + " | ".join(f"{times[net]:.0f}" for net in NETS) + " |")


if __name__ == "__main__":
    main()
