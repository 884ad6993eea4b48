"""Is a model the same alone and in company? One member trained in fleets of other sizes, orders and splits, and twice
in the same.

    python -m benchmarks.determinism --out benchmarks/results/determinism_h200
    python -m benchmarks.determinism --precisions float32 --steps 100    one precision, fewer steps
    python -m benchmarks.determinism --small                             small nets, few steps, to see that it runs

The member is seed 0 of a fleet of four. It is trained again alone; in a fleet of the same four in another order; and in
one that is split in two halfway, by its state. Printed is the largest difference of any weight, and of the loss, after
some steps. Beside it stands how far the weights have come from where they began (the largest change), and how far
another seed's lie from them (the median difference), so that one can tell little from much.
"""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import final

import torch
from torch import Tensor

from benchmarks.evidence import SMALL_SPRITES, flags
from benchmarks.sheet import Sheet, circumstances_of
from unbraid import Autoencoder, BetaTCVAE, Conv, DSprites, RunSpec
from unbraid._internal.precision import Precision
from unbraid.datasets.dataset import FactorImages
from unbraid.objectives import FactorVAE, Objective
from unbraid.training import Fleet, Member
from unbraid.training.compilation import CompileCache

PRECISIONS: tuple[Precision, ...] = ("float32", "tf32", "bf16", "float64")
OBJECTIVES: dict[str, Objective] = {"beta-TCVAE": BetaTCVAE(beta=6.0), "FactorVAE": FactorVAE(gamma=35.0)}
NUM_MEMBERS = 4
COLUMNS = (
    "objective",
    "precision",
    "steps",
    "compared",
    "weights differ by",
    "losses differ by",
    "bit-identical",
    "came from the start by",
    "from another seed",
)


@final
@dataclass(frozen=True)
class Trained:
    """A member after some steps: its weights, and its loss in the step after them."""

    weights: Tensor
    loss: float


@final
@dataclass(frozen=True)
class Difference:
    """Between one member trained in two ways."""

    objective: str
    precision: str
    num_steps: int
    compared: str
    weights: float
    loss: float
    is_identical: bool
    from_start: float
    from_other_seed: float


def spec_of(objective: str, precision: Precision, num_steps: int, *, small: bool) -> RunSpec:
    dataset = SMALL_SPRITES if small else DSprites()
    net = Conv(channels=(4, 4), hidden=8) if small else Conv()
    return RunSpec(
        dataset, Autoencoder(net), OBJECTIVES[objective], num_steps=num_steps + 1, batch_size=64, precision=precision
    )


@final
class Ways:
    """The ways in which member 0 is trained. All fleets of one size are compiled once."""

    def __init__(self, spec: RunSpec, images: FactorImages) -> None:
        self.precision = spec.precision
        self._spec, self._images, self._cache = spec, images, CompileCache()

    def fleet(self, seeds: Sequence[int]) -> Fleet:
        fleet = Fleet([Member(self._spec, seed) for seed in seeds], self._images, cache=self._cache)
        fleet.prepare()
        return fleet

    def in_fleet(self, seeds: Sequence[int], num_steps: int, of: int = 0) -> Trained:
        """The member with seed `of`, trained in this company."""
        return _finished(self.fleet(seeds), num_steps, seeds.index(of))

    def split(self, num_steps: int) -> Trained:
        """In the fleet of all, then from halfway on with one other."""
        together = self.fleet(range(NUM_MEMBERS))
        _advance(together, num_steps // 2)
        two = self.fleet((0, 1))
        two.restore([together.state(0), together.state(1)])
        return _finished(two, num_steps, 0)

    def compared(self, num_steps: int) -> dict[str, tuple[Trained, Trained]]:
        """By what is compared: member 0 in the fleet of four, and otherwise."""
        four = self.in_fleet(range(NUM_MEMBERS), num_steps)
        ways: dict[str, Callable[[], Trained]] = {
            "the same fleet again": lambda: self.in_fleet(range(NUM_MEMBERS), num_steps),
            "another order": lambda: self.in_fleet((3, 1, 0, 2), num_steps),
            "split halfway": lambda: self.split(num_steps),
            "alone": lambda: self.in_fleet((0,), num_steps),
        }
        return {name: (four, train()) for name, train in ways.items()}


def _advance(fleet: Fleet, num_steps: int) -> None:
    while fleet.step < num_steps:
        fleet.advance(log=False)


def _finished(fleet: Fleet, num_steps: int, index: int) -> Trained:
    _advance(fleet, num_steps)
    weights = fleet.weights[index].double().cpu()
    return Trained(weights, float(fleet.advance()["loss"][index]))


def differences(objective: str, ways: Ways, num_steps: int) -> list[Difference]:
    start = ways.fleet(range(NUM_MEMBERS)).weights[0].double().cpu()
    other = ways.in_fleet(range(NUM_MEMBERS), num_steps, of=1).weights
    return [
        Difference(
            objective=objective,
            precision=ways.precision,
            num_steps=num_steps,
            compared=name,
            weights=float((one.weights - another.weights).abs().max()),
            loss=abs(one.loss - another.loss),
            is_identical=torch.equal(one.weights, another.weights),
            from_start=float((one.weights - start).abs().max()),
            from_other_seed=float((one.weights - other).abs().median()),
        )
        for name, (one, another) in ways.compared(num_steps).items()
    ]


def line(found: Difference) -> tuple[object, ...]:
    return (
        found.objective,
        found.precision,
        f"{found.num_steps:,}",
        found.compared,
        f"{found.weights:.1e}",
        f"{found.loss:.1e}",
        "yes" if found.is_identical else "no",
        f"{found.from_start:.2g}",
        f"{found.from_other_seed:.2g}",
    )


def main(arguments: Sequence[str] | None = None) -> None:
    parser = flags(__doc__)
    parser.add_argument("--objectives", nargs="+", choices=OBJECTIVES, default=["beta-TCVAE"])
    parser.add_argument("--precisions", nargs="+", choices=PRECISIONS, default=PRECISIONS[:3])
    parser.add_argument("--steps", nargs="+", type=int, default=[], help="100 and 1000 unless given")
    given = parser.parse_args(arguments)
    title = "One member in several fleets"
    sheet = Sheet(title, circumstances_of(__spec__.name, arguments, given.device, given.commit), given.out)
    numbers = given.steps or ([4] if given.small else [100, 1000])
    images = spec_of("beta-TCVAE", "float32", 1, small=given.small).training_data.load(given.device)
    sheet.begin_table(COLUMNS)
    found: list[Difference] = []
    for objective in given.objectives:
        for precision in given.precisions:
            ways = Ways(spec_of(objective, precision, max(numbers), small=given.small), images)
            for num_steps in numbers:
                for each in differences(objective, ways, num_steps):
                    found.append(each)
                    sheet.add_row(*line(each))
                    sheet.keep(differences=[asdict(one) for one in found])


if __name__ == "__main__":
    main()
