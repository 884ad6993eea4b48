"""How long a study of very many runs takes to look at, from the folders and from the index beside them.

    python -m benchmarks.study_index                       100,000 finished runs of 1,000 settings
    python -m benchmarks.study_index --small               600 runs, to see that it runs

The records of finished runs are simulated: spec, end and three scores with their tables, as real runs have them. Then
`plan`, which reads what `status` reads, and the table are timed without an index and with one, each in a process of its
own, of which the largest memory is told too.
"""

import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.evidence import SMALL_SPRITES, flags
from unbraid import MIG, MLP, Autoencoder, BetaVAE, RunSpec, files
from unbraid.distributions import GaussianLatents
from unbraid.metrics import JEMMIG, SAP
from unbraid.runs import Run, grid
from unbraid.studies import Setting, Study, collect
from unbraid.studies.plan import plan_study
from unbraid.studies.sheet import Circumstances, Sheet
from unbraid.studies.tables import wide_markdown

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
    from unbraid.runs.run_writer import RunWriter

    writer = RunWriter(model)
    writer.begin()
    net = first.spec.model.build(first.spec.dataset.image_shape, 0)
    writer.keep(net, encode(net, first.spec.training_data.load()), 1.0, [model.name])
    writer.conclude()
    model.score([MIG(), JEMMIG(), SAP()], device="cpu", progress=False)
    names = ("finished.json", "scores.json", "spec.json")
    contents = {name: (model.folder / name).read_bytes() for name in names}
    scores = json.loads(contents["scores.json"])

    def write(name: str, number: int) -> None:
        place = folder / name
        place.mkdir()
        for score in scores["scores"]:
            score["value"] = (number * 0.6180339) % 1
        text = json.dumps({**scores, "sha256": files.seal(scores)})
        (place / "scores.json").write_text(text)
        for other in ("finished.json", "spec.json"):
            (place / other).write_bytes(contents[other])

    folder.mkdir(parents=True, exist_ok=True)
    for number, each in enumerate(study.runs(folder)):
        write(each.run.name, number)


def timed(what: str, folder: Path, num_settings: int, num_seeds: int) -> tuple[float, float]:
    """Returns the seconds and the gigabytes that a process takes for one look, imports and all."""
    command = [sys.executable, "-m", "benchmarks.study_index", "--look", what, str(folder)]
    began = time.perf_counter()
    told = subprocess.run([*command, str(num_settings), str(num_seeds)], check=True, capture_output=True, text=True)
    return time.perf_counter() - began, float(told.stdout.split()[-1])


def look(what: str, folder: Path, num_settings: int, num_seeds: int) -> None:
    """Does what a command does, in this process, and prints the most memory that it took, in GB."""
    study = study_of(num_settings, num_seeds)
    if what == "table":
        wide_markdown(collect(study, folder))
    else:
        plan = plan_study(study, folder)
        assert len(plan.those_that_need("nothing")) == study.num_runs
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6)


def main() -> None:
    parser = flags(__doc__)
    parser.add_argument("--look", nargs=4, help="one look, by the benchmark itself")
    arguments = parser.parse_args()
    if arguments.look:
        what, folder, num_settings, num_seeds = arguments.look
        look(what, Path(folder), int(num_settings), int(num_seeds))
        return
    num_settings, num_seeds = (30, 20) if arguments.small else (1000, 100)
    sheet = Sheet(
        f"A study of {num_settings * num_seeds:,} finished runs",
        Circumstances.of("benchmarks.study_index", None, "cpu", arguments.commit),
        arguments.out,
    )
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary) / "runs"
        simulate(study_of(num_settings, num_seeds), folder)
        sheet.begin_table(("what", "seconds", "GB"))
        for what, title in (
            ("plan", "plan and status, index made anew"),
            ("plan", "plan and status"),
            ("table", "table"),
        ):
            seconds, memory = timed(what, folder, num_settings, num_seeds)
            sheet.add_row(title, f"{seconds:.1f}", f"{memory:.2f}")


if __name__ == "__main__":
    main()
