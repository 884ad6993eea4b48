"""How long a study of very many runs takes to look at, from the folders and from the index beside them.

    python -m benchmarks.study_index                       100,000 finished runs of 1,000 settings
    python -m benchmarks.study_index --small               600 runs, to see that it runs

The records of finished runs are simulated: spec, end and three scores with their tables, as real runs have them. Then
the commands `study status`, `plan` and `table` are run, imports and all: the first without an index, the others with
one. Beside the time that passed stands what it took of a core, which is less where other processes want the cores too,
and the largest memory.
"""

import hashlib
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.evidence import SMALL_SPRITES, flags
from benchmarks.sheet import Sheet, circumstances_of
from unbraid import MIG, MLP, Autoencoder, BetaVAE, RunSpec
from unbraid._internal import files
from unbraid.metrics import JEMMIG, SAP
from unbraid.models.distributions import GaussianLatents
from unbraid.studies import Setting, Study
from unbraid.training.runs import Run, grid

SPEC = RunSpec(SMALL_SPRITES, Autoencoder(MLP((8,), (8,)), latents=GaussianLatents(4)), BetaVAE(), num_steps=100)
METRICS = ("mig", "jemmig", "sap")


def study_of(num_settings: int, num_seeds: int) -> Study:
    """Returns a study of so many betas and seeds."""
    specs = grid(SPEC, {"objective.beta": [1 + place / 64 for place in range(num_settings)]})
    settings = tuple(Setting(f"beta {spec.objective.beta:g}", spec, tuple(range(num_seeds))) for spec in specs)
    return Study("many", settings, metrics=METRICS)


def simulate(study: Study, folder: Path) -> None:
    """Writes the records of finished runs of the study, without arrays."""
    first = study.settings[0]
    model = Run.place(folder / "model", first.spec, 0)
    from unbraid.models.trained.encode import encode
    from unbraid.training.runs.run_writer import RunWriter

    writer = RunWriter(model)
    writer.begin()
    net = first.spec.model.build(first.spec.dataset.image_shape, 0)
    writer.keep(net, encode(net, first.spec.training_data.load()), 1.0, [model.name])
    writer.conclude()
    model.score([MIG(), JEMMIG(), SAP()], device="cpu", progress=False)
    end, scores, spec = (
        json.loads((model.folder / f"{name}.json").read_bytes()) for name in ("finished", "scores", "spec")
    )

    folder.mkdir(parents=True, exist_ok=True)
    for number, each in enumerate(study.runs(folder)):
        place = folder / each.name
        place.mkdir()
        for score in scores["scores"]:
            score["value"] = (number * 0.6180339) % 1
        (place / "scores.json").write_text(json.dumps({**scores, "sha256": files.seal(scores)}))
        spec |= {"digest": each.setting.spec.digest, "seed": each.seed}
        text = json.dumps({**spec, "sha256": files.seal(spec)})
        (place / "spec.json").write_text(text)
        end["sha256"]["spec.json"] = hashlib.sha256(text.encode()).hexdigest()
        (place / "finished.json").write_text(json.dumps(end))


def timed(what: str, file: Path, folder: Path) -> tuple[float, float, float]:
    """Returns the seconds that a command takes, those of a core, and the gigabytes."""
    command = [sys.executable, "-m", "unbraid", "study", what, str(file), "--out", str(folder)]
    began = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, used = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - began
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{' '.join(command)} left with {process.returncode}.")
    return seconds, used.ru_utime + used.ru_stime, used.ru_maxrss / 1e6


def main() -> None:
    parser = flags(__doc__)
    arguments = parser.parse_args()
    num_settings, num_seeds = (30, 20) if arguments.small else (1000, 100)
    sheet = Sheet(
        f"A study of {num_settings * num_seeds:,} finished runs",
        circumstances_of("benchmarks.study_index", None, "cpu", arguments.commit),
        arguments.out,
    )
    with tempfile.TemporaryDirectory() as temporary:
        folder, file = Path(temporary) / "runs", Path(temporary) / "study.json"
        study = study_of(num_settings, num_seeds)
        study.save(file)
        simulate(study, folder)
        sheet.begin_table(("what", "seconds", "of a core", "GB"))
        commands = {"status, index made anew": "status", "status": "status", "plan": "plan", "table": "table"}
        for title, what in commands.items():
            seconds, of_a_core, memory = timed(what, file, folder)
            sheet.add_row(title, f"{seconds:.1f}", f"{of_a_core:.1f}", f"{memory:.2f}")


if __name__ == "__main__":
    main()
