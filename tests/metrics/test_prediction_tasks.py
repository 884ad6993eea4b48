"""Rows to fit on and rows to test on: disjoint, labeled, and enough of them."""

import pytest
import torch

from unbraid.codes import Codes, Labels
from unbraid.errors import CodesError
from unbraid.metrics.predicting.prediction_tasks import check_classes, prediction_tasks
from unbraid.metrics.reductions.statistics import Statistics


def statistics(num_images=90, **labels):
    mean = torch.arange(num_images).double()[:, None]
    return Statistics(Codes(mean, factors=(Labels("v", torch.arange(num_images) % 3, **labels),)))


def test_rows_are_disjoint_and_split_two_to_one_where_there_are_few():
    task = prediction_tasks(statistics(), 10_000, 5_000, 0)[0]
    train, test = set(task.train_codes[:, 0].tolist()), set(task.test_codes[:, 0].tolist())
    assert (len(train), len(test)) == (60, 30)
    assert not train & test
    assert torch.equal(task.train_labels, task.train_codes[:, 0].long() % 3)


def test_only_rows_with_labels_are_used():
    known = torch.arange(90) % 2 == 0
    task = prediction_tasks(statistics(known=known), 20, 10, 0)[0]
    assert (len(task.train_labels), len(task.test_labels)) == (20, 10)
    assert bool((torch.cat([task.train_codes, task.test_codes]) % 2 == 0).all())


def test_labels_keep_their_distances():
    codes = Codes(torch.arange(9).double()[:, None], factors=(Labels("v", torch.tensor([0, 1, 100] * 3)),))
    assert set(prediction_tasks(Statistics(codes), 10, 10, 0)[0].train_labels.tolist()) <= {0, 1, 100}


def test_a_constant_factor_has_no_task():
    codes = Codes(torch.arange(9).double()[:, None], factors=(Labels("v", torch.zeros(9, dtype=torch.int64)),))
    assert prediction_tasks(Statistics(codes), 10, 10, 0) == {}


def test_too_few_labels_are_refused():
    with pytest.raises(CodesError, match="at least 3"):
        prediction_tasks(statistics(2), 10, 10, 0)


def test_fewer_images_than_classes_is_one_clear_sentence():
    codes = Codes(torch.arange(9).double()[:, None], factors=(Labels("id", torch.arange(9)),))
    with pytest.raises(CodesError, match="SAP: factor 'id' has 9 values in 6 training images"):
        check_classes("SAP", prediction_tasks(Statistics(codes), 10, 10, 0).values())
