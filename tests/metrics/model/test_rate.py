"""The rate as a score of a model."""

import pytest

from tests.metrics.model.models import IMAGES, MIXED, model, scored
from unbraid.metrics import ELBODecomposition
from unbraid.metrics.estimators import Sampled
from unbraid.metrics.model import Rate
from unbraid.models import encode
from unbraid.models.distributions import DeterministicLatents


def test_it_is_what_the_metric_finds_from_codes():
    net = model(MIXED)
    from_codes = ELBODecomposition(Sampled(num_samples=50))(encode(net, IMAGES)).parts["kl"].value
    assert scored(Rate(), net).value == pytest.approx(from_codes, rel=1e-6)


def test_deterministic_codes_have_none():
    assert "q(z | x)" in Rate().refusal(model(DeterministicLatents(2)))
