"""What holds for every objective, and what the base class does for them."""

import math
from dataclasses import dataclass, replace
from typing import Literal

import pytest
import torch
from torch.func import grad, vmap

from tests.objectives.steps import a_step
from unbraid.distributions import DiagonalGaussian
from unbraid.errors import SpecError
from unbraid.objectives import Loss, Objective
from unbraid.objectives.objective import check_weights
from unbraid.runs.recipes import choices

EVERY = list(choices(Objective).values())
every_objective = pytest.mark.parametrize("cls", EVERY, ids=lambda cls: cls.__name__)


@dataclass(frozen=True)
class Toy(Objective):
    """gamma times the mean of z, for trying the base class."""

    gamma: float = 2.0
    delta: "float" = 0.5
    power: int = 3
    mode: Literal["a", "b"] = "a"
    flag: bool = False
    limit: float | None = None

    def __post_init__(self):
        check_weights(self)

    def __call__(self, step):
        total = self.gamma * step.z.mean() + self.delta
        return Loss(total=total, parts={"mean": step.z.mean()})


# The base class


def test_hyperparameters_are_the_float_fields_alone():
    assert Toy(gamma=4.0).hyperparameters == {"gamma": 4.0, "delta": 0.5}
    assert all(type(value) is float for value in Toy(gamma=4.0).hyperparameters.values())


def test_an_objective_without_kin_is_its_own_general_form():
    toy = Toy()
    assert toy.general() is toy


def test_binding_makes_a_copy():
    toy = Toy()
    bound = toy.bind({"gamma": torch.tensor(5.0)})
    assert toy.gamma == 2.0
    assert bound.gamma == torch.tensor(5.0)
    assert (bound.delta, bound.power) == (0.5, 3)


@pytest.mark.parametrize("value", [-1.0, -1e-300, math.nan, math.inf])
@pytest.mark.parametrize("name", ["gamma", "delta"])
def test_a_weight_that_is_negative_or_not_finite_is_refused_by_name(name, value):
    with pytest.raises(SpecError, match=f"Toy: {name} is {value}; expected a finite weight of 0 or more"):
        Toy(**{name: value})


def test_a_weight_of_zero_is_allowed():
    assert Toy(gamma=0.0).gamma == 0.0


# Every objective


@every_objective
def test_general_is_the_same_loss(cls):
    objective, step = cls(), a_step()
    special, general = objective(step), objective.general()(step)
    assert torch.equal(special.total, general.total)
    assert special.parts.keys() == general.parts.keys()
    for name, part in special.parts.items():
        assert torch.equal(part, general.parts[name])


@every_objective
def test_loss_and_parts_are_single_finite_numbers(cls):
    loss = cls()(a_step())
    for value in (loss.total, *loss.parts.values()):
        assert value.shape == ()
        assert bool(value.isfinite())


@every_objective
def test_members_of_a_fleet_have_weights_of_their_own(cls):
    """Under vmap, each member's bound hyperparameters give the loss that Python's numbers give."""
    general, step = cls().general(), a_step()
    names = list(general.hyperparameters)
    members = torch.tensor([[0.5, 1.0, 6.0, 0.0][: len(names)], [2.0, 0.0, 1.0, 3.0][: len(names)]], dtype=torch.float64)

    def total(hyperparameters):
        return general.bind(hyperparameters)(step).total

    together = vmap(total)({name: members[:, k] for k, name in enumerate(names)})
    for member, values in enumerate(members.tolist()):
        alone = type(general)(**dict(zip(names, values, strict=True)))(step).total
        torch.testing.assert_close(together[member], alone)


@every_objective
def test_its_gradient_lives_under_vmap(cls):
    objective, step = cls().general(), a_step()
    generator = torch.Generator().manual_seed(1)
    locs, log_vars, noise = (torch.randn(2, *step.z.shape, dtype=torch.float64, generator=generator) for _ in range(3))

    def total(loc, log_var, noise):
        posterior = DiagonalGaussian(loc, log_var)
        return objective(replace(step, posterior=posterior, z=posterior.rsample(noise))).total

    together = vmap(grad(total, argnums=(0, 1)))(locs, log_vars, noise)
    for member in range(2):
        alone = grad(total, argnums=(0, 1))(locs[member], log_vars[member], noise[member])
        torch.testing.assert_close(tuple(g[member] for g in together), alone)


@every_objective
def test_float32_agrees_with_float64(cls):
    double, single = cls()(a_step(batch=32, latents=6)), cls()(_as_float32(a_step(batch=32, latents=6)))
    assert single.total.dtype == torch.float32
    for name, part in double.parts.items():
        # Sums of 6 log densities of size 10, minus such sums.
        torch.testing.assert_close(single.parts[name].double(), part, atol=1e-4, rtol=0)


@every_objective
def test_the_order_of_latents_does_not_matter(cls):
    step = a_step()
    order = torch.tensor([2, 0, 1])
    posterior = DiagonalGaussian(step.posterior.loc[:, order], step.posterior.log_var[:, order])
    torch.testing.assert_close(cls()(replace(step, posterior=posterior, z=step.z[:, order])).total, cls()(step).total)


def _as_float32(step):
    return replace(
        step,
        posterior=DiagonalGaussian(step.posterior.loc.float(), step.posterior.log_var.float()),
        x=step.x.float(),
        z=step.z.float(),
        log_likelihood=step.log_likelihood.float(),
        progress=step.progress.float(),
    )
