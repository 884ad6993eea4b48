"""Metrics by name."""

import dataclasses

import pytest

from tests.metrics.fakes import CountFactors, Spread
from unbraid import metrics
from unbraid.config import text_of
from unbraid.config.annotations import hints_of, literals_of
from unbraid.errors import SpecError
from unbraid.metrics import MIG
from unbraid.metrics.dci import DCI
from unbraid.metrics.estimators import MeansHistogram, Quantized
from unbraid.metrics.selection import LEFT_OUT, VARIANTS, _checked, metric_of, registry, select
from unbraid.metrics.zdiff import ZDiff


@pytest.fixture(autouse=True)
def _exported(monkeypatch):
    for cls in (CountFactors, Spread, DCI, ZDiff):
        monkeypatch.setattr(metrics, cls.__name__, cls, raising=False)


def test_what_the_package_exports_can_be_named():
    assert registry()["mig"] is MIG
    assert registry()["count-factors"] is CountFactors
    assert "metric" not in registry()


def test_metrics_that_need_factors_come_first():
    needs = [cls.needs_factors for cls in registry().values()]
    assert needs == sorted(needs, reverse=True)


def test_all_is_the_default_of_each_and_the_variants():
    chosen = select("all")
    assert set(chosen.metrics) == {name for name, cls in registry().items() if not cls.by_name_only} | set(VARIANTS)
    by_name = {name for name, cls in registry().items() if cls.by_name_only}
    assert set(chosen.left_out) == set(LEFT_OUT) | by_name
    assert {"dcies", "snc"} <= by_name
    for name in LEFT_OUT:
        assert text_of(metric_of(name)) == name


def test_unsupervised_are_runs_that_need_no_factors():
    chosen = select("unsupervised").metrics
    assert chosen["spread"] == Spread()
    assert not any(metric.needs_factors for metric in chosen.values())


def test_names_and_instances_can_be_mixed_and_keep_their_order():
    own = MIG(Quantized(num_bins=50))
    chosen = select(["spread", own, "MIG"]).metrics
    assert chosen == {"spread": Spread(), "mig:quantized:num_bins=50": own, "mig": MIG()}
    assert list(select("spread, mig").metrics) == ["spread", "mig"]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("mig", MIG()),
        ("mig:quantized", MIG(Quantized())),
        ("MIG:means-histogram", MIG(MeansHistogram())),
        ("mig:quantized:num_bins=50:low=-2.5", MIG(Quantized(num_bins=50, low=-2.5))),
        ("mig:exact", MIG()),
        ("spread:narrow-one:strict=true", Spread(how="narrow_one", strict=True)),
        ("count_factors", CountFactors()),
    ],
)
def test_settings_follow_the_name(name, expected):
    assert metric_of(name) == expected
    assert metric_of(text_of(expected)) == expected


@pytest.mark.parametrize("name", sorted(VARIANTS))
def test_a_variant_is_called_what_its_settings_are(name):
    assert text_of(metric_of(name)) == name


def test_a_seed_reaches_whatever_is_random_and_leaves_the_names():
    chosen = select(["spread", "count-factors"], seed=7).metrics
    assert chosen == {"spread": Spread(seed=7), "count-factors": CountFactors()}


def test_a_single_metric_needs_no_list():
    assert select(MIG()) == select([MIG()])


@pytest.mark.parametrize(
    ("asked", "complaint"),
    [
        ("migg", "'migg'. Did you mean 'mig'?"),
        ("", "metric ''"),
        (["mig", "unsupervized"], "Did you mean 'unsupervised'?"),
        ([], "metrics is empty"),
        ("mig:quantised", "Did you mean 'quantized'?"),
        ("mig:quantized:bins=3", "no field 'bins'"),
        ("mig:quantized:num_bins=many", "'quantized:num_bins=many' is 'many'"),
        ("mig:quantized:num_bins=1", "num_bins is 1"),
    ],
)
def test_a_mistake_is_told(asked, complaint):
    with pytest.raises(SpecError) as told:
        select(asked)
    assert complaint in str(told.value)


def test_a_class_is_not_yet_a_metric():
    with pytest.raises(SpecError, match="MIG()"):
        _checked(MIG)
    with pytest.raises(SpecError, match="A metric is 3"):
        _checked(3)


@pytest.mark.parametrize("seed", [-1, 2**63])
def test_a_seed_is_a_whole_number_from_0_on(seed):
    with pytest.raises(SpecError, match="expected an integer from 0 to"):
        select("mig", seed)


def test_a_choice_names_its_setting():
    for cls in registry().values():
        choices = [choice for hint in hints_of(cls).values() for choice in literals_of(hint)]
        assert len(choices) == len(set(choices)), (
            f"two settings of {cls.__name__} share a choice, so a name with that choice means neither"
        )


def test_every_metric_can_be_built_without_settings():
    for cls in registry().values():
        assert dataclasses.is_dataclass(cls)
        cls()


def test_all_may_stand_in_a_list():
    every, chosen = select("all"), select("all, mig,dci:boosted_trees")
    assert set(chosen.metrics) == {*every.metrics, "dci:boosted_trees"}
    assert set(chosen.left_out) == set(every.left_out) - {"dci:boosted_trees"}
