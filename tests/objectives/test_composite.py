"""The composite: every term with a weight. Each named objective is a case of it, to the bit."""

import math
from dataclasses import replace

import pytest
import torch

from tests.objectives.steps import a_mixed_step, a_step, five_weights, step_for
from tests.training.squares import MLP_SPEC, Squares
from unbraid.config import from_json, to_json
from unbraid.config.schedule import Linear
from unbraid.errors import SpecError
from unbraid.models import Autoencoder
from unbraid.models.distributions import ConcreteLatents, GaussianLatents
from unbraid.objectives import (
    DIPVAE,
    HFVAE,
    VAE,
    AnchorVAE,
    AnnealedVAE,
    BetaTCVAE,
    BetaVAE,
    Composite,
    DecomposedELBO,
    FactorVAE,
    InformationDropout,
)
from unbraid.training.critic import Critic
from unbraid.training.fleet import Fleet
from unbraid.training.runs.spec import RunSpec
from unbraid.training.state import Member, fleet_key

CASES = [
    (VAE(), Composite()),
    (BetaVAE(4.0), Composite(rate=4.0)),
    (BetaTCVAE(alpha=0.5, beta=6.0, gamma=2.0), Composite(**five_weights(0.0, 0.5, 6.0, 0.0, 2.0), estimator="mws")),
    (
        BetaTCVAE(alpha=0.5, beta=6.0, gamma=2.0, analytic_kl=True),
        Composite(**five_weights(1.0, -0.5, 5.0, 0.0, 1.0), estimator="mws"),
    ),
    (HFVAE(groups=((0, 1), (2,))), Composite(**five_weights(0.0, 1.0, 4.0, 3.0, 1.0), groups=((0, 1), (2,)))),
    (InformationDropout(beta=2.0, gamma=3.0), Composite(rate=0.0, mutual_information=2.0, total_correlation=3.0)),
    (AnnealedVAE(gamma=1000.0, capacity=5.0), Composite(rate=0.0, capacity_distance=1000.0, capacity=5.0)),
    (AnchorVAE(2.0, (2, 0)), Composite(anchor_information=-2.0, anchors=(2, 0))),
    (DIPVAE("i", off_diagonal=10.0, diagonal=100.0), Composite(off_diagonal=10.0, diagonal=100.0, covariance="i")),
    (DIPVAE("ii", off_diagonal=10.0, diagonal=10.0), Composite(off_diagonal=10.0, diagonal=10.0, covariance="ii")),
    (FactorVAE(35.0), Composite(critic_total_correlation=35.0, critic=True)),
    (FactorVAE(35.0, same_batch=True), Composite(critic_total_correlation=35.0, critic=True, same_batch=True)),
]
every_case = pytest.mark.parametrize(("special", "composite"), CASES, ids=lambda objective: type(objective).__name__)
EVERYTHING = Composite(
    rate=0.5,
    mutual_information=0.1,
    total_correlation=0.2,
    total_correlation_within=0.3,
    dimension_wise_kl=0.4,
    anchor_information=-0.6,
    capacity_distance=0.7,
    off_diagonal=0.8,
    diagonal=0.9,
    critic_total_correlation=1.1,
    groups=((0, 2), (1,)),
    anchors=(1,),
    capacity=3.0,
    covariance="ii",
    critic=True,
)


@every_case
def test_a_named_objective_is_a_case_of_it(special, composite):
    step = step_for(special)
    named, found = special(step), composite(step)
    assert torch.equal(found.total, named.total)
    assert {name: part.item() for name, part in found.parts.items()} == {
        name: part.item() for name, part in named.parts.items()
    }
    assert (found.critic is None) == (named.critic is None)
    if named.critic is not None:
        assert torch.equal(found.critic, named.critic)


@every_case
def test_it_asks_for_what_its_case_asks_for(special, composite):
    model = Autoencoder(latents=GaussianLatents(3))
    assert composite.critic_reads == special.critic_reads
    assert composite.needs_other_batch == special.needs_other_batch
    assert composite.draw_shapes(4, model, (1, 8, 8)) == special.draw_shapes(4, model, (1, 8, 8))
    if composite.critic:
        assert composite.critic_outputs == special.critic_outputs


def test_all_terms_together_are_the_sum_of_weight_times_what_is_logged():
    step = step_for(EVERYTHING)
    loss = EVERYTHING(step)
    weights = {name: weight for name, weight in EVERYTHING.hyperparameters.items() if name != "capacity"}
    expected = loss.parts["distortion"] + sum(weight * loss.parts[name] for name, weight in weights.items())
    torch.testing.assert_close(loss.total, expected)


def test_every_term_is_logged_under_the_name_of_its_weight():
    parts = EVERYTHING(step_for(EVERYTHING)).parts
    assert set(parts) == {"distortion", *EVERYTHING.hyperparameters} - {"capacity"}


def test_terms_that_were_not_asked_for_are_not_logged():
    step = a_step()
    assert tuple(Composite()(step).parts) == tuple(VAE()(step).parts)


def test_a_term_without_weight_is_logged_and_changes_nothing():
    step = a_step()
    watched = Composite(anchors=(1,), capacity=2.0, covariance="ii")(step)
    assert torch.equal(watched.total, Composite()(step).total)
    assert {"anchor_information", "capacity_distance", "off_diagonal", "diagonal"} < set(watched.parts)


def test_it_takes_discrete_latents():
    step = a_mixed_step()
    weights = five_weights(0.0, 1.0, 4.0, 3.0, 1.0)
    expected = DecomposedELBO(**weights, groups="model", estimator="stratified_pairs")(step).total
    assert torch.equal(Composite(**weights, groups="model")(step).total, expected)


def test_any_weight_may_follow_a_schedule():
    warm = replace(EVERYTHING, total_correlation=Linear(0.0, 4.0), capacity=Linear(0.0, 10.0))
    step = step_for(warm)
    found = warm.at(torch.tensor(0.5, dtype=torch.float64))(step).total
    torch.testing.assert_close(found, replace(EVERYTHING, total_correlation=2.0, capacity=5.0)(step).total)


def test_it_comes_back_from_json():
    assert from_json(to_json(EVERYTHING), Composite) == EVERYTHING


def test_the_loss_of_its_critic_does_not_depend_on_its_weight():
    step = step_for(EVERYTHING)
    lighter = replace(EVERYTHING, critic_total_correlation=0.0)
    assert torch.equal(lighter(step).critic, EVERYTHING(step).critic)


def test_members_with_weights_and_schedules_of_their_own_train_in_one_fleet():
    objectives = [EVERYTHING, replace(EVERYTHING, total_correlation=Linear(0.0, 4.0), capacity=Linear(0.0, 10.0))]
    specs = [replace(MLP_SPEC, objective=objective) for objective in objectives]
    assert fleet_key(specs[0]) == fleet_key(specs[1])
    fleet = Fleet([Member(spec, seed=0) for spec in specs], Squares().load())
    before = fleet.weights.clone()
    for _ in range(3):
        losses = fleet.advance()
    assert {"loss", "critic", "distortion", *EVERYTHING.hyperparameters} - {"capacity"} == set(losses)
    assert bool(fleet.alive.all())
    assert not torch.equal(fleet.weights[0], fleet.weights[1])
    assert not torch.equal(fleet.weights, before)


# Errors


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"anchor_information": -1.0}, "anchor_information is -1.0.*anchors="),
        ({"capacity_distance": 10.0}, "capacity_distance is 10.0.*capacity"),
        ({"off_diagonal": 10.0}, "off_diagonal is 10.0.*covariance="),
        ({"diagonal": Linear(0.0, 1.0)}, "diagonal is Linear.*covariance="),
        ({"critic_total_correlation": 35.0}, "critic_total_correlation is 35.0.*critic=True"),
        ({"capacity": -1.0}, "capacity is -1.0"),
        ({"rate": math.nan}, "rate is nan"),
        ({"capacity": math.inf}, "capacity is inf"),
    ],
)
def test_a_weight_without_its_term_is_refused_with_the_fix(settings, says):
    with pytest.raises(SpecError, match=f"Composite: {says}"):
        Composite(**settings)


def test_a_critic_is_refused_where_it_has_none_and_made_where_it_has():
    with pytest.raises(SpecError, match="critic for Composite"):
        replace(MLP_SPEC, objective=Composite(), critic=Critic())
    with torch.device("meta"):
        assert replace(MLP_SPEC, objective=Composite(critic=True), critic=Critic()).make_critic() is not None
        assert replace(MLP_SPEC, objective=Composite()).make_critic() is None


@pytest.mark.parametrize(
    ("objective", "latents", "says"),
    [
        (Composite(anchors=(3,)), GaussianLatents(3), "Composite: anchors is"),
        (Composite(covariance="i"), ConcreteLatents(3), "ConcreteLatents"),
        (Composite(critic=True), GaussianLatents(1), "1 latent"),
    ],
)
def test_a_model_that_a_term_cannot_take_is_refused_when_the_spec_is_built(objective, latents, says):
    with pytest.raises(SpecError, match=says):
        RunSpec(Squares(), model=Autoencoder(latents=latents), objective=objective, batch_size=8)
