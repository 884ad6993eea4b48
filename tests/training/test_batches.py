import threading
from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from tests.training.squares import MLP_SPEC, Squares, result
from unbraid.datasets import DSprites, FromArrays
from unbraid.datasets.dataset import FactorImages
from unbraid.datasets.pixels import Pixels
from unbraid.datasets.subsets import RandomSplit
from unbraid.datasets.weights import ChenDesign
from unbraid.objectives import BetaTCVAE, FactorVAE
from unbraid.training import Critic, TrainingOptions, train
from unbraid.training.batches import Batches, Feed, load_or_stream


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


SEEDS = torch.tensor([3, 8])


def skewed(images):
    return replace(images, weights=torch.linspace(0, 1, len(images)) / torch.linspace(0, 1, len(images)).sum())


@pytest.mark.parametrize("change", [lambda images: images, skewed], ids=["unweighted", "weighted"])
def test_streamed_batches_are_those_from_memory(change):
    images = change(Squares().load())
    loaded, streamed = Feed(images, SEEDS, 8), Feed(images.streamed_to("cpu"), SEEDS, 8)
    for step in range(11):  # over the ends of two epochs of four batches
        (rows, x), (rows_streamed, x_streamed) = loaded.batch(step), streamed.batch(step)
        torch.testing.assert_close(rows_streamed, rows, rtol=0, atol=0)
        torch.testing.assert_close(x_streamed, x, rtol=0, atol=0)
        torch.testing.assert_close(
            x, images.pixels[Batches(SEEDS, 36, 8, images.weights).rows(step)] / 255, rtol=0, atol=0
        )


def test_a_feed_can_start_anywhere_and_go_back():
    images = Squares().load()
    loaded, streamed = Feed(images, SEEDS, 8), Feed(images.streamed_to("cpu"), SEEDS, 8)
    for step in (17, 18, 2, 3, 40):
        torch.testing.assert_close(streamed.batch(step)[0], loaded.batch(step)[0])


class Watched(Pixels):
    """Bytes that note which thread asked for how many images, and fail on demand."""

    def __init__(self, pixels):
        self.pixels, self.threads, self.is_broken = pixels, [], False

    @property
    def shape(self):
        return self.pixels.shape

    @property
    def device(self):
        return self.pixels.device

    @property
    def nbytes(self):
        return self.pixels.nbytes

    def __getitem__(self, rows):
        if self.is_broken:
            raise OSError(5, "Input/output error")
        self.threads.append(threading.current_thread().name)
        return self.pixels[rows]

    def to(self, device):
        return self


def watched(images: FactorImages) -> FactorImages:
    return replace(images, pixels=Watched(images.pixels)).streamed_to("cpu")


def test_pixels_are_gathered_ahead_by_another_thread_and_only_once():
    images = watched(Squares().load())
    feed = Feed(images, SEEDS, 8)
    for step in range(5):
        feed.batch(step)
    feed._reader.shutdown()
    assert len(images.pixels.threads) == 5 + 2  # two steps ahead
    assert all(name.startswith("unbraid-feed") for name in images.pixels.threads)


def test_a_disk_that_fails_is_heard():
    images = watched(Squares().load())
    feed = Feed(images, SEEDS, 8)
    feed.batch(0)
    images.pixels.is_broken = True
    with pytest.raises(OSError, match="Input/output error"):
        [feed.batch(step) for step in range(1, 5)]


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"objective": FactorVAE(gamma=5.0), "critic": Critic(hidden=(8,))},
        {
            "objective": BetaTCVAE(estimator="stratified_pairs"),
            "sampling": ChenDesign("D", ("row", "column")),
            "subset": RandomSplit(0.8),
        },
    ],
    ids=["one-batch", "two-batches", "sampled-subset"],
)
def test_training_from_the_disk_gives_the_same_model_to_the_bit(tmp_path, changes):
    spec = replace(MLP_SPEC, num_steps=12, **changes)
    loaded = train([spec], [0, 1], folder=tmp_path / "loaded", options=TrainingOptions(stream=False))
    streamed = train([spec], [0, 1], folder=tmp_path / "streamed", options=TrainingOptions(stream=True))
    assert [result(run) for run in streamed] == [result(run) for run in loaded]


def test_a_memory_mapped_data_set_trains_alike_from_memory_and_from_the_disk(tmp_path, monkeypatch):
    monkeypatch.setenv("UNBRAID_CACHE", str(tmp_path / "cache"))
    sprites = DSprites(resolution=8, num_scales=2, num_orientations=3, num_positions=4)
    mine = FromArrays.from_arrays(
        np.random.default_rng(0).integers(0, 256, (60, 8, 8), dtype=np.uint8), weights=np.arange(60)
    )
    for dataset in (sprites, mine):
        spec = replace(MLP_SPEC, dataset=dataset, num_steps=20)
        folders = [tmp_path / f"{type(dataset).__name__}-{stream}" for stream in (True, False)]
        streamed, loaded = (
            train([spec], [0], folder=folder, options=TrainingOptions(stream=stream))
            for folder, stream in zip(folders, (True, False), strict=True)
        )
        assert result(streamed[0]) == result(loaded[0])


@pytest.mark.parametrize(("free", "streamed"), [(2 * 36 * 64, False), (2 * 36 * 64 - 1, True)])
def test_images_that_take_more_than_half_of_the_memory_are_streamed(monkeypatch, free, streamed):
    monkeypatch.setattr("unbraid.training.batches.free_memory", lambda device: free)
    assert load_or_stream(MLP_SPEC, "cpu").is_streamed == streamed


def test_the_user_may_decide(monkeypatch):
    monkeypatch.setattr("unbraid.training.batches.free_memory", lambda device: 1)
    assert not load_or_stream(MLP_SPEC, "cpu", stream=False).is_streamed
    monkeypatch.setattr("unbraid.training.batches.free_memory", lambda device: 2**40)
    assert load_or_stream(MLP_SPEC, "cpu", stream=True).is_streamed


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_on_a_gpu_streamed_batches_are_those_from_memory():
    images = skewed(Squares().load())
    loaded, streamed = Feed(images.to("cuda"), SEEDS.cuda(), 8), Feed(images.streamed_to("cuda"), SEEDS.cuda(), 8)
    for step in range(11):
        (rows, x), (rows_streamed, x_streamed) = loaded.batch(step), streamed.batch(step)
        assert x_streamed.device.type == "cuda"
        torch.testing.assert_close(rows_streamed, rows, rtol=0, atol=0)
        torch.testing.assert_close(x_streamed, x, rtol=0, atol=0)
