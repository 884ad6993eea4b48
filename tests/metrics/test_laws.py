"""What holds for every metric: which codes it refuses, factors that never vary, and its seed."""

import dataclasses
import functools
import math

import pytest
import torch

from tests.discovery import concrete_subclasses
from tests.metrics.test_metric import with_everything
from tests.told import warned
from unbraid._internal import row_draws
from unbraid.codes import Codes, Labels
from unbraid.errors import CodesError
from unbraid.metrics import DCIES, SNC, ClusterAccuracy, FactorVAEScore, ZDiff
from unbraid.metrics.metric import Metric, features
from unbraid.metrics.predicting.prediction_tasks import PredictionTask
from unbraid.metrics.selection import select

EVERY = concrete_subclasses(Metric)
# Cluster accuracy takes codes with discrete latents alone, and has tests of its own.
CONTINUOUS = [cls for cls in EVERY if cls is not ClusterAccuracy]
# Where the default takes seconds, what takes less.
QUICK = {
    DCIES: DCIES(hidden=(0, 4), num_steps=5, batch_size=64),
    SNC: SNC(hidden=4, num_steps=5, batch_size=64),
    ZDiff: ZDiff(num_train=600, num_test=300),
    FactorVAEScore: FactorVAEScore(num_train=400, num_test=200),
}
OF_FACTORS = [cls for cls in CONTINUOUS if cls.needs_factors]


@functools.cache
def noisy_codes(num_images=120):
    """Two binary factors and one of three values, each read through noise by a latent."""
    values = [torch.arange(num_images) // step % size for step, size in ((1, 2), (2, 3), (6, 2))]
    noise = row_draws.randn((num_images, 3), 0, "test/laws").double()
    mean = torch.stack(values, dim=1) + 0.4 * noise
    factors = tuple(Labels(name, each) for name, each in zip("abc", values, strict=True))
    return Codes(mean, torch.full_like(mean, 0.3), factors=factors)


def metric_of(cls, seed=3):
    return next(iter(select([QUICK.get(cls, cls())], seed).metrics.values()))


@functools.cache
def score_of(cls):
    """Returns the score of the codes, computed once."""
    return metric_of(cls)(noisy_codes())


@pytest.mark.parametrize("cls", EVERY, ids=lambda cls: cls.__name__)
def test_what_it_does_not_take_it_refuses_by_name(cls):
    for feature, codes in with_everything().items():
        if feature not in cls().accepts:
            named = features(codes)[feature]
            with pytest.raises(CodesError) as refused:
                cls()(codes)
            assert f"{cls.__name__} does not support {feature}{named}" in str(refused.value)


@pytest.mark.parametrize("cls", OF_FACTORS, ids=lambda cls: cls.__name__)
@pytest.mark.parametrize("place", [0, 3])
def test_a_factor_that_never_varies_is_named_undefined_and_not_counted(cls, place):
    codes = noisy_codes()
    factors = list(codes.factors)
    factors.insert(place, Labels("still", torch.full((len(codes),), 7)))
    with warned(f"{cls.__name__}: still .constant"):
        score = metric_of(cls)(dataclasses.replace(codes, factors=tuple(factors)))
    assert score.value == pytest.approx(score_of(cls).value, nan_ok=True)
    assert math.isnan(score.per_factor.get("still", math.nan))
    for name in {"importance", "votes", "irs"} & score.tables.keys():
        assert bool(score.tables[name][:, place].isnan().all()), name


@pytest.mark.parametrize("cls", CONTINUOUS, ids=lambda cls: cls.__name__)
def test_without_intervals_the_numbers_are_the_same_and_nothing_is_resampled(cls, monkeypatch):
    expected = score_of(cls)

    def refuse(*_):
        raise AssertionError("computed for an interval")

    def integers(number, shape, *rest):
        assert shape[0] == 0 or "bootstrap" not in rest, "resampled"
        return draw(number, shape, *rest)

    draw = row_draws.randint
    monkeypatch.setattr(row_draws, "randint", integers)
    monkeypatch.setattr(PredictionTask, "half", refuse)
    for module in ("information_metric", "sampled_metric", "misjed"):
        name = "_standard_error" if module == "misjed" else "standard_error"
        monkeypatch.setattr(f"unbraid.metrics.{module}.{name}", refuse)
    found = metric_of(cls)(noisy_codes(), with_intervals=False)
    assert found.interval is found.settled is None
    assert all(part.interval is None for part in found.parts.values())
    for name in ("value", "per_factor", "per_latent"):
        assert getattr(found, name) == pytest.approx(getattr(expected, name), nan_ok=True)
    assert {name: part.value for name, part in found.parts.items()} == pytest.approx(
        {name: part.value for name, part in expected.parts.items()}, nan_ok=True
    )
    for name, table in expected.tables.items():
        torch.testing.assert_close(found.tables[name], table, equal_nan=True)


@pytest.mark.parametrize("cls", CONTINUOUS, ids=lambda cls: cls.__name__)
def test_the_same_seed_gives_the_same_score(cls):
    again, other = (metric_of(cls, seed)(noisy_codes()) for seed in (3, 4))
    assert score_of(cls) == again
    assert (other == again) is ("seed" not in cls().settings)
