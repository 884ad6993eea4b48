"""What a prompt shows of a large object fits on a screen."""

import numpy as np
import pytest
import torch

from unbraid import Codes, DSprites, FromArrays, RunSpec, evaluate
from unbraid._internal.table import Table
from unbraid.diagnose import Diagnosis
from unbraid.diagnose.diagnosis import Finding
from unbraid.figures import SideBySide, Traversal
from unbraid.figures.traversal import Strip
from unbraid.metrics import Score
from unbraid.metrics.scorecard import Scorecard
from unbraid.models import Autoencoder, Conv
from unbraid.objectives import BetaVAE
from unbraid.studies import Setting, Study
from unbraid.training import Event, TrainingOptions
from unbraid.training.runs import History

MOST = 2000
RNG = np.random.default_rng(0)
FACTORS = {f"factor_{number}": RNG.integers(0, 3, 200) for number in range(25)}
MEAN = RNG.normal(size=(200, 40))
CODES = Codes.from_arrays(MEAN, 0.1 + 0 * MEAN, factors=FACTORS)
SPECS = {f"beta {beta}": RunSpec(DSprites(), objective=BetaVAE(float(beta))) for beta in range(1, 40)}
TRAVERSAL = Traversal(tuple(Strip(f"z{k}", k, 0, (0.0,) * 9, False, torch.zeros(9, 4, 4)) for k in range(40)))


def large_history():
    history = History()
    for step in range(1, 500):
        history.append(step, {f"information_z{latent}": 0.5 for latent in range(20)})
    return history


LARGE = {
    "codes": lambda: CODES,
    "discrete codes": lambda: Codes.from_arrays(probabilities=[np.full((200, 9), 1 / 9)] * 30),
    "labels": lambda: CODES.factors[0],
    "scorecard": lambda: evaluate(CODES, metrics=["correlations", "rmig", "sap", "irs"], progress=False),
    "long scorecard": lambda: Scorecard(
        tuple(f"mig:{number}" for number in range(60)), (Score("MIG", 0.5),) * 60, {}, 10, 2
    ),
    "score": lambda: evaluate(CODES, metrics="rmig", progress=False)["rmig"],
    "images": lambda: FromArrays.from_arrays(RNG.random((200, 32, 32)), FACTORS).open(),
    "dataset": lambda: FromArrays.from_arrays(RNG.random((200, 32, 32)), FACTORS),
    "study": lambda: Study("all", tuple(Setting(label, spec, tuple(range(50))) for label, spec in SPECS.items())),
    "spec": lambda: SPECS["beta 1"],
    "model": lambda: Autoencoder(Conv()).build((1, 64, 64), 0),
    "table": lambda: Table(("a", "b"), tuple((number, "x" * 50) for number in range(1000))),
    "wide table": lambda: Table(tuple(f"column {number}" for number in range(1000)), ((0,) * 1000,)),
    "history": large_history,
    "traversal": lambda: TRAVERSAL,
    "side by side": lambda: SideBySide({f"model {number}": TRAVERSAL for number in range(9)}),
    "options": lambda: TrainingOptions(snapshots=range(1, 2000)),
    "event": lambda: Event("training", 1, 9, "steps", runs=("run",) * 99, values={"loss": [0.1] * 99}),
    "diagnosis": lambda: Diagnosis("a run", tuple(Finding(f"check {k}", "fine", "words " * 99) for k in range(40))),
}


@pytest.mark.parametrize("name", LARGE)
def test_the_repr_of_a_large_object_is_short(name):
    large = LARGE[name]()
    assert 0 < len(repr(large).encode()) <= MOST


def test_it_has_shapes_and_counts():
    assert "mean=Tensor(shape=(200, 40), dtype=torch.float64)" in repr(CODES)
    assert "... 21 more" in repr(CODES)
    assert repr(TrainingOptions(snapshots=[1, 2])).startswith("TrainingOptions(workers='auto',")
    assert "snapshots=(1, 2)" in repr(TrainingOptions(snapshots=[1, 2]))
