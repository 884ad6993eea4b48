"""FactorVAE and beta-VAE with Do & Tran's nets on dSprites: RMIG and JEMMIG beside the numbers that they print.

    python -m benchmarks.conv_table --folder runs --out benchmarks/results/conv_table_h200
    python -m benchmarks.conv_table --steps 20000   as many steps as that, not as many as fit into the time
    python -m benchmarks.conv_table --small         a few small models, to see that it runs

FactorVAE with gamma 10, 20, 50, 100 and beta-VAE with beta 1, 4, 10, 20, 50, four seeds each: the sweep of Do & Tran,
arXiv:1908.09961v4, section 4. Nets (table 4), batch size and the model's optimizer are their code's for dSprites,
and so are the initial weights of encoder and decoder and the bins of both scores: 100, filled with the density at their
centers. The critic is our default: its Adam has a beta2 of 0.9 where their code has 0.99, and its initial weights are
torch's. The two families are two fleets, trained for as many steps each; how many fit is found by timing fleets that
are thrown away.
"""

import statistics
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import final, get_args

from benchmarks.evidence import SMALL_SPRITES, flags, now
from benchmarks.sheet import Sheet, circumstances_of, table
from unbraid import Autoencoder, BetaVAE, Conv, DSprites, RunSpec
from unbraid._internal.precision import Precision
from unbraid.datasets.dataset import FactorImages
from unbraid.metrics import JEMMIG, RMIG, Metric
from unbraid.metrics.estimators import Quantized
from unbraid.models.layers.initial_weights import InitialWeights
from unbraid.objectives import FactorVAE, Objective
from unbraid.training import Fleet, Member, train
from unbraid.training.optimizers import Adam
from unbraid.training.runs.run import Run

FACTORS = ("shape", "scale", "orientation", "position_x", "position_y")
METRICS: tuple[Metric, ...] = (RMIG(Quantized(masses="rectangle")), JEMMIG(Quantized(masses="rectangle")))
PRINTED: Mapping[str, Mapping[str, tuple[float, ...]]] = {
    "RMIG": {"FactorVAE": (0.2412, 0.7139, 0.0523, 0.7198, 0.7256), "β-VAE": (0.0481, 0.1533, 0.0000, 0.4127, 0.4193)},
    "JEMMIG": {
        "FactorVAE": (0.6841, 0.3422, 0.7204, 0.2908, 0.2727),
        "β-VAE": (0.8642, 0.8087, 0.9199, 0.5629, 0.5576),
    },
}
"""Tables 8 and 9 of arXiv:1908.09961v4, normalized scores by factor, of one model each; which gamma and which beta they
had is not said there.
"""
TABLES = {"RMIG": "table 8", "JEMMIG": "table 9"}
DIRECTIONS = {"RMIG": "higher is better", "JEMMIG": "lower is better"}
THEIR_EPOCHS, THEIR_EPOCHS_IN_CODE = 300, 100
NUM_TIMED_STEPS = 200


@final
@dataclass(frozen=True)
class Family:
    """Settings that can share a fleet, by name."""

    name: str
    objectives: Mapping[str, Objective]


FAMILIES = (
    Family("FactorVAE", {f"FactorVAE, γ = {gamma}": FactorVAE(gamma=float(gamma)) for gamma in (10, 20, 50, 100)}),
    Family("β-VAE", {f"β-VAE, β = {beta}": BetaVAE(beta=float(beta)) for beta in (1, 4, 10, 20, 50)}),
)


def base_spec(precision: Precision, learning_rate: float, init: InitialWeights, *, small: bool = False) -> RunSpec:
    """All but the objective and the number of steps."""
    dataset = SMALL_SPRITES if small else DSprites()
    net = Conv(channels=(4, 4), hidden=8, init=init) if small else Conv(init=init)
    return RunSpec(dataset, Autoencoder(net), optimizer=Adam(learning_rate, betas=(0.9, 0.99)), precision=precision)


def seconds_a_step(family: Family, spec: RunSpec, seeds: Sequence[int], images: FactorImages, num_steps: int) -> float:
    """Of the whole fleet, once it is compiled."""
    members = [
        Member(replace(spec, objective=objective), seed) for objective in family.objectives.values() for seed in seeds
    ]
    fleet, device = Fleet(members, images), str(images.device)
    fleet.prepare()
    fleet.advance(log=False)
    began = now(device)
    for _ in range(num_steps):
        fleet.advance(log=False)
    return (now(device) - began) / num_steps


def steps_that_fit(seconds: float, of_steps: Sequence[float]) -> int:
    """How many steps of every family take these seconds together."""
    return max(2, int(seconds / sum(of_steps)))


def trained(family: Family, spec: RunSpec, seeds: Sequence[int], folder: Path, device: str) -> dict[str, list[Run]]:
    of = {name: replace(spec, objective=objective) for name, objective in family.objectives.items()}
    runs = train(list(of.values()), seeds, folder=folder, device=device, resume=True)
    return {name: [run for run in runs if run.spec == each and run.status == "finished"] for name, each in of.items()}


Scores = dict[str, dict[str, list[dict[str, float]]]]
"""By metric and setting: for every seed, the score of each factor and their mean."""


def scored(runs: Mapping[str, Sequence[Run]], device: str) -> Scores:
    scores: Scores = {name: {} for name in PRINTED}
    for setting, group in runs.items():
        for run in group:
            for score in run.score(METRICS, progress=False, device=device).scores:
                scores[score.metric].setdefault(setting, []).append({**score.per_factor, "mean": score.value})
    return scores


def score_table(metric: str, scores: Scores) -> str:
    """Our settings, each over its seeds, and then what is printed in the paper."""
    ours = [
        (setting, *(_cell([each[factor] for each in of]) for factor in (*FACTORS, "mean")))
        for setting, of in scores[metric].items()
    ]
    theirs = [
        (f"{name}, {TABLES[metric]}", *(f"{value:.3f}" for value in (*printed, statistics.mean(printed))))
        for name, printed in PRINTED[metric].items()
    ]
    return table((f"{metric} ({DIRECTIONS[metric]})", *FACTORS, "mean"), [*ours, *theirs])


def honest_sentence(spec: RunSpec) -> str:
    """How much less was trained than in the paper."""
    a_paper_epoch = DSprites().num_images // 64
    theirs, in_code = THEIR_EPOCHS * a_paper_epoch, THEIR_EPOCHS_IN_CODE * a_paper_epoch
    epochs = spec.num_steps * spec.batch_size / spec.dataset.num_images
    return (
        f"Ours were trained for {spec.num_steps:,} steps of {spec.batch_size} images, {epochs:.2g} epochs. Do & "
        f"Tran's text says {THEIR_EPOCHS} epochs "
        f"({theirs:,} steps) and their code {THEIR_EPOCHS_IN_CODE} ({in_code:,} steps): "
        f"{theirs / spec.num_steps:,.0f} and "
        f"{in_code / spec.num_steps:,.0f} times as many. They print one model of each kind, without its γ or β. So "
        "the tables say whether the order is the "
        "same; they do not reproduce the numbers."
    )


def _cell(values: Sequence[float]) -> str:
    return f"{statistics.mean(values):.3f}" + (f" ± {statistics.stdev(values):.3f}" if len(values) > 1 else "")


def main(arguments: Sequence[str] | None = None) -> None:
    parser = flags(__doc__)
    parser.add_argument(
        "--folder", type=Path, help="keep the runs there, and go on with those that are there (else they are not kept)"
    )
    parser.add_argument("--precision", choices=get_args(Precision), default="bf16")
    parser.add_argument("--seconds", type=float, default=480.0, help="how long both families are trained together")
    parser.add_argument("--steps", type=int, help="how many steps, whatever they take")
    parser.add_argument("--seeds", type=int, default=4)
    parser.add_argument(
        "--learning-rate",
        type=float,
        default=1e-4,
        help="that of the authors' code for dSprites; their text says 0.001",
    )
    parser.add_argument("--init", choices=get_args(InitialWeights), default="truncated_normal", help="initial weights")
    given = parser.parse_args(arguments)
    sheet = Sheet(
        "FactorVAE and β-VAE beside Do & Tran's tables 8 and 9",
        circumstances_of(__spec__.name, arguments, given.device, given.commit),
        given.out,
    )
    seeds = range(given.seeds)
    spec = base_spec(given.precision, given.learning_rate, given.init, small=given.small)
    num_steps = given.steps
    if num_steps is None:
        images = spec.training_data.load(given.device)
        timed = [
            seconds_a_step(family, spec, seeds, images, 2 if given.small else NUM_TIMED_STEPS) for family in FAMILIES
        ]
        num_steps = steps_that_fit(given.seconds, timed)
        sheet.keep(seconds_a_step=dict(zip((family.name for family in FAMILIES), timed, strict=True)))
    spec = replace(spec, num_steps=num_steps)
    sheet.add(honest_sentence(spec))
    scores: Scores = {name: {} for name in PRINTED}
    seconds: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as scratch:
        for family in FAMILIES:
            began = time.perf_counter()
            runs = trained(family, spec, seeds, given.folder or Path(scratch), given.device)
            seconds[family.name] = time.perf_counter() - began
            for metric, of in scored(runs, given.device).items():
                scores[metric] |= of
            sheet.keep(num_steps=num_steps, seconds=seconds, scores=scores)
    sheet.add(
        f"Means over {given.seeds} seeds ± the standard deviation between them; 100 bins from −4 to 4; precision "
        f"{spec.precision}."
    )
    for metric in PRINTED:
        sheet.add(score_table(metric, scores))
    sheet.add(
        "; ".join(f"{name}: {taken:.0f} s" for name, taken in seconds.items())
        + " with compiling, encoding and writing the runs, without scoring."
    )


if __name__ == "__main__":
    main()
