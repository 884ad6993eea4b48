"""The metric of torchmetrics: batches in any cut give the scores of all codes."""

import pickle
import sys

import pytest
import torch

pytest.importorskip("torchmetrics")

from torchmetrics import MetricCollection

from unbraid import Codes, evaluate
from unbraid.codes import CodesOptions
from unbraid.errors import CodesError, SpecError
from unbraid.integrations import CodesMetric

GENERATOR = torch.Generator().manual_seed(0)
VALUES = torch.randint(0, 3, (200, 2), generator=GENERATOR)
ANGLE = torch.rand(200, generator=GENERATOR)
MEAN = torch.cat([VALUES + 0.1 * torch.randn(200, 2, generator=GENERATOR), ANGLE[:, None]], dim=1)
STD = torch.full_like(MEAN, 0.2)
NAMES = ["shape", "size"]


def fed(metric, *, batch=64, factors=None):
    for rows in torch.arange(len(MEAN)).split(batch):
        metric.update(
            MEAN[rows], STD[rows], VALUES[rows] if factors is None else {k: v[rows] for k, v in factors.items()}
        )
    return metric


def test_batches_give_the_score_of_all_codes():
    expected = evaluate(
        Codes.from_arrays(MEAN, STD, factors=VALUES, options=CodesOptions(factor_names=NAMES)), metrics="mig"
    )["mig"]
    metric = fed(CodesMetric("mig", factor_names=NAMES))
    assert metric.compute().item() == pytest.approx(expected.value, rel=1e-6)
    assert metric.higher_is_better
    assert metric.card["mig"].per_factor.keys() == {"shape", "size"}


def test_factors_by_name_keep_their_types_and_several_metrics_are_a_dict():
    columns = {"shape": VALUES[:, 0], "angle": ANGLE}
    metric = fed(CodesMetric(["mig", "sap"], unordered=["shape"]), factors=columns)
    expected = evaluate(
        Codes.from_arrays(MEAN, STD, factors=columns, options=CodesOptions(unordered=["shape"])), metrics=["mig", "sap"]
    )
    found = metric.compute()
    assert {name: value.item() for name, value in found.items()} == pytest.approx(
        {name: score.value for name, score in dict(expected).items()}, rel=1e-6
    )


def test_what_is_not_defined_is_nan_and_the_card_says_why():
    metric = CodesMetric("mig,mig:sampled,sap")
    metric.update(MEAN, factors=VALUES)
    found = metric.compute()
    assert found["mig:sampled"].isnan()
    assert found["sap"].isfinite()
    assert "std" in metric.card.refused["mig:sampled"]
    # The name of the metric is kept where its estimator is replaced.
    assert found["mig"].item() == pytest.approx(metric.card["mig:means-histogram"].value)


def test_reset_forgets_and_the_next_epoch_may_have_other_factors():
    metric = fed(CodesMetric("sap"))
    first = metric.compute()
    metric.reset()
    assert metric.card is None
    metric.update(MEAN, factors={"angle": ANGLE})
    assert metric.compute() != first


def test_processes_are_joined_as_torchmetrics_joins_them():
    """What another process holds is gathered into every state."""
    halves = [fed(CodesMetric("sap"), batch=200) for _ in range(2)]

    def gather(tensor, group=None):
        return [tensor, tensor + 0]

    joined = CodesMetric("sap", dist_sync_fn=gather, distributed_available_fn=lambda: True)
    joined.update(MEAN, STD, VALUES)
    joined.compute()
    assert joined.card.num_images == 2 * len(MEAN)
    assert halves[0].compute() == halves[1].compute()


def test_it_is_copied_kept_and_collected():
    metric = fed(CodesMetric("sap", factor_names=NAMES))
    copies = metric.clone(), pickle.loads(pickle.dumps(metric))
    assert [copy.compute() for copy in copies] == [metric.compute()] * 2
    collection = MetricCollection({"codes": CodesMetric("sap")})
    collection.update(MEAN, STD, VALUES)
    assert collection.compute()["codes"] == metric.compute()


def test_mistakes_are_told():
    metric = CodesMetric("sap", factor_names=NAMES)
    metric.update(MEAN, STD, VALUES)
    with pytest.raises(CodesError, match="factors, types and std"):
        metric.update(MEAN, None, VALUES)
    with pytest.raises(CodesError, match="expected 1"):
        metric.update(MEAN, STD, VALUES[:, :1])
    with pytest.raises(SpecError, match="got elbo"):
        CodesMetric("elbo")


@pytest.mark.filterwarnings("ignore:The ``compute`` method of metric CodesMetric was called before")
def test_without_codes_it_says_so():
    with pytest.raises(CodesError, match="got none"):
        CodesMetric("sap").compute()


def test_without_torchmetrics_it_says_what_to_install(monkeypatch):
    monkeypatch.delitem(sys.modules, "unbraid.integrations.codes_metric")
    monkeypatch.setitem(sys.modules, "torchmetrics", None)
    with pytest.raises(SpecError, match=r"requires torchmetrics.*unbraid\[torchmetrics\]"):
        from unbraid.integrations import CodesMetric  # noqa: F401
