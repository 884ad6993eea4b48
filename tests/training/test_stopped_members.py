"""A member whose loss or gradient is not finite, or too large, stops alone at that step."""

from dataclasses import replace

import pytest
import torch

from tests.training.squares import MLP_SPEC
from tests.training.test_sharing_a_fleet import Steep
from tests.training.trained_fleets import ABSURD, seeds_of, trained
from unbraid.training.fleet import Fleet
from unbraid.training.optimizers import Adam
from unbraid.training.state import Member

# ---- members that fail


"""Its first step leads to weights of 1e30, from which the second loss is not finite."""


def test_a_member_that_diverges_keeps_its_last_good_weights_and_the_others_go_on_as_if_it_were_not_there():
    fleet = Fleet([Member(MLP_SPEC, 0), Member(ABSURD, 1), Member(MLP_SPEC, 2)], MLP_SPEC.dataset.load())
    fleet.advance()
    last_good = fleet.weights[1].clone()
    for _ in range(9):
        fleet.advance()
    assert fleet.alive.tolist() == [True, False, True]
    assert torch.equal(fleet.weights[1], last_good)
    assert bool(last_good.isfinite().all())
    without = trained(seeds_of(MLP_SPEC, 0, 2)).weights
    torch.testing.assert_close(fleet.weights[[0, 2]], without, rtol=0, atol=1e-12)


def test_the_step_at_which_a_member_failed_is_counted_as_in_its_history():
    fleet = trained((Member(MLP_SPEC, 0), Member(ABSURD, 1)), 3)
    assert [fleet.state(index).failed_at for index in (0, 1)] == [None, 2]


def test_a_gradient_whose_square_overflows_is_a_failure_and_not_a_standstill():
    # 1e25 is a float32 and its square is not: the second moment would be infinite for ever, and every step 0 long.
    spec = replace(MLP_SPEC, precision="float32", objective=Steep(slope=1e25))
    fleet = Fleet([Member(spec, 0)], spec.dataset.load())
    assert bool(fleet.advance()["loss"].isfinite())
    assert not bool(fleet.alive.any())
    moments = fleet.state(0).tensors.model.optimizer_state["second_moment"].values()
    assert moments
    assert all(bool(moment.isfinite().all()) for moment in moments)


HASTY = replace(MLP_SPEC, optimizer=Adam(1.0))


"""From seed 1 its losses are 81, then 2e4, then 3e7: finite, and no use."""


@pytest.mark.parametrize(("max_loss", "failed_at"), [(1e3, 2), (1e5, 3)])
def test_a_member_whose_loss_is_above_the_most_allowed_is_stopped_alone_at_that_step(max_loss, failed_at):
    images = MLP_SPEC.dataset.load()
    limited, free = (
        Fleet(
            [Member(replace(spec, max_loss=most), seed) for seed, spec in enumerate((MLP_SPEC, HASTY, MLP_SPEC))],
            images,
        )
        for most in (max_loss, MLP_SPEC.max_loss)
    )
    for step in range(1, 6):
        if step == failed_at:
            last_good = limited.weights[1].clone()
        losses = limited.advance()["loss"]
        assert torch.equal(losses[[0, 2]], free.advance()["loss"][[0, 2]])
        assert bool(losses[1] <= max_loss) == (step < failed_at)
    assert [limited.failed_at(index) for index in range(3)] == [None, failed_at, None]
    assert bool(free.alive.all())
    assert torch.equal(limited.weights[1], last_good)
    assert torch.equal(limited.weights[[0, 2]], free.weights[[0, 2]])
    torch.testing.assert_close(
        limited.weights[[0, 2]], trained(seeds_of(MLP_SPEC, 0, 2), 5).weights, rtol=0, atol=1e-12
    )


def test_the_most_a_loss_may_be_is_allowed():
    first = float(Fleet(seeds_of(MLP_SPEC, 0), MLP_SPEC.dataset.load()).advance()["loss"])
    for max_loss, is_alive in ((first, True), (first - 1e-9, False)):
        fleet = trained(seeds_of(replace(MLP_SPEC, max_loss=max_loss), 0), 1)
        assert fleet.alive.tolist() == [is_alive]
