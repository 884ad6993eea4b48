"""Which specs may share a fleet, and what members of one's own making see in it."""

import importlib
from dataclasses import dataclass, replace
from typing import final

import pytest
import torch

from tests.training.squares import MLP_SPEC, Squares
from tests.training.trained_fleets import seeds_of
from unbraid.models import MLP, Autoencoder
from unbraid.models.distributions import GaussianLatents, GaussianLikelihood
from unbraid.objectives import VAE, BetaTCVAE, Loss, Objective, Step
from unbraid.training.batches import Batches
from unbraid.training.fleet import Fleet
from unbraid.training.optimizers import Adagrad, Adam
from unbraid.training.state import Member, fleet_key

# ---- who may share


@pytest.mark.parametrize(
    "changes",
    [
        {"optimizer": Adam(0.5)},
        {"objective": BetaTCVAE(beta=1.0)},
        {"objective": BetaTCVAE(alpha=2.0, gamma=3.0)},
        {"objective": VAE()},
    ],
    ids=str,
)
def test_floats_may_differ_in_a_fleet(changes):
    assert fleet_key(replace(MLP_SPEC, **changes)) == fleet_key(MLP_SPEC)


@pytest.mark.parametrize(
    "changes",
    [
        {"batch_size": 9},
        {"num_steps": 51},
        {"precision": "float32"},
        {"max_gradient_norm": 1.0},
        {"optimizer": Adam(betas=(0.5, 0.999))},
        {"optimizer": Adam(epsilon=1e-4)},
        {"optimizer": Adagrad(1e-3)},
        {"dataset": Squares(16)},
        {"objective": BetaTCVAE(estimator="mss")},
        {"model": Autoencoder(encoder=MLP(hidden=(13,), decoder_hidden=(12,)), latents=GaussianLatents(3))},
        {"model": replace(MLP_SPEC.model, latents=GaussianLatents(4))},
        {"model": replace(MLP_SPEC.model, likelihood=GaussianLikelihood())},
    ],
    ids=str,
)
def test_all_else_splits_a_fleet(changes):
    assert fleet_key(replace(MLP_SPEC, **changes)) != fleet_key(MLP_SPEC)


@final
@dataclass(frozen=True)
class Steep(Objective):
    """An objective of somebody's own. It is linear in the codes, so its gradient is as large as one likes while the
    loss is finite.
    """

    slope: float = 1.0

    def __call__(self, step: Step) -> Loss:
        total = -step.log_likelihood.mean() + self.slope * step.posterior.mean.sum(dim=1).mean()
        return Loss(total, {"progress": step.progress, "num_images": torch.full_like(total, step.dataset_size)})


def test_classes_of_one_name_from_two_modules_do_not_share(tmp_path, monkeypatch):
    imports = "from dataclasses import dataclass\nfrom typing import final\nfrom unbraid.objectives import Objective"
    code = "@final\n@dataclass(frozen=True)\nclass Steep(Objective):\n    slope: float = 1.0\n"
    (tmp_path / "elsewhere.py").write_text(f"{imports}\n\n{code}\n    def __call__(self, step):\n        return step\n")
    monkeypatch.syspath_prepend(tmp_path)
    namesake = importlib.import_module("elsewhere").Steep
    assert fleet_key(replace(MLP_SPEC, objective=Steep())) != fleet_key(replace(MLP_SPEC, objective=namesake()))


def test_an_objective_of_ones_own_is_swept_too_and_told_how_far_training_is():
    members = [Member(replace(MLP_SPEC, num_steps=5, objective=Steep(slope=slope)), 0) for slope in (1.0, 2.0)]
    assert len({fleet_key(member.spec) for member in members}) == 1
    fleet = Fleet(members, MLP_SPEC.dataset.load())
    losses = [fleet.advance() for _ in range(5)]
    assert [parts["progress"].tolist() for parts in losses] == [[p, p] for p in (0.0, 0.25, 0.5, 0.75, 1.0)]
    assert losses[0]["num_images"].tolist() == [36, 36]
    assert losses[-1]["loss"][0] != losses[-1]["loss"][1]


@final
@dataclass(frozen=True)
class Weighed(Objective):
    """Tells what it was shown."""

    def __call__(self, step: Step) -> Loss:
        return Loss(-step.log_likelihood.mean(), {"probability": step.weights.sum(), "light": step.x.sum()})


def test_weighted_images_are_shown_with_their_probabilities():
    weights = torch.linspace(0, 1, 36) / 18
    images = replace(MLP_SPEC.dataset.load(), weights=weights)
    fleet = Fleet(seeds_of(replace(MLP_SPEC, objective=Weighed()), 4, 5), images)
    batches = Batches(torch.tensor([4, 5]), 36, MLP_SPEC.batch_size, weights)
    for step in range(3):
        shown, rows = fleet.advance(), batches.rows(step)
        torch.testing.assert_close(shown["probability"], weights[rows].double().sum(dim=1))
        torch.testing.assert_close(shown["light"], images.batch(rows).double().sum(dim=(1, 2, 3, 4)))
