"""Estimators as functions: enumeration over a whole dataset."""

import pytest
import torch

from tests.functional.test_losses import LOGVAR, MEAN, ONE, N, Z, step
from unbraid import functional
from unbraid.objectives import DecomposedELBO

LOG_DENSITY = torch.distributions.Normal(MEAN, (0.5 * LOGVAR).exp()).log_prob(Z[:, None])


def test_a_batch_of_the_whole_data_set_has_the_mixture_itself():
    expected = LOG_DENSITY.logsumexp(dim=1) - torch.tensor(float(len(Z))).log()
    for estimator in ("naive", "stratified_pairs"):
        found = functional.aggregate_log_prob(Z, MEAN, LOGVAR, dataset_size=len(Z), estimator=estimator)
        torch.testing.assert_close(found, expected)


def test_groups_share_one_mixture():
    found = functional.aggregate_log_prob(Z, MEAN, LOGVAR, dataset_size=len(Z), groups=[(0, 1, 2)])
    expected = LOG_DENSITY.sum(dim=2).logsumexp(dim=1, keepdim=True) - torch.tensor(float(len(Z))).log()
    torch.testing.assert_close(found, expected)


@pytest.mark.parametrize("estimator", ["mws", "mss", "stratified_pairs"])
def test_the_parts_are_those_of_the_loss(estimator):
    zero = dict.fromkeys(
        ("mutual_information", "total_correlation", "total_correlation_within", "dimension_wise_kl"), 0.0
    )
    distortion = DecomposedELBO(**zero)(step()).total
    for name, function in (
        ("total_correlation", functional.total_correlation),
        ("mutual_information", functional.index_code_mutual_information),
    ):
        loss = DecomposedELBO(**zero | {name: 1.0}, estimator=estimator)(step()).total
        found = function(Z, MEAN, LOGVAR, estimator=estimator, **ONE)
        torch.testing.assert_close(found, loss - distortion)


def test_the_prior_takes_no_part_in_a_total_correlation():
    shifted = functional.total_correlation(Z + 3, MEAN + 3, LOGVAR, dataset_size=N)
    torch.testing.assert_close(functional.total_correlation(Z, MEAN, LOGVAR, dataset_size=N), shifted)
