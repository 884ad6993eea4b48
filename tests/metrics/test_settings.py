import dataclasses

import numpy as np
import pytest

from tests.discovery import concrete_subclasses
from unbraid.errors import CodesError, SpecError
from unbraid.metrics import DCI, IRS, MIG, MISJED, SAP, Correlations, FactorVAEScore, ZDiff
from unbraid.metrics.estimators import Estimator, Quantized, Sampled
from unbraid.metrics.metric import Metric
from unbraid.metrics.selection import metric_of, select
from unbraid.metrics.settings import SIZES


def test_numbers_of_numpy_and_whole_numbers_are_stored_as_the_field_has_them():
    metric = DCI(alpha=1, num_train=np.int64(7), standardize=np.bool_(True))
    assert [type(value) for value in (metric.alpha, metric.num_train, metric.standardize)] == [float, int, bool]


@pytest.mark.parametrize(
    "build",
    [
        lambda: MIG(Quantized(num_bins=2.5)),
        lambda: Quantized(low="a"),
        lambda: Sampled(num_samples=None),
        lambda: MISJED(Quantized(num_bins=10.0)),
        lambda: DCI(alpha="a"),
        lambda: DCI(alpha=10**400),
        lambda: DCI(standardize="maybe"),
        lambda: IRS(quantile="a"),
        lambda: FactorVAEScore(min_std="a"),
        lambda: SAP(num_train=1.5),
        lambda: DCI(seed=True),
    ],
)
def test_a_setting_of_the_wrong_type_is_refused(build):
    with pytest.raises(SpecError, match="expected"):
        build()


@pytest.mark.parametrize(
    "build",
    [lambda seed: Sampled(seed=seed), lambda seed: Correlations(seed=seed), lambda seed: select("mig", seed)],
)
@pytest.mark.parametrize("seed", [-1, 2**63, "a", True])
def test_a_seed_is_a_whole_number_of_63_bits(build, seed):
    with pytest.raises(SpecError, match="seed is .*expected"):
        build(seed)


@pytest.mark.parametrize(
    "name",
    [
        "mig:sampled:seed=99999999999999999999",
        "misjed:quantized:num_bins=10001",
        "mig:quantized:num_bins=100001",
        "dci:num_train=1000000000",
    ],
)
def test_absurd_sizes_are_refused(name):
    with pytest.raises(SpecError, match="expected"):
        metric_of(name)


@pytest.mark.parametrize("cls", [*concrete_subclasses(Metric), *concrete_subclasses(Estimator)])
def test_counts_have_a_least_and_a_most(cls):
    for field in dataclasses.fields(cls):
        least, most = SIZES.get(field.name, (0, 0))
        for wrong in (least - 1, most + 1) if most else ():
            with pytest.raises(
                SpecError, match=f"{cls.__name__}: {field.name} is {wrong}; expected {least:,} to {most:,}"
            ):
                cls(**{field.name: wrong})


def test_more_pairs_than_memory_holds_are_refused():
    with pytest.raises(SpecError, match="ZDiff: 100,005,000 points with pairs_per_point=64 need 6,400,320,000"):
        ZDiff(num_train=10**8)


def test_what_is_not_codes_is_refused():
    with pytest.raises(CodesError, match="codes is a ndarray"):
        MIG()(np.zeros((3, 2)))


def test_metrics_are_names_or_a_list():
    with pytest.raises(SpecError, match="metrics is 5"):
        select(5)
