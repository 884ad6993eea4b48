"""Can the factors of the shaded faces, the stand-in for 3D Faces, be seen? A small supervised net is asked for all of
them, about images it has not seen.

    python -m benchmarks.faces                  the whole set: minutes on two cores
    python -m benchmarks.faces --identities 5   a part of it

Of all images 10 %, drawn at random, are held out. The linear row is a ridge regression onto all values of all factors,
from the same pixels.
"""

import argparse
import time
from collections.abc import Callable, Sequence

import torch
from torch import Tensor, nn
from torch.nn import functional

from unbraid._internal import draws
from unbraid.datasets import FactorImages, ShadedFaces

HELD_OUT = 0.1
BATCH_SIZE = 256
Model = Callable[[Tensor], Tensor]  # pixels to a score for each value of each factor


def split(num_images: int) -> tuple[Tensor, Tensor]:
    """Rows to train on and rows held out."""
    order = draws.permutation(torch.tensor([0]), "benchmarks/faces/split", 0, num_images)[0]
    num_held_out = round(HELD_OUT * num_images)
    return order[num_held_out:], order[:num_held_out]


def pixels(images: FactorImages, rows: Tensor) -> Tensor:
    """Intensities at half the resolution, which costs a quarter, and is the harder task."""
    return functional.avg_pool2d(images.batch(rows) - 0.25, 2)


def net_for(sizes: Sequence[int]) -> nn.Module:
    """Three layers of convolution, one that is full, and a logit for each value of each factor."""
    return nn.Sequential(
        nn.Conv2d(1, 16, 5, stride=2, padding=2),
        nn.ReLU(),
        nn.Conv2d(16, 32, 3, stride=2, padding=1),
        nn.ReLU(),
        nn.Conv2d(32, 64, 3, stride=2, padding=1),
        nn.ReLU(),
        nn.Flatten(),
        nn.LazyLinear(256),
        nn.ReLU(),
        nn.Linear(256, sum(sizes)),
    )


def train(images: FactorImages, rows: Tensor, num_epochs: float) -> nn.Module:
    sizes = [factor.size for factor in images.factor_table]
    with torch.random.fork_rng():
        torch.manual_seed(0)
        net = net_for(sizes)
        net(pixels(images, rows[:1]))
    optimizer = torch.optim.Adam(net.parameters(), lr=2e-3)
    num_steps = max(1, round(num_epochs * len(rows) / BATCH_SIZE))
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=4e-3, total_steps=num_steps)
    for step in range(num_steps):
        epoch, place = divmod(step * BATCH_SIZE, len(rows))
        if place < BATCH_SIZE:
            order = draws.permutation(torch.tensor([0]), "benchmarks/faces/order", epoch, len(rows))[0]
        batch = rows[order[place : place + BATCH_SIZE]]
        logits = net(pixels(images, batch)).split(sizes, dim=1)
        loss = sum(functional.cross_entropy(of_factor, images.values[batch, k]) for k, of_factor in enumerate(logits))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
    return net


def ridge(images: FactorImages, rows: Tensor, strength: float = 1.0) -> Model:
    """Least squares onto one-hot values, from all pixels and a constant."""
    sizes = [factor.size for factor in images.factor_table]
    num_pixels = pixels(images, rows[:1]).numel()
    gram, target = torch.zeros(num_pixels + 1, num_pixels + 1), torch.zeros(num_pixels + 1, sum(sizes))
    for batch in rows.split(4096):
        x = functional.pad(pixels(images, batch).flatten(1), (0, 1), value=1.0)
        y = torch.cat(
            [functional.one_hot(images.values[batch, k], size) for k, size in enumerate(sizes)], dim=1
        ).float()
        gram += x.T @ x
        target += x.T @ y
    weights = torch.linalg.solve(gram.double() + strength * torch.eye(num_pixels + 1), target.double()).float()
    return lambda x: x.flatten(1) @ weights[:-1] + weights[-1]


@torch.no_grad()
def accuracies(net: Model, images: FactorImages, rows: Tensor) -> list[float]:
    """The part of the rows of which each factor is named right, in the order of the factors."""
    sizes = [factor.size for factor in images.factor_table]
    right = torch.zeros(len(sizes), dtype=torch.int64)
    for batch in rows.split(4096):
        named = torch.stack([logits.argmax(dim=1) for logits in net(pixels(images, batch)).split(sizes, dim=1)], dim=1)
        right += (named == images.values[batch]).sum(dim=0)
    return (right / len(rows)).tolist()


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="Held-out accuracy of a small supervised net on the shaded faces.")
    parser.add_argument("--identities", type=int, default=50)
    parser.add_argument("--epochs", type=float, default=6.0)
    options = parser.parse_args(arguments)
    began, worked = time.perf_counter(), time.process_time()
    images = ShadedFaces(num_identities=options.identities).open()
    drawn = time.perf_counter()
    # On a machine that does other things too, the second number says what it took.
    print(
        f"Opened, and drawn where that was not done before: {drawn - began:.1f} s, {time.process_time() - worked:.1f} "
        "s of processor time."
    )
    training, held_out = split(len(images))
    print(f"{len(training):,} images to train on, {len(held_out):,} held out.\n")
    print(
        "| held-out accuracy, % | "
        + " | ".join(f"{factor.name} ({factor.size})" for factor in images.factor_table)
        + " |"
    )
    print("|---|" + "---|" * len(images.factor_table))
    print("| chance | " + " | ".join(f"{100 / factor.size:.1f}" for factor in images.factor_table) + " |")
    for name, net in (
        ("linear", ridge(images, training)),
        (f"net, {options.epochs:g} epochs", train(images, training, options.epochs)),
    ):
        print(
            f"| {name} | "
            + " | ".join(f"{100 * accuracy:.1f}" for accuracy in accuracies(net, images, held_out))
            + " |",
            flush=True,
        )
    print(
        f"\nTrained in {time.perf_counter() - drawn:.0f} s, {torch.get_num_threads()} thread(s), torch "
        f"{torch.__version__}."
    )


if __name__ == "__main__":
    main()
