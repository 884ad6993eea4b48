"""What holds for every objective, and what the base class does for them."""

import math
from dataclasses import dataclass, fields, replace
from typing import Literal

import pytest
import torch
from torch.func import grad, vmap

from tests.objectives.steps import a_step, step_for
from tests.training.squares import MLP_SPEC
from unbraid.config.annotations import choices, hints_of
from unbraid.config.schedule import Linear, Weight
from unbraid.errors import SpecError
from unbraid.models.distributions import DiagonalGaussian
from unbraid.objectives import DIPVAE, AnchorVAE, BetaTCVAE, BetaVAE, FactorVAE, Loss, Objective
from unbraid.objectives.objective import check_weights
from unbraid.training import Fleet, Member

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
    assert toy.general_form() is toy


def test_binding_makes_a_copy():
    toy = Toy()
    bound = toy.bind({"gamma": torch.tensor(5.0)})
    assert toy.gamma == 2.0
    assert bound.gamma == torch.tensor(5.0)
    assert (bound.delta, bound.power) == (0.5, 3)


def test_only_hyperparameters_are_bound():
    for name in ("nonsense", "power"):
        with pytest.raises(SpecError, match=name):
            Toy().bind({name: 1.0})


def test_a_bound_hyperparameter_has_a_gradient_at_every_moment():
    gamma = torch.tensor(5.0, requires_grad=True)
    bound = Toy().bind({"gamma": gamma})
    assert bound.at(torch.tensor(0.5)).gamma is gamma
    scheduled = replace(Toy(delta=Linear(0.0, 4.0)).bind({"gamma": gamma})).at(torch.tensor(0.5))
    assert (scheduled.gamma is gamma, scheduled.delta) == (True, 2.0)


@pytest.mark.parametrize("value", [-1.0, -1e-300, math.nan, math.inf])
@pytest.mark.parametrize("name", ["gamma", "delta"])
def test_a_weight_that_is_negative_or_not_finite_is_refused_by_name(name, value):
    with pytest.raises(SpecError, match=f"Toy: {name} is {value}"):
        Toy(**{name: value})


def test_a_weight_of_zero_is_allowed():
    assert Toy(gamma=0.0).gamma == 0.0


# Every objective


def halfway(objective):
    """The objective as it is in the middle of training: a number where there was a schedule."""
    return objective.at(torch.tensor(0.5, dtype=torch.float64))


@every_objective
def test_general_is_the_same_loss(cls):
    objective = cls()
    step = step_for(objective)
    special, general = halfway(objective)(step), halfway(objective.general_form())(step)
    assert torch.equal(special.total, general.total)
    assert special.parts.keys() == general.parts.keys()
    for name, part in special.parts.items():
        assert torch.equal(part, general.parts[name])


@every_objective
def test_loss_and_parts_are_single_finite_numbers(cls):
    loss = halfway(cls())(step_for(cls()))
    for value in (loss.total, *loss.parts.values(), *filter(lambda critic: critic is not None, [loss.critic])):
        assert value.shape == ()
        assert bool(value.isfinite())


@every_objective
def test_it_has_a_critic_if_and_only_if_it_says_so(cls):
    assert (halfway(cls())(step_for(cls())).critic is not None) == (cls().critic_reads is not None)


@every_objective
def test_it_hands_back_the_state_that_it_asked_for(cls):
    step = step_for(cls())
    state = halfway(cls())(step).state
    assert {name: value.shape for name, value in state.items()} == {
        name: value.shape for name, value in step.state.items()
    }


@every_objective
def test_members_of_a_fleet_have_weights_of_their_own(cls):
    """Under vmap, each member's bound hyperparameters give the loss that they give by themselves."""
    general = cls().general_form()
    step, names = step_for(general), list(general.hyperparameters)
    members = torch.tensor([[0.5, 1.0, 6.0, 0.0, 2.5] * 3, [2.0, 0.0, 1.0, 3.0, 0.7] * 3], dtype=torch.float64)[
        :, : len(names)
    ]

    def total(hyperparameters):
        return general.bind(hyperparameters)(step).total

    if names:
        together = vmap(total)({name: members[:, k] for k, name in enumerate(names)})
        for member, values in enumerate(members):
            torch.testing.assert_close(together[member], total(dict(zip(names, values, strict=True))))


@every_objective
def test_its_gradient_lives_under_vmap(cls):
    objective = halfway(cls().general_form())
    step = step_for(objective)
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
    objective = cls().general_form()
    at = {dtype: objective.at(torch.tensor(0.5, dtype=dtype)) for dtype in (torch.float32, torch.float64)}
    double, single = (
        at[dtype](step_for(objective, dtype, batch=32, latents=6)) for dtype in (torch.float64, torch.float32)
    )
    assert single.total.dtype == torch.float32
    for name, part in double.parts.items():
        # Sums of 6 log densities of size 10, minus such sums.
        torch.testing.assert_close(single.parts[name].double(), part, atol=1e-4, rtol=0)


@every_objective
def test_the_order_of_latents_does_not_matter(cls):
    objective = halfway(cls())
    step, order = step_for(objective), torch.tensor([2, 0, 1])
    turned = replace(
        step,
        posterior=DiagonalGaussian(step.posterior.loc[:, order], step.posterior.log_var[:, order]),
        z=step.z[:, order],
        draws={name: draw[:, order] if draw.shape == step.z.shape else draw for name, draw in step.draws.items()},
    )
    torch.testing.assert_close(renamed(objective, order.tolist())(turned).total, objective(step).total)


def renamed(objective, order):
    """The objective with the latents that it names, if any, where they are after the turn."""
    if not isinstance(objective, AnchorVAE):
        return objective
    return replace(objective, anchors=tuple(order.index(latent) for latent in objective.anchors))


@every_objective
def test_every_number_may_follow_a_schedule(cls):
    """A schedule that ends at the number is, at the end, the number; and the general form follows the same schedule."""
    end, halfway_there = (torch.tensor(progress, dtype=torch.float64) for progress in (1.0, 0.5))
    plain = cls().at(end)
    scheduled = replace(plain, **{name: Linear(value * 0.75, value) for name, value in plain.hyperparameters.items()})
    step = step_for(plain)
    assert torch.equal(scheduled.at(end)(step).total, plain(step).total)
    numbers = {name: value * 0.875 for name, value in plain.hyperparameters.items()}
    torch.testing.assert_close(scheduled.at(halfway_there)(step).total, replace(plain, **numbers)(step).total)
    torch.testing.assert_close(
        scheduled.general_form().at(halfway_there)(step).total, scheduled.at(halfway_there)(step).total
    )


@every_objective
def test_a_schedule_needs_a_moment(cls):
    plain = halfway(cls())
    for name, value in plain.hyperparameters.items():
        if value and (cls, name) != (DIPVAE, "decay"):  # the covariance of a batch has no past that could fade
            with pytest.raises(SpecError, match="objective.at"):
                replace(plain, **{name: Linear(value * 0.75, value)})(step_for(plain))


def test_a_schedule_without_a_moment_is_told_what_it_lacks():
    with pytest.raises(SpecError, match="objective.at"):
        Toy(gamma=Linear(0.0, 1.0))(a_step())


@every_objective
def test_no_value_without_a_name_could_be_either_of_two_weights(cls):
    by_place = [field.name for field in fields(cls) if not field.kw_only]
    assert len([name for name in by_place if hints_of(cls)[name] in (Weight, Weight | None)]) <= 1


def test_a_weight_without_a_name_is_refused_with_what_to_write():
    with pytest.raises(SpecError, match=r"most 0\. .*beta=\.\.\."):
        BetaTCVAE(4.0)
    with pytest.raises(SpecError, match=r"1\. .* off_diagonal=\.\.\."):
        DIPVAE("i", 10.0)
    with pytest.raises(SpecError, match=r"2 .* same_batch=\.\.\.\.$"):
        FactorVAE(35.0, True)
    with pytest.raises(SpecError, match=r"alpha=\.\.\., beta=\.\.\., gamma"):
        BetaTCVAE("heavy")


# ---- subclasses, and objectives that are built on others


@dataclass(frozen=True, kw_only=True)
class Penalized(BetaTCVAE):
    l1: float = 0.1

    def __call__(self, step):
        loss, penalty = super().__call__(step), step.posterior.mean.abs().mean()
        return replace(loss, total=loss.total + self.l1 * penalty, parts=loss.parts | {"l1": penalty})


@dataclass(frozen=True)
class Doubled(Objective):
    beta: float = 2.0

    def __call__(self, step):
        return BetaVAE(beta=self.beta * 2)(step)


@dataclass(frozen=True, kw_only=True)
class PenalizedWithParts(Penalized):
    def general_form(self):
        return replace(super().general_form(), mutual_information=0.5)


def trained(*objectives):
    members = [Member(replace(MLP_SPEC, objective=objective), 0) for objective in objectives]
    fleet = Fleet(members, MLP_SPEC.training_data.load())
    losses = [fleet.advance() for _ in range(5)][-1]
    return fleet.weights, losses


def test_a_subclass_of_a_built_in_is_trained_as_it_is_written():
    weights, losses = trained(Penalized(beta=2.0, l1=0.0), Penalized(beta=2.0, l1=5.0), Penalized(beta=6.0, l1=5.0))
    plain, _ = trained(BetaTCVAE(beta=2.0))
    assert "l1" in losses
    torch.testing.assert_close(weights[0], plain[0])
    assert not torch.allclose(weights[1], plain[0])
    assert not torch.allclose(weights[1], weights[2])


def test_a_subclass_of_a_subclass_keeps_its_call():
    weights, losses = trained(PenalizedWithParts(l1=0.0), PenalizedWithParts(l1=5.0))
    assert "l1" in losses
    assert not torch.allclose(weights[0], weights[1])


def test_a_built_in_takes_the_numbers_of_a_fleet():
    weights, _ = trained(Doubled(1.0), Doubled(3.0))
    plain, _ = trained(BetaVAE(2.0), BetaVAE(6.0))
    torch.testing.assert_close(weights, plain)


@every_objective
def test_every_built_in_takes_the_numbers_of_a_fleet(cls):
    halves = torch.tensor([0.5, 0.25])
    for name in cls().hyperparameters:
        found = vmap(lambda value, name=name: getattr(cls(**{name: 2 * value}), name))(halves)
        assert found.tolist() == [1.0, 0.5]


def test_a_spec_takes_no_tensor():
    with pytest.raises(SpecError, match="numbers or schedules"):
        replace(MLP_SPEC, objective=BetaVAE(torch.tensor(4.0)))
