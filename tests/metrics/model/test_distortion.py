"""The distortion as a score of a model."""

import pytest

from tests.metrics.model.models import IMAGES, MIXED, model, scored
from unbraid.metrics.model import ELBO, Distortion
from unbraid.models.distributions import DeterministicLatents
from unbraid.models.trained.elbo import hard_elbo


def test_it_is_the_part_of_the_elbo():
    net = model(MIXED)
    assert scored(Distortion(), net).value == scored(ELBO(), net).parts["distortion"].value
    assert scored(Distortion(seed=2), net).value == pytest.approx(hard_elbo(net, IMAGES, seed=2).distortion)


def test_it_is_defined_without_densities():
    net = model(DeterministicLatents(2))
    assert Distortion().refusal(net) == ""
    assert scored(Distortion(), net).value > 0
