"""The importance-weighted bound as a score of a model."""

import pytest
import torch

from tests.metrics.model.models import ALL, IMAGES, model, scored
from unbraid.errors import SpecError
from unbraid.metrics.model import ELBO, ImportanceWeightedBound
from unbraid.models.distributions import BernoulliLatents, ConcreteLatents, GaussianLatents, GroupedLatents

DISCRETE = {ConcreteLatents: 3, BernoulliLatents: 1}


def test_with_one_draw_it_is_the_elbo_of_that_draw():
    score = scored(ImportanceWeightedBound(num_draws=1), model())
    assert score.value == pytest.approx(score.parts["elbo"].value)


def test_it_is_tighter_than_the_elbo_and_with_many_draws_the_evidence():
    net = model(ConcreteLatents(3))
    with torch.no_grad():
        x = IMAGES.batch(ALL).double()
        codes = torch.eye(3).double()
        each = torch.stack([net.likelihood.log_prob(x, net.decoder(code.expand(36, 3))) for code in codes])
        evidence = (each - torch.tensor(3.0).double().log()).logsumexp(dim=0).mean().item()
    bound = scored(ImportanceWeightedBound(num_draws=100), net)
    assert bound.parts["elbo"].value < bound.value == pytest.approx(evidence, abs=0.1)
    assert scored(ELBO(), net).value < evidence


def test_it_is_that_of_hard_categories_whatever_the_model_was_trained_with():
    """The parameters of all of these are the same, and so are their draws."""
    kinds = (("pmf", True), ("pmf", False), ("summed", False), ("density", False), ("density", True))
    latents = [
        GroupedLatents((GaussianLatents(2), *(of(size, measure=measure, hard=hard) for of, size in DISCRETE.items())))
        for measure, hard in kinds
    ]
    first, *others = (scored(ImportanceWeightedBound(num_draws=4), model(each)).value for each in latents)
    assert others == [first] * 4


def test_no_draw_is_refused():
    with pytest.raises(SpecError, match="num_draws is 0"):
        ImportanceWeightedBound(num_draws=0)
