"""What the aggregate posterior of a fleet costs, forwards and backwards: summed as it is computed, or from a table of
all densities.

    python -m benchmarks.pairwise_speed                       the table, on the GPU if there is one
    python -m benchmarks.pairwise_speed --ways fused table    these ways alone
    python -m benchmarks.pairwise_speed --small               small settings, to see that it runs

A step is the gradient of an objective like that of beta-TCVAE with respect to codes, means and log-variances, for all
members together; on a GPU it is a CUDA graph. Printed are the median over turns, in milliseconds a member; the seconds
until the first step was done, compiling included; and how far the first member is from the formula in float64, relative
to the largest number: of the sums, and of the gradients.
"""

import argparse
import statistics
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import final

import torch
from torch import Tensor
from torch.func import grad, vmap
from torch.fx.experimental.proxy_tensor import make_fx

from unbraid.information.aggregate import log_aggregate, log_weights
from unbraid.information.gaussian_mixture import gaussian_log_aggregate
from unbraid.models.distributions import DiagonalGaussian

Aggregate = Callable[[Tensor, Tensor, Tensor, Tensor], tuple[Tensor, Tensor]]
Run = Callable[..., tuple[tuple[Tensor, ...], tuple[Tensor, Tensor]]]


@final
@dataclass(frozen=True)
class Size:
    """How large a fleet and its batches are."""

    num_members: int
    batch_size: int
    num_latents: int = 10

    def __str__(self) -> str:
        return f"{self.num_members} x {self.batch_size} x {self.num_latents}"


SIZES, SMALL = (Size(16, 2048), Size(64, 64)), (Size(2, 16, 3),)
NUM_STEPS, NUM_TURNS = 20, 5


def from_a_table(z: Tensor, loc: Tensor, log_var: Tensor, weights: Tensor) -> tuple[Tensor, Tensor]:
    pairwise = DiagonalGaussian(loc, log_var).pairwise_log_prob(z)
    return torch.logsumexp(pairwise.sum(dim=2) + weights, dim=1), log_aggregate(pairwise, weights)


def ways() -> dict[str, tuple[Aggregate, bool]]:
    """How to get the sums, and whether the step is compiled."""
    return {
        "fused": (gaussian_log_aggregate, False),
        "fused-compiled": (gaussian_log_aggregate, True),
        "table": (from_a_table, False),
        "table-compiled": (from_a_table, True),
    }


def a_fleet(size: Size, device: str) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Codes, means, log-variances and log weights."""
    shape, generator = (size.num_members, size.batch_size, size.num_latents), torch.Generator().manual_seed(0)
    loc, noise = (torch.randn(shape, generator=generator) for _ in range(2))
    log_var = -4 * torch.rand(shape, generator=generator)
    z = loc + (0.5 * log_var).exp() * noise
    weights = log_weights("stratified_pairs", size.batch_size, 737_280, dtype=torch.float32)
    return z.to(device), loc.to(device), log_var.to(device), weights.to(device)


def step_with(aggregate: Aggregate) -> Run:
    def objective(z: Tensor, loc: Tensor, log_var: Tensor, weights: Tensor) -> tuple[Tensor, tuple[Tensor, Tensor]]:
        joint, latents = aggregate(z, loc, log_var, weights)
        by_latent = latents.sum(dim=1)
        return (6 * (joint - by_latent) + by_latent - joint).mean(), (joint, latents)

    return vmap(grad(objective, argnums=(0, 1, 2), has_aux=True), in_dims=(0, 0, 0, None))


def measure(way: tuple[Aggregate, bool], size: Size, device: str) -> tuple[float, float, float, float]:
    """Milliseconds a member, seconds until the first step was done, and the errors of sums and gradients."""
    aggregate, is_compiled = way
    inputs, began = a_fleet(size, device), time.perf_counter()
    step = step_with(aggregate)
    if is_compiled:
        step = torch.compile(make_fx(step, tracing_mode="fake", _allow_non_fake_inputs=True)(*inputs))
    gradients, sums = step(*inputs)
    first = _now(device) - began
    first_member = [each[:1].double() for each in inputs[:3]]
    right_gradients, right_sums = step_with(from_a_table)(*first_member, inputs[3].double())
    errors = (max(map(_error, sums, right_sums)), max(map(_error, gradients, right_gradients)))
    del gradients, sums, right_gradients, right_sums
    replay = _captured(step, inputs) if device.startswith("cuda") else lambda: step(*inputs)
    seconds = statistics.median(_turns(replay, device))
    return seconds / NUM_STEPS / size.num_members * 1000, first, *errors


def _error(found: Tensor, right: Tensor) -> float:
    return float((found[:1] - right).abs().max() / right.abs().max())


def _captured(step: Run, inputs: tuple[Tensor, ...]) -> Callable[[], object]:
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        step(*inputs)
    torch.cuda.current_stream().wait_stream(stream)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        step(*inputs)
    return graph.replay


def _turns(replay: Callable[[], object], device: str) -> Iterator[float]:
    replay()
    for _ in range(NUM_TURNS):
        began = _now(device)
        for _ in range(NUM_STEPS):
            replay()
        yield _now(device) - began


def _now(device: str) -> float:
    if device.startswith("cuda"):
        torch.cuda.synchronize()
    return time.perf_counter()


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--small", action="store_true")
    parser.add_argument("--ways", nargs="*", default=list(ways()), choices=list(ways()))
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    given = parser.parse_args(arguments)
    machine = (
        torch.cuda.get_device_name() if given.device.startswith("cuda") else f"CPU, {torch.get_num_threads()} threads"
    )
    print(f"torch {torch.__version__}, {machine}\n")
    print(
        "| members x batch x latents | way | ms a member | first step, s | error of sums | of gradients "
        "|\n|---|---|---|---|---|---|"
    )
    for size in SMALL if given.small or given.device == "cpu" else SIZES:
        for name in given.ways:
            milliseconds, first, of_sums, of_gradients = measure(ways()[name], size, given.device)
            print(
                f"| {size} | {name} | {milliseconds:.4f} | {first:.1f} | {of_sums:.1e} | {of_gradients:.1e} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
