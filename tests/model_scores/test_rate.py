"""The rate as a score of a model."""

import pytest

from tests.model_scores.models import IMAGES, MIXED, model, scored
from unbraid.distributions import DeterministicLatents
from unbraid.metrics import ELBODecomposition
from unbraid.metrics.estimators import Sampled
from unbraid.model_scores import Rate
from unbraid.models import encode


def test_it_is_what_the_metric_finds_from_codes():
    net = model(MIXED)
    from_codes = ELBODecomposition(Sampled(num_samples=50))(encode(net, IMAGES)).parts["kl"].value
    assert scored(Rate(), net).value == pytest.approx(from_codes, rel=1e-6)


def test_deterministic_codes_have_none():
    assert "Rate needs the density of q(z | x)" in Rate().refusal(model(DeterministicLatents(2)))
