"""How fast the sweep of Do & Tran trains: a fleet per setting, fleets shared by settings, and these fleets at once.

    python -m benchmarks.sweep_speed --out benchmarks/results/sweep_speed_h200
    python -m benchmarks.sweep_speed --small                    small fleets of few steps, to see that it runs

Every fleet is made by a process of its own, which compiles it and then waits for its turns. First each trains alone;
then those that settings share train at once. On a GPU that happens twice: with processes that the GPU serves in turns,
and with processes that share it through NVIDIA's multi-process service, if the machine has it. "Speed" is how much
training is done in a second, in seconds of the same fleets training one after another.
"""

import contextlib
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, final

from benchmarks.evidence import complain, flags, now
from benchmarks.sheet import Sheet, circumstances_of
from reproductions.do2020 import AAE_50, num_seeds, spec
from reproductions.item import Scale
from reproductions.scales import SMOKE
from unbraid.studies import Setting
from unbraid.training import Fleet, Member

SHARED = {
    "FactorVAE": tuple(f"FactorVAE {gamma}" for gamma in (10, 20, 50, 100)),
    "beta-VAE": tuple(f"beta-VAE {beta}" for beta in (1, 4, 10, 20, 50, 30)),
    "AAE": (AAE_50,),
}
"""The settings of the sweep by the fleet that they share."""
COLUMNS = ("fleet", "models", "alone, ms per model and step", "all at once, in turns", "all at once, shared GPU")


@final
@dataclass(frozen=True)
class Turn:
    """What one fleet did in a turn."""

    num_steps: int
    seconds: float

    @property
    def milliseconds(self) -> float:
        """Returns the milliseconds of a step of the whole fleet."""
        return 1000 * self.seconds / self.num_steps


def settings_of(labels: Sequence[str], scale: Scale) -> list[Setting]:
    """Returns the settings with these labels, on dSprites."""
    found = []
    for label in labels:
        quick, seeds = spec("dsprites", "quick", label), range(num_seeds("dsprites", "quick", label, 8))
        small = (SMOKE.of(quick), seeds[:1]) if scale == "smoke" else (quick, seeds)
        found.append(Setting(label, small[0], tuple(small[1]), label.partition(" ")[0]))
    return found


def fleet_here(labels: Sequence[str], device: str, scale: Scale) -> None:
    """Makes a fleet in this process, and lets it train for as many seconds as each line of the input says."""
    members = [Member(s.spec, seed) for s in settings_of(labels, scale) for seed in s.seeds]
    fleet = Fleet(members, members[0].spec.training_data.load(device))
    seconds = fleet.prepare()
    for _ in range(20):
        fleet.advance(log=False)
    print(json.dumps({"num_models": len(members), "seconds": seconds}), flush=True)
    for asked in sys.stdin:
        began, num_steps = now(device), 0
        while now(device) - began < float(asked):
            for _ in range(1 if scale == "smoke" else 50):
                fleet.advance(log=False)
                num_steps += 1
        print(json.dumps({"num_steps": num_steps, "seconds": now(device) - began}), flush=True)


@final
class FleetProcess:
    """A process that holds one fleet."""

    def __init__(self, labels: Sequence[str], options: Sequence[str]) -> None:
        command = [sys.executable, "-m", "benchmarks.sweep_speed", "--child", json.dumps(labels), *options]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def num_models(self) -> int:
        """Waits until the fleet is compiled, and returns how many models it has."""
        return int(self._answer()["num_models"])

    def begin(self, seconds: float) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(f"{seconds}\n")
        self._process.stdin.flush()

    def turn(self) -> Turn:
        """Waits for the end of the turn, and returns it."""
        return Turn(**self._answer())

    def end(self) -> None:
        self._process.communicate()

    def _answer(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise SystemExit(f"A process ended with {self._process.wait()}.")
        return json.loads(line)


@contextlib.contextmanager
def fleets_of(groups: Mapping[str, Sequence[str]], options: Sequence[str]) -> Iterator[dict[str, FleetProcess]]:
    """Yields a process for each group of settings, and ends them after the block."""
    processes = {name: FleetProcess(labels, options) for name, labels in groups.items()}
    try:
        yield processes
    finally:
        for process in processes.values():
            process.end()


@contextlib.contextmanager
def shared_gpu() -> Iterator[bool]:
    """Starts the multi-process service for the block. Yields whether the machine has it."""
    control = shutil.which("nvidia-cuda-mps-control")
    if control is None:
        yield False
        return
    with tempfile.TemporaryDirectory() as folder:
        names = {"CUDA_MPS_PIPE_DIRECTORY": f"{folder}/pipe", "CUDA_MPS_LOG_DIRECTORY": f"{folder}/log"}
        os.environ.update(names)
        began = subprocess.run([control, "-d"], check=False)
        try:
            yield began.returncode == 0
        finally:
            subprocess.run([control], input="quit\n", text=True, check=False)
            for name in names:
                del os.environ[name]
            time.sleep(1)  # until the service has let go of its folder


def alone(processes: Mapping[str, FleetProcess], seconds: float, num_turns: int) -> dict[str, float]:
    """Returns the milliseconds of a step of every fleet that trains alone, the median over turns."""
    found: dict[str, float] = {}
    for name, process in processes.items():
        found |= at_once({name: process}, seconds, num_turns)
        complain(f"{name}: {found[name]:.2f} ms per step.")
    return found


def at_once(processes: Mapping[str, FleetProcess], seconds: float, num_turns: int) -> dict[str, float]:
    """Returns the milliseconds of a step of every fleet while all train, the median over turns."""
    found: dict[str, list[float]] = {name: [] for name in processes}
    for _ in range(num_turns):
        for process in processes.values():
            process.begin(seconds)
        for name, process in processes.items():
            found[name].append(process.turn().milliseconds)
    return {name: statistics.median(each) for name, each in found.items()}


def speed(together: Mapping[str, float], by_themselves: Mapping[str, float]) -> float:
    """Returns how many seconds of training one after another are done in a second of training at once."""
    return sum(by_themselves[name] / milliseconds for name, milliseconds in together.items())


def examples(scale: Scale) -> dict[tuple[str, int], str]:
    """Returns a setting of every kind and number of seeds, which stands for all like it."""
    found: dict[tuple[str, int], str] = {}
    for family, labels in SHARED.items():
        for label in labels:
            found.setdefault((family, len(settings_of((label,), scale)[0].seeds)), label)
    return found


def seconds_of_sweep(steps: Mapping[str, float], num_steps: int, scale: Scale) -> tuple[float, float]:
    """Returns the seconds of the whole sweep with a fleet per setting, and with shared fleets, one after another."""
    like = examples(scale)
    settings = [setting for labels in SHARED.values() for setting in settings_of(labels, scale)]
    single = sum(steps[like[setting.family, len(setting.seeds)]] for setting in settings)
    return single * num_steps / 1000, sum(steps[name] for name in SHARED) * num_steps / 1000


def main(arguments: Sequence[str] | None = None) -> None:
    parser = flags(__doc__)
    parser.add_argument("--child", help="the labels of a fleet as JSON, to train here")
    given = parser.parse_args(arguments)
    scale: Scale = "smoke" if given.small else "quick"
    if given.child:
        fleet_here(json.loads(given.child), given.device, scale)
        return
    seconds, num_turns = (0.01, 1) if given.small else (2.0, 3)
    options = ["--device", given.device, *(["--small"] if given.small else [])]
    groups: dict[str, Sequence[str]] = {**{label: (label,) for label in examples(scale).values()}, **SHARED}
    with fleets_of(groups, options) as processes:
        num_models = {name: process.num_models() for name, process in processes.items()}
        complain("All fleets are compiled.")
        steps = alone(processes, seconds, num_turns)
        in_turns = at_once({name: processes[name] for name in SHARED}, seconds, num_turns)
    shared: dict[str, float] = {}
    if given.device.startswith("cuda"):
        with shared_gpu() as has_service:
            if not has_service:
                complain("This machine has no multi-process service: the last column stays empty.")
            else:
                with fleets_of(SHARED, options) as processes:
                    for process in processes.values():
                        process.num_models()
                    shared = at_once(processes, seconds, num_turns)
    circumstances = circumstances_of(__spec__.name, arguments, given.device, given.commit)
    sheet = Sheet("The sweep of Do & Tran in fleets", circumstances, given.out)
    sheet.begin_table(COLUMNS)
    for name in groups:
        rest = [f"{found[name] / num_models[name]:.3f}" if name in found else "" for found in (in_turns, shared)]
        sheet.add_row(name, str(num_models[name]), f"{steps[name] / num_models[name]:.3f}", *rest)
    num_steps = settings_of((AAE_50,), scale)[0].spec.num_steps
    single, together = seconds_of_sweep(steps, num_steps, scale)
    lines = [
        f"{num_steps:,} steps of all models take {single:.0f} s with a fleet per setting.",
        f"With shared fleets they take {together:.0f} s, one after another: {single / together:.2f} times the speed.",
        f"At once, in turns: {speed(in_turns, steps):.2f} times the speed of one after another.",
    ]
    if shared:
        gain = speed(shared, steps)
        lines.append(
            f"At once, sharing the GPU: {gain:.2f} times the speed of one after another, "
            f"{gain * single / together:.2f} times that of a fleet per setting."
        )
    sheet.add("\n".join(f"- {line}" for line in lines))
    sheet.keep(num_models=num_models, alone=steps, in_turns=in_turns, shared=shared)


if __name__ == "__main__":
    main()
