"""What is asked of every estimator of information, those still to be written among them."""

import dataclasses
import inspect
from dataclasses import fields

import pytest
import torch

from tests.discovery import concrete_subclasses
from tests.metrics.test_mig import random_codes
from unbraid.information.latent_information import LatentInformation
from unbraid.metrics import MIG, estimators
from unbraid.metrics.estimators import Estimator
from unbraid.metrics.reductions.statistics import Statistics

EVERY = concrete_subclasses(Estimator)


@pytest.mark.parametrize("cls", EVERY, ids=lambda cls: cls.__name__)
def test_it_conforms(cls):
    assert getattr(estimators, cls.__name__, None) is cls, "export it from unbraid.metrics.estimators"
    assert dataclasses.is_dataclass(cls)
    assert getattr(cls, "__final__", False)
    assert inspect.getdoc(cls)


@pytest.mark.parametrize("cls", EVERY, ids=lambda cls: cls.__name__)
def test_what_rows_add_averages_to_nothing(cls):
    """Deviations are from the estimate, by the names of its fields, and of its shapes."""
    statistics = Statistics(random_codes(0))
    found = cls().information(statistics)
    for deviations, num_rows in cls().deviations(statistics):
        assert deviations.keys() <= {f.name for f in fields(LatentInformation)}
        for name, rows in deviations.items():
            assert rows.shape == (num_rows, *getattr(found, name).shape)
            torch.testing.assert_close(rows.mean(dim=0), torch.zeros_like(rows[0]), atol=1e-9, rtol=0)


@pytest.mark.parametrize("cls", EVERY, ids=lambda cls: cls.__name__)
def test_its_twin_is_of_its_kind_and_it_scores(cls):
    finer = cls().finer()
    assert finer is None or (type(finer) is cls and finer.resolution != cls().resolution)
    score = MIG(cls())(random_codes(0))
    assert 0 <= score.value <= 1
    assert score.interval is not None
