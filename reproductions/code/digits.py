"""Figure 7 of Esmaeili et al.: thicker digits that stay what they are, judged by an independent classifier."""

import functools
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from scipy import stats
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from reproductions.item import Numbers, of_each
from unbraid import Run
from unbraid.datasets import MNIST
from unbraid.metrics import Informativeness
from unbraid.models import category_samples

_SEED, _BATCH_SIZE, _NUM_EPOCHS, _LEARNING_RATE, _AT_ONCE = 20_180_406, 128, 4, 1e-3, 1024
_STARTS_EACH, _NUM_DRAWS, _NUM_MEASURED = 100, 1000, 10_000
_ENDS, _NUM_FRAMES, _NUM_DIGITS, _UNUSED = (-3.0, 3.0), 7, 10, 0.01


@functools.cache
def digit_classifier() -> tuple[nn.Module, float]:
    """Returns a classifier and its accuracy on test digits: two convolutions and a linear layer, four epochs of Adam over
    the training part of MNIST, on the CPU.
    """
    train, test = (MNIST(split=split).load() for split in ("train", "test"))
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(_SEED)
        net = nn.Sequential(
            nn.Conv2d(1, 16, 5, stride=2, padding=2),
            nn.ReLU(),
            nn.Conv2d(16, 32, 5, stride=2, padding=2),
            nn.ReLU(),
            nn.Flatten(),
            nn.Linear(32 * 7 * 7, 10),
        )
    optimizer, generator = torch.optim.Adam(net.parameters(), lr=_LEARNING_RATE), torch.Generator().manual_seed(_SEED)
    with torch.enable_grad():
        for _ in range(_NUM_EPOCHS):
            for rows in torch.randperm(len(train), generator=generator).split(_BATCH_SIZE):
                optimizer.zero_grad()
                cross_entropy(net(train.batch(rows)), train.values[rows, 0]).backward()
                optimizer.step()
    net.eval().requires_grad_(False)
    rows = torch.arange(len(test))
    right = shown_digits(net, test.batch(rows)) == test.values[rows, 0]
    return net, float(right.double().mean())


@torch.no_grad()
def shown_digits(net: nn.Module, images: Tensor) -> Tensor:
    """Returns which digit each image shows."""
    return torch.cat([net(block.float()).argmax(dim=1) for block in images.split(_AT_ONCE)])


@functools.cache
def _thickness(dataset: MNIST) -> tuple[np.ndarray, np.ndarray]:
    """Returns the digit and the thickness of every image."""
    images = replace(dataset, shape_factors=True).open()
    names = [factor.name for factor in images.factor_table]
    values = images.values.double().numpy()
    return values[:, names.index("digit")], values[:, names.index("thickness")]


def thickness_latent(run: Run, count: int) -> tuple[int, float]:
    """Returns the informative latent with the highest mean |rank correlation| with the thickness within digits."""
    codes = run.codes()
    rows = torch.linspace(0, len(codes.mean) - 1, min(count, len(codes.mean))).long()
    digit, thickness = (column[rows.numpy()] for column in _thickness(run.spec.dataset))
    means = codes.mean[rows].double().numpy()
    table = np.array([_correlations(means[digit == d], thickness[digit == d]) for d in range(_NUM_DIGITS)])
    nats = np.array(Informativeness()(codes).per_latent)[: means.shape[1]]
    strengths = table.mean(axis=0) * ((nats > _UNUSED) | (nats <= _UNUSED).all())
    return int(strengths.argmax()), float(strengths.max())


def _correlations(means: np.ndarray, thickness: np.ndarray) -> np.ndarray:
    """Returns |Spearman's correlation| of each latent with the thickness; 0 where it is not defined."""
    known = ~np.isnan(thickness)
    if known.sum() < 3:
        return np.zeros(means.shape[1])
    ranks = stats.rankdata(np.column_stack([means[known], thickness[known]]), axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.nan_to_num(np.abs(np.corrcoef(ranks, rowvar=False)[-1, :-1]))


def _starts(images: Any, count: int) -> Tensor:
    digits = images.values[:, 0]
    return torch.cat([(digits == digit).nonzero()[:count, 0] for digit in range(_NUM_DIGITS)])


def _thick_digits(run: Run) -> Numbers:
    """Returns whether digits stay what they are along the latent of thickness, and which digits categories show."""
    net, accuracy = digit_classifier()
    images, codes = run.spec.training_data.open(), run.codes()
    latent, correlation = thickness_latent(run, _NUM_MEASURED)
    starts = _starts(images, _STARTS_EACH)
    strips = run.traverse(images=starts.tolist(), latents=latent, range=_ENDS, num_frames=_NUM_FRAMES).strips
    digits = images.values[starts, 0]
    kept = torch.stack([shown_digits(net, s.frames) == digit for s, digit in zip(strips, digits, strict=True)])
    unmoved = shown_digits(net, run.model().reconstruct(images.batch(starts))) == digits
    found = {
        "kept-share": float(kept.double().mean()),
        "kept-share:at the ends": float(kept[:, [0, -1]].double().mean()),
        "kept-share:unmoved": float(unmoved.double().mean()),
        "thickness-correlation": correlation,
        "classifier-accuracy": accuracy,
    }
    if codes.probabilities:
        shown = [shown_digits(net, s.frames) for s in category_samples(run.model(), num_draws=_NUM_DRAWS, seed=0).strips]
        counts = torch.stack([each.bincount(minlength=_NUM_DIGITS) for each in shown])
        found["modal-share"] = float((counts.max(dim=1).values / _NUM_DRAWS).mean())
        found["modal-digits"] = float(len(counts.argmax(dim=1).unique()))
    return found


thick_digits = of_each(_thick_digits)


def thickness_pictures(run: Run) -> dict[str, bytes]:
    """Returns a digit of each kind along the latent of thickness, and draws from the prior by category."""
    latent, _ = thickness_latent(run, 1000)
    starts = _starts(run.spec.training_data.open(), 1).tolist()
    found = {"thickness": run.traverse(starts, latents=latent, range=_ENDS, num_frames=_NUM_FRAMES).png()}
    if run.spec.model.latents.num_discrete:
        found["categories"] = category_samples(run.model(), num_draws=12, seed=0).png()
    return found
