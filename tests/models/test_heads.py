"""Which numbers are for which latents."""

from dataclasses import dataclass
from typing import final

import pytest
import torch

from tests.models.nets import num_parameters
from unbraid.errors import SpecError
from unbraid.models.distributions import (
    BernoulliLatents,
    ConcreteLatents,
    CorrelatedGaussianLatents,
    DeterministicLatents,
    GaussianLatents,
    GroupedLatents,
    LaplaceLatents,
    Latents,
)
from unbraid.models.layers.heads import Branched, LatentsHead, heads


@pytest.mark.parametrize("family", [GaussianLatents, CorrelatedGaussianLatents, LaplaceLatents])
def test_continuous_latents_take_two_numbers_each(family):
    assert heads(family(7)) == (LatentsHead(7, 2, is_discrete=False),)


def test_deterministic_latents_take_one_number_each():
    assert heads(DeterministicLatents(7)) == (LatentsHead(7, 1, is_discrete=False),)


def test_discrete_latents_take_their_logits():
    assert heads(ConcreteLatents(10)) == (LatentsHead(1, 10, is_discrete=True),)
    assert heads(BernoulliLatents(3)) == (LatentsHead(3, 1, is_discrete=True),)


def test_two_categories_are_not_taken_for_a_gaussian():
    assert heads(ConcreteLatents(2))[0].is_discrete


def test_families_side_by_side_have_their_heads_in_order_however_nested():
    nested = GroupedLatents((GaussianLatents(2), GroupedLatents((GaussianLatents(4), ConcreteLatents(3)))))
    assert heads(nested) == (
        LatentsHead(2, 2, is_discrete=False),
        LatentsHead(4, 2, is_discrete=False),
        LatentsHead(1, 3, is_discrete=True),
    )
    assert sum(head.num_parameters for head in heads(nested)) == nested.num_parameters


def test_numbers_of_continuous_latents_are_ordered_by_kind_and_those_of_discrete_ones_by_latent():
    numbers = torch.tensor([[[1.0, 10.0], [2.0, 20.0], [3.0, 30.0]]])  # three latents, two numbers each
    assert LatentsHead(3, 2, is_discrete=False).in_order(numbers).tolist() == [[1, 2, 3, 10, 20, 30]]
    assert LatentsHead(3, 2, is_discrete=True).in_order(numbers).tolist() == [[1, 10, 2, 20, 3, 30]]


def test_what_is_ordered_is_what_the_family_reads():
    numbers = torch.tensor([[[1.0, 0.0], [2.0, 0.5]]])
    posterior = GaussianLatents(2).posterior(heads(GaussianLatents(2))[0].in_order(numbers), torch.ones(()))
    assert posterior.loc.tolist() == [[1, 2]]
    assert posterior.log_var.tolist() == [[0, 0.5]]


def test_means_and_log_variances_have_branches_of_their_own_and_logits_come_straight_from_the_features():
    with torch.device("meta"):
        branched = Branched(20, 6, GroupedLatents((GaussianLatents(4), ConcreteLatents(3))))
        assert branched(torch.zeros(2, 20)).shape == (2, 2 * 4 + 3)
    assert num_parameters(branched) == 2 * ((20 + 1) * 6 + (6 + 1) * 4) + (20 + 1) * 3


def test_a_latents_own_branch_is_what_the_family_reads_of_it():
    # The logits come out last: they are what the categories of the second part are made of.
    latents = GroupedLatents((GaussianLatents(2), ConcreteLatents(3)))
    with torch.random.fork_rng(devices=[]):
        branched = Branched(5, 4, latents)
    features = torch.ones(1, 5)
    posterior = latents.posterior(branched(features), torch.ones(()))
    torch.testing.assert_close(posterior.parts[0].loc, branched.branches[0](features))
    torch.testing.assert_close(posterior.parts[0].log_var, branched.branches[1](features))
    torch.testing.assert_close(posterior.probabilities[0], branched.branches[2](features).softmax(dim=1))


@final
@dataclass(frozen=True)
class Odd(Latents):
    """Latents of one's own that do not all take the same."""

    num_latents = 2
    num_parameters = 5

    def posterior(self, parameters, progress):
        raise NotImplementedError

    def make_prior(self):
        raise NotImplementedError


def test_latents_that_cannot_be_told_apart_are_refused_with_the_fix():
    with pytest.raises(SpecError, match="2 latents.*GroupedLatents"):
        heads(Odd())
