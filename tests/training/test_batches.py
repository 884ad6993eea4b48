import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from unbraid.training.batches import Batches


def seeds(*numbers):
    return torch.tensor(numbers)


@given(num_images=st.integers(2, 40), data=st.data())
def test_an_epoch_shows_every_image_once_apart_from_a_short_last_batch(num_images, data):
    batch_size = data.draw(st.integers(2, num_images))
    batches = Batches(seeds(0, 1), num_images, batch_size)
    for epoch in range(3):
        first = epoch * batches.steps_per_epoch
        shown = torch.cat([batches.rows(step) for step in range(first, first + batches.steps_per_epoch)], dim=1)
        assert shown.shape == (2, num_images // batch_size * batch_size)
        for member in shown:
            assert len(member.unique()) == len(member)
            assert 0 <= int(member.min()) <= int(member.max()) < num_images


def test_epochs_and_members_have_orders_of_their_own():
    batches = Batches(seeds(0, 1), 100, 100)
    first, second = batches.rows(0), batches.rows(1)
    assert not torch.equal(first[0], first[1])
    assert not torch.equal(first, second)


def test_every_image_is_as_likely_as_any_other_to_come_first():
    first = Batches(torch.arange(6000), 6, 2).rows(0)[:, 0].bincount(minlength=6)
    # 1000 each; the standard deviation is sqrt(6000 * 1/6 * 5/6) = 29, and 5 of those are 145.
    assert (first - 1000).abs().max() < 145


@pytest.mark.parametrize("weights", [None, torch.linspace(0.1, 1, 20)])
def test_a_member_sees_the_same_images_in_any_company(weights):
    together = Batches(seeds(7, 3, 11), 20, 6, weights)
    alone = Batches(seeds(3), 20, 6, weights)
    for step in range(10):
        assert torch.equal(together.rows(step)[1:2], alone.rows(step))


@pytest.mark.parametrize("weights", [None, torch.linspace(0.1, 1, 20)])
def test_a_batch_depends_on_the_step_alone_not_on_the_steps_before_it(weights):
    in_order, jumping = Batches(seeds(3, 4), 20, 6, weights), Batches(seeds(3, 4), 20, 6, weights)
    expected = [in_order.rows(step) for step in range(9)]
    for step in (8, 0, 5, 5, 2):
        assert torch.equal(jumping.rows(step), expected[step])


# ---- images with weights


def test_weighted_images_are_drawn_as_often_as_their_weight_says():
    weights = torch.tensor([0.5, 0.0, 0.3, 0.2, 0.0])
    rows = Batches(torch.arange(1000), 5, 5, weights).rows(0)
    frequency = rows.flatten().bincount(minlength=5) / rows.numel()
    # 5000 draws: the standard deviation is at most sqrt(0.25 / 5000) = 0.007.
    torch.testing.assert_close(frequency, weights, atol=0.035, rtol=0)


@pytest.mark.parametrize("impossible", [0, 2, 4])
def test_an_image_of_weight_zero_is_never_drawn(impossible):
    weights = torch.full((5,), 0.25)
    weights[impossible] = 0
    assert impossible not in Batches(torch.arange(20_000), 5, 5, weights).rows(0)


def test_weighted_batches_may_hold_an_image_twice():
    rows = Batches(seeds(0), 3, 3, torch.tensor([1.0, 0.0, 0.0])).rows(0)
    assert rows.tolist() == [[0, 0, 0]]


def test_weights_need_not_sum_to_one_to_the_last_bit():
    # float32 thirds sum to a little more than one, and sevenths of a million to a little less.
    for num_images in (3, 7, 1_000_003):
        weights = torch.full((num_images,), 1 / num_images)
        rows = Batches(torch.arange(1000), num_images, 3, weights).rows(0)
        assert 0 <= int(rows.min()) <= int(rows.max()) < num_images
