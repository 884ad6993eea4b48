"""The benchmark of the metrics runs: every row, both tables at its end, and the codes that it makes. How long they take
is not tested.
"""

import math

import pytest

from benchmarks import metric_speed
from benchmarks.dsprites_codes import SIZES, dsprites_codes
from benchmarks.metric_speed import (
    FUNCTIONS,
    PLAIN,
    ROWS,
    deterministic_codes,
    errors,
    exponents,
    measure,
    scores,
    seconds_by_metric,
    seconds_of_functions,
)
from unbraid.metrics import RMIG, SEPIN
from unbraid.metrics.estimators import Sampled
from unbraid.metrics.evaluate import evaluate

pytestmark = pytest.mark.slow

NUM_IMAGES = 2_000


@pytest.fixture(autouse=True)
def few_draws_on_the_cpu(monkeypatch):
    monkeypatch.setattr(metric_speed, "_device", lambda: "cpu")
    monkeypatch.setitem(ROWS, "sampled", ("SEPIN, 100 draws", scores((SEPIN(Sampled(num_samples=100)),))))
    # In place of the whole scorecard and of minutes of trees, which are tested elsewhere.
    monkeypatch.setitem(ROWS, "scorecard", ("RMIG", scores((RMIG(),))))
    monkeypatch.setitem(ROWS, "boosted_trees", ("RMIG", scores((RMIG(),))))


def test_the_codes_have_the_factors_of_dsprites():
    codes = dsprites_codes(NUM_IMAGES)
    assert codes.mean.shape == (NUM_IMAGES, 10)
    assert {labels.name: int(labels.values.max()) + 1 for labels in codes.factors} == SIZES


@pytest.mark.parametrize("row", ["mig", "quantized", "sampled"])
@pytest.mark.slow
def test_a_row_has_a_time_a_size_and_the_plain_way(row):
    found = measure(row, 500)
    assert set(found) == {"seconds", "gigabytes", "plain"}
    assert all(number > 0 for number in found.values())


def test_a_row_without_a_plain_way_has_none():
    assert "scorecard" not in PLAIN
    assert math.isnan(measure("scorecard", 500)["plain"])


@pytest.mark.slow
def test_every_metric_of_the_scorecard_has_its_seconds():
    codes = dsprites_codes(500)
    found = seconds_by_metric(codes)
    assert tuple(found) == evaluate(codes, progress=False).names
    assert all(seconds > 0 for seconds in found.values())


def test_functions_are_timed_beside_their_classes_and_plain_code(monkeypatch):
    for slow in ("dci, boosted trees", "explicitness"):
        monkeypatch.delitem(FUNCTIONS, slow)
    found = seconds_of_functions(900)
    assert len(found) == 3 * len(FUNCTIONS)
    assert all(seconds > 0 for seconds in found.values())


@pytest.mark.parametrize(("name", "rounding"), [("mig", 1e-9), ("irs", 1e-5), ("sap", 0.1), ("explicitness", 0.05)])
def test_plain_code_has_the_number_of_the_function(name, rounding):
    mean, factors = (part[:, :4] for part in deterministic_codes(3_000))
    function, _, plain = FUNCTIONS[name]
    assert function(mean, None, factors) == pytest.approx(plain(mean.numpy(), factors.numpy()), abs=rounding)


def test_quadrature_in_cells_is_that_of_all_images():
    """The largest error of I(z_i; v_k), in nats: what the documentation promises of binned quadrature."""
    assert errors(NUM_IMAGES)[f"{NUM_IMAGES:,} images"] < 1e-3


@pytest.mark.slow
def test_exponents_are_slopes_of_time_over_size(monkeypatch):
    """Work that takes a second for each mean has slope 1 in images and in latents, and 0 in what it knows nothing
    of.
    """
    monkeypatch.setattr(metric_speed, "QUANTIZED", (RMIG(),))
    monkeypatch.setattr(metric_speed, "_seconds", lambda work, codes: float(codes.mean.numel()))
    found = exponents(dsprites_codes, 64)
    assert found == pytest.approx({name: 0.0 if name.endswith(("bins", "draws")) else 1.0 for name in found})
    assert len(found) == 8
