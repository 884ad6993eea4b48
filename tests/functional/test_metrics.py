"""Metrics as functions: the numbers of the classes of the same name."""

import dataclasses
import inspect
import math

import numpy as np
import pytest
import torch

from tests.discovery import concrete_subclasses
from unbraid import Codes, functional
from unbraid.codes import Labels
from unbraid.errors import CodesError
from unbraid.metrics import DCIES, MIG, RMIG, SNC, ClusterAccuracy, Metric
from unbraid.metrics.estimators import MeansHistogram, Neighbors

GENERATOR = torch.Generator().manual_seed(0)
FACTORS = torch.stack([torch.arange(120) // step % size for step, size in ((1, 2), (2, 3), (6, 2))], dim=1)
MEAN = FACTORS + 0.4 * torch.randn(FACTORS.shape, generator=GENERATOR, dtype=torch.float64)
STD = torch.full_like(MEAN, 0.3)
CODES = Codes.from_arrays(MEAN, STD, factors=FACTORS)

FUNCTIONS = {name.replace("_", ""): getattr(functional, name) for name in dir(functional)}
EVERY = [
    pytest.param(cls, marks=pytest.mark.slow) if cls in (DCIES, SNC) else cls  # which train nets
    for cls in concrete_subclasses(Metric)
    if cls is not ClusterAccuracy
]
NEEDING_STD = {
    "ELBODecomposition", "INDIN", "InformativeLatents", "Informativeness", "Lemma2Gap", "MISJED",
    "PairwiseInformation", "SEPIN", "Separability",
}  # fmt: skip


def function_of(cls):
    return FUNCTIONS[cls.__name__.lower()]


def numbers_of(cls, mean=MEAN, std=STD, factors=FACTORS):
    """The result of the function, as a sequence."""
    names = inspect.signature(function_of(cls)).parameters
    given = {"mean": mean, "std": std, "factors": factors}
    found = function_of(cls)(**{name: value for name, value in given.items() if name in names})
    return found if isinstance(found, tuple) else (found,)


@pytest.mark.parametrize("cls", EVERY, ids=lambda cls: cls.__name__)
def test_a_function_returns_the_numbers_of_its_class(cls):
    score, found = cls()(CODES, with_intervals=False), numbers_of(cls)
    assert found[0] == pytest.approx(score.value, rel=1e-9, nan_ok=True)
    parts = {name: found[place] for place, name in enumerate(getattr(found, "_fields", ())) if place}
    assert parts == pytest.approx({name: score.parts[name].value for name in parts}, rel=1e-9, nan_ok=True)


@pytest.mark.parametrize("cls", EVERY, ids=lambda cls: cls.__name__)
def test_settings_are_those_of_the_class(cls):
    fields = {field.name: field.default for field in dataclasses.fields(cls)}
    settings = inspect.signature(function_of(cls)).parameters.values()
    found = {each.name: each.default for each in settings if each.kind is each.KEYWORD_ONLY}
    assert found == {name: fields[name] for name in found}


@pytest.mark.parametrize("cls", EVERY, ids=lambda cls: cls.__name__)
def test_deterministic_codes_have_a_score_unless_the_metric_needs_densities(cls):
    if cls.__name__ in NEEDING_STD:
        with pytest.raises(CodesError):
            numbers_of(cls, std=None)
    else:
        assert math.isfinite(numbers_of(cls, std=None)[0])


def test_means_without_std_are_counted_in_a_histogram():
    of_means = Codes.from_arrays(MEAN, factors=FACTORS)
    for function, metric in ((functional.mig, MIG), (functional.rmig, RMIG)):
        assert function(MEAN, None, FACTORS) == metric(MeansHistogram())(of_means).value
        assert function(MEAN, None, FACTORS, estimator=Neighbors()) == metric(Neighbors())(of_means).value
    assert functional.mig(MEAN, 0 * MEAN, FACTORS) == functional.mig(MEAN, None, FACTORS)


def test_mutual_information_has_a_row_for_each_latent():
    found = functional.mutual_information(MEAN, FACTORS, std=STD)
    torch.testing.assert_close(found, MIG()(CODES).tables["mutual_information"])
    independent = functional.mutual_information(FACTORS.numpy(), FACTORS.numpy())
    entropies = torch.tensor([2.0, 3.0, 2.0], dtype=torch.float64).log()
    torch.testing.assert_close(independent, torch.diag(entropies), atol=1e-9, rtol=0)


def test_arrays_lists_and_tensors_that_require_gradients_are_accepted():
    expected = functional.dci(MEAN, None, FACTORS)
    assert functional.dci(MEAN.numpy(), None, FACTORS.numpy()) == expected
    assert functional.dci(MEAN.tolist(), None, FACTORS.tolist()) == expected
    assert functional.dci(MEAN.clone().requires_grad_(), None, FACTORS) == expected
    names = {name: np.asarray(FACTORS[:, place]) for place, name in enumerate("abc")}
    assert functional.dci(MEAN, None, names) == expected


def test_clusters_take_probabilities():
    category = torch.eye(3, dtype=torch.float64)[(FACTORS[:, 1] + 1) % 3]
    assert functional.cluster_accuracy(category, FACTORS[:, 1]) == pytest.approx(1.0)
    codes = Codes.from_arrays(probabilities=[category], factors=(Labels("a", FACTORS[:, 0]),))
    assert functional.cluster_accuracy([category], FACTORS[:, 0]) == ClusterAccuracy()(codes).value


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
@pytest.mark.parametrize("cls", EVERY, ids=lambda cls: cls.__name__)
def test_a_gpu_gives_the_numbers_of_a_cpu(cls):
    found = numbers_of(cls, MEAN.cuda(), STD.cuda(), FACTORS.cuda())
    assert found == pytest.approx(numbers_of(cls), rel=1e-2, abs=1e-2, nan_ok=True)
