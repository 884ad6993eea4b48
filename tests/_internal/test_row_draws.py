"""Draws of rows: who may be drawn, how often, and that a seed says all."""

import pytest
import torch

from unbraid._internal import row_draws
from unbraid._internal.row_draws import ImagesByValue

LABELS = torch.tensor([2, 0, 1, 0, -1, 2, 0, 1, -1, 0])


def test_images_are_dealt_evenly():
    counts = torch.bincount(row_draws.draw_rows(25, 10, 0, "test"))
    assert set(counts.tolist()) == {2, 3}


def test_weighted_images_come_as_often_as_their_weight_says():
    weights = torch.tensor([1.0, 0.0, 3.0])
    counts = torch.bincount(row_draws.draw_rows(4000, 3, 0, "test", weights), minlength=3)
    assert counts[1] == 0
    assert float(counts[2]) / 4000 == pytest.approx(0.75, abs=0.03)  # four standard errors


@pytest.mark.parametrize(("num_images", "sizes"), [(100, (20, 10)), (24, (16, 8)), (1, (1, 0))])
def test_rows_to_fit_and_to_test_on_are_disjoint(num_images, sizes):
    train, test = row_draws.train_and_test_rows(num_images, 20, 10, 0, "test")
    assert (len(train), len(test)) == sizes
    assert len({*train.tolist(), *test.tolist()}) == sum(sizes)


def test_rows_come_from_the_known_ones():
    known = torch.arange(100) < 12
    train, test = row_draws.train_and_test_rows(100, 20, 10, 0, "test", known)
    assert sorted([*train.tolist(), *test.tolist()]) == list(range(12))
    assert len(train) == 8


@pytest.mark.parametrize("weights", [None, torch.ones(9)])
def test_without_a_known_row_there_are_none(weights):
    known = torch.zeros(9, dtype=torch.bool)
    assert [len(rows) for rows in row_draws.train_and_test_rows(9, 2, 2, 0, "test", known, weights)] == [0, 0]


def test_weighted_rows_follow_their_weights_and_stay_disjoint():
    weights = 1.0 + 9 * (torch.arange(6000) % 2).double()
    weights[:600] = 0
    train, test = row_draws.train_and_test_rows(6000, 2000, 1000, 0, "test", weights=weights)
    assert (len(train), len(test)) == (2000, 1000)
    assert not {*train.tolist()} & {*test.tolist()}
    assert int(torch.cat([train, test]).min()) >= 600
    assert float((train % 2).double().mean()) == pytest.approx(10 / 11, abs=0.03)


def test_an_image_drawn_to_share_a_value_shares_it():
    groups = ImagesByValue.from_assignment(LABELS)
    image = torch.tensor([0, 1, 2]).repeat(200)
    shared = groups.draw_sharing(image, row_draws.rand((600,), 0, "test"))
    assert torch.equal(LABELS[shared], LABELS[image])
    assert set(shared.tolist()) == set((LABELS >= 0).nonzero()[:, 0].tolist())


def test_draws_from_all_images_leave_unknown_ones_out():
    drawn = ImagesByValue.from_assignment(LABELS).draw(row_draws.rand((4000,), 0, "test"))
    shares = torch.bincount(drawn, minlength=10) / 4000
    torch.testing.assert_close(shares, (LABELS >= 0) / 8, atol=0.025, rtol=0)


def test_the_ends_of_the_unit_interval_stay_within_the_group():
    groups = ImagesByValue.from_assignment(LABELS, torch.linspace(0.1, 1.0, 10))
    ends = torch.tensor([0.0, 1.0], dtype=torch.float64)
    for image in range(10):
        if LABELS[image] >= 0:
            assert set(LABELS[groups.draw_sharing(torch.tensor([image, image]), ends)].tolist()) == {int(LABELS[image])}


def test_a_weighted_partner_follows_its_weight():
    weights = torch.tensor([1, 1, 1, 6, 9, 1, 2, 1, 9, 0]).double()
    groups = ImagesByValue.from_assignment(LABELS, weights)
    shared = groups.draw_sharing(torch.full((4000,), 1), row_draws.rand((4000,), 0, "test"))
    shares = torch.bincount(shared, minlength=10) / 4000
    assert set(shared.tolist()) == {1, 3, 6}
    assert float(shares[3]) == pytest.approx(6 / 9, abs=0.03)


def test_pairs_and_batches_share_the_value_of_their_factor():
    other = torch.arange(10) // 5
    factors = (ImagesByValue.from_assignment(LABELS), ImagesByValue.from_assignment(other))
    factor, first, second = row_draws.pairs_sharing_a_value(factors, 300, 4, 0, "test")
    members = row_draws.batches_sharing_a_value(factors, 300, 4, 0, "test")
    for labels, k in ((LABELS, 0), (other, 1)):
        assert 100 < int((factor == k).sum()) < 200
        assert torch.equal(labels[first[factor == k]], labels[second[factor == k]])
        shared = labels[members[1][members[0] == k]]
        assert bool((shared == shared[:, :1]).all())
    assert bool((labels[first[factor == 1]] != labels[first[factor == 1]][:, :1]).any()), (
        "each pair has a value of its own"
    )


def test_a_seed_says_all():
    factors = (ImagesByValue.from_assignment(LABELS),)
    again = [row_draws.pairs_sharing_a_value(factors, 20, 4, seed, "test")[1] for seed in (0, 0, 1)]
    assert torch.equal(again[0], again[1])
    assert not torch.equal(again[0], again[2])
