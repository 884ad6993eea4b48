"""The benchmark of the minibatch estimators: what it calls the truth is one, and an estimate from all images meets
it.
"""

import math

import pytest
import torch

from benchmarks import estimator_bias
from benchmarks.estimator_bias import PARTS, estimates, posteriors, truth

pytestmark = pytest.mark.slow

NUM_IMAGES = 128


@pytest.fixture(autouse=True)
def few_images(monkeypatch):
    for name, number in {
        "NUM_IMAGES": NUM_IMAGES,
        "NUM_TRUE_DRAWS": 3_000,
        "NUM_SEEN": 20 * NUM_IMAGES,
        "BATCH_SIZES": (32, 128),
    }.items():
        monkeypatch.setattr(estimator_bias, name, number)


def test_the_truth_adds_up_to_the_kl_divergence():
    """I(x, z) + TC + dimension-wise KL = mean KL(q(z | x) || p(z)); and I(x, z) <= log N."""
    posterior = posteriors()
    found = truth(posterior)
    kl = float((0.5 * (posterior.mean**2 + posterior.std**2 - 1) - posterior.std.log()).sum(dim=1).mean())
    # 3,000 draws of three chi-squares over 2 and of z^2 / 2: a standard error of about 0.03.
    assert sum(found) == pytest.approx(kl, abs=0.15)
    assert 0 < found[0] <= math.log(NUM_IMAGES)


@pytest.mark.parametrize("estimator", ["naive", "stratified_pairs"])
def test_with_all_images_in_the_batch_there_is_no_bias(estimator):
    posterior = posteriors()
    mean, error = estimates(posterior, estimator, NUM_IMAGES)
    # Four standard errors of the estimates, and as much of the truth as its docstring grants.
    assert bool(((mean - torch.tensor(truth(posterior))).abs() <= 4 * error + 0.1).all())


def test_weighted_batches_are_off_by_log_n():
    """MWS at B = N has the weights 1 / N^2 in place of 1 / N: log q(z) is low by log N, and I(x, z) high."""
    posterior = posteriors()
    plain, _ = estimates(posterior, "naive", NUM_IMAGES)
    mws, _ = estimates(posterior, "mws", NUM_IMAGES)
    assert float(mws[0] - plain[0]) == pytest.approx(math.log(NUM_IMAGES), abs=1e-4)  # float32 at most


@pytest.mark.slow
def test_the_table_has_a_line_for_every_estimate(capsys):
    estimator_bias.main()
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 3 + 2 * len(estimator_bias.ESTIMATORS)
    assert all(line.count("|") == 3 + len(PARTS) for line in lines)
