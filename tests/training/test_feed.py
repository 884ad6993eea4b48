import threading
from dataclasses import replace

import numpy as np
import pytest
import torch

from tests.training.squares import MLP_SPEC, Squares, result
from unbraid.datasets import DSprites, FromArrays
from unbraid.datasets.dataset import FactorImages
from unbraid.datasets.pixels.pixels import Pixels
from unbraid.datasets.subsets import RandomSplit
from unbraid.datasets.weights import ChenDesign
from unbraid.objectives import BetaTCVAE, FactorVAE
from unbraid.training import Critic, TrainingOptions, train
from unbraid.training.batches import Batches
from unbraid.training.feed import Feed
from unbraid.training.placement import load_or_stream

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
    monkeypatch.setattr("unbraid.training.placement.free_memory", lambda device: free)
    assert load_or_stream(MLP_SPEC, "cpu").is_streamed == streamed


def test_the_user_may_decide(monkeypatch):
    monkeypatch.setattr("unbraid.training.placement.free_memory", lambda device: 1)
    assert not load_or_stream(MLP_SPEC, "cpu", stream=False).is_streamed
    monkeypatch.setattr("unbraid.training.placement.free_memory", lambda device: 2**40)
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
