"""What the convolutions of a fleet cost: forward and backward through the D-dSprites nets, with our layers and with
torch's.

    python -m benchmarks.conv_speed            64 members, 64 images each, on the GPU
    python -m benchmarks.conv_speed --small    2 members, 4 images each, on whatever there is, to see that it runs

Our layers are products of matrices there; the step is traced, compiled and replayed as a CUDA graph, as a fleet's is.
torch's layers are mapped over members as they are, without and with a CUDA graph. Printed are the medians over turns,
in milliseconds a member, and the seconds until the first step was done. There are no latents, no optimizer and no
dataset here: the codes are the encoder's first numbers. On a CPU nothing is compiled, and our layers are torch's.
"""

import argparse
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import final

import torch
from torch import Tensor, nn
from torch.func import functional_call, grad, vmap
from torch.fx.experimental.proxy_tensor import make_fx
from torch.nn.functional import binary_cross_entropy_with_logits

from unbraid._internal.precision import Precision, matrix_units, nets_run_in
from unbraid.models import Conv
from unbraid.models.distributions import GaussianLatents

IMAGE_SHAPE, NUM_LATENTS = (1, 64, 64), 10
PRECISIONS: tuple[Precision, ...] = ("bf16", "tf32")
Step = Callable[[], object]


@final
@dataclass(frozen=True)
class Way:
    """Whose layers, and how their step is run."""

    name: str
    ours: bool
    compiled: bool
    replayed: bool


WAYS = (
    Way("ours, compiled, CUDA graph", ours=True, compiled=True, replayed=True),
    Way("torch's, eager, CUDA graph", ours=False, compiled=False, replayed=True),
    Way("torch's, eager", ours=False, compiled=False, replayed=False),
)


@final
@dataclass(frozen=True)
class Settings:
    """How large the fleet is and how long it runs."""

    num_members: int = 64
    num_images: int = 64
    num_steps: int = 10
    num_turns: int = 5


SMALL = Settings(2, 4, 1, 1)


class Nets(nn.Module):
    """Images to logits by way of codes."""

    def __init__(self, *, ours: bool) -> None:
        super().__init__()
        self.encoder = Conv().make_encoder(IMAGE_SHAPE, GaussianLatents(NUM_LATENTS))
        self.decoder = Conv().make_decoder(NUM_LATENTS, IMAGE_SHAPE)
        if not ours:
            for net in (self.encoder, self.decoder):
                for place, layer in enumerate(net):
                    net[place] = torchs(layer)

    def forward(self, x: Tensor) -> Tensor:
        return self.decoder(self.encoder(x)[:, :NUM_LATENTS])


def torchs(layer: nn.Module) -> nn.Module:
    """torch's own layer in place of ours."""
    for kind in (nn.Conv2d, nn.ConvTranspose2d):
        if isinstance(layer, kind):
            return kind(layer.in_channels, layer.out_channels, kernel_size=4, stride=2, padding=1)
    return layer


def gradients(nets: Nets, dtype: torch.dtype) -> Callable[[dict[str, Tensor], Tensor], dict[str, Tensor]]:
    """A function of all members' weights and images."""

    def loss(weights: dict[str, Tensor], x: Tensor) -> Tensor:
        logits = functional_call(nets, {name: each.to(dtype) for name, each in weights.items()}, x.to(dtype))
        return binary_cross_entropy_with_logits(logits.float(), x, reduction="sum") / len(x)

    return vmap(grad(loss))


def step_of(way: Way, precision: Precision, settings: Settings, device: str) -> Step:
    with torch.device("meta"):
        nets = Nets(ours=way.ours)
    generator = torch.Generator().manual_seed(0)
    weights = {
        name: (0.05 * torch.randn(settings.num_members, *each.shape, generator=generator)).to(device)
        for name, each in nets.named_parameters()
    }
    images = torch.rand(settings.num_members, settings.num_images, *IMAGE_SHAPE, generator=generator).round().to(device)
    function = gradients(nets, nets_run_in(precision))
    if way.compiled:
        function = make_fx(function, tracing_mode="fake")(weights, images)
        if device == "cuda":
            function = torch.compile(function)

    def step() -> object:
        with torch.no_grad():
            return function(weights, images)

    return replayed(step) if way.replayed and device == "cuda" else step


def replayed(step: Step) -> Step:
    """The same step as one launch."""
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for _ in range(3):
            step()
    torch.cuda.current_stream().wait_stream(stream)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        kept = step()

    def replay() -> object:
        graph.replay()
        return kept

    return replay


def measure(way: Way, precision: Precision, settings: Settings, device: str) -> tuple[float, float]:
    """Milliseconds a member, and seconds until the first step is done."""
    began = now(device)
    with matrix_units(precision, torch.device(device)):
        step = step_of(way, precision, settings, device)
        step()
        prepared = now(device) - began
        turns = []
        for _ in range(settings.num_turns):
            began = now(device)
            for _ in range(settings.num_steps):
                step()
            turns.append((now(device) - began) / settings.num_steps / settings.num_members * 1000)
    return statistics.median(turns), prepared


def now(device: str) -> float:
    if device == "cuda":
        torch.cuda.synchronize()
    return time.perf_counter()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--small", action="store_true", help="2 members and 4 images, to see that it runs")
    settings = SMALL if parser.parse_args().small else Settings()
    device = "cuda" if torch.cuda.is_available() else "cpu"
    name = torch.cuda.get_device_name() if device == "cuda" else "CPU"
    print(f"{settings.num_members} members, {settings.num_images} images each, {name}, torch {torch.__version__}\n")
    print("| precision | layers | ms a member | s until the first step |\n|---|---|---|---|")
    for precision in PRECISIONS:
        for way in WAYS:
            milliseconds, prepared = measure(way, precision, settings, device)
            print(f"| {precision} | {way.name} | {milliseconds:.4f} | {prepared:.1f} |", flush=True)


if __name__ == "__main__":
    main()
