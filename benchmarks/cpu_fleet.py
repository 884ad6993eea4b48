"""How long a training step takes on the CPU: a fleet of 8 against 8 textbook loops, with and without memory kept after
it is freed.

    python -m benchmarks.cpu_fleet

Each row runs in a process of its own, in turn, three times; medians are printed, in milliseconds per model and step.
Half of the models are VAEs, half beta-TCVAEs. Steps are not logged, as most steps of training are not.
Ratios are to the textbook loop of the same net in the same run. Machines are noisy: compare ratios, not times.
"""

import statistics
import subprocess
import sys
import time

import torch

from unbraid import MLP, VAE, Autoencoder, BetaTCVAE, Conv, DSprites, RunSpec
from unbraid._internal import draws
from unbraid._internal.memory import keep_freed_memory
from unbraid.models import Architecture
from unbraid.objectives import Step
from unbraid.training import Fleet, Member

MLP_256 = MLP(hidden=(256, 256), decoder_hidden=(256, 256, 256))
NETS: dict[str, tuple[Architecture, int]] = {
    "quickstart conv, batch 32": (Conv(channels=(16, 16, 32, 32)), 32),
    "D-dSprites conv, batch 32": (Conv(), 32),
    "MLP 256, batch 32": (MLP_256, 32),
    "MLP 256, batch 512": (MLP_256, 512),
}
WAYS = ("textbook loop", "fleet of 8", "fleet of 8, memory kept")
NUM_MEMBERS, NUM_STEPS, NUM_REPEATS = 8, 20, 3
DATASET = DSprites(resolution=32, shapes=("heart",), num_orientations=1, num_positions=16)


def spec_of(net: str, member: int) -> RunSpec:
    objective = VAE() if member < NUM_MEMBERS // 2 else BetaTCVAE(beta=4.0)
    architecture, batch_size = NETS[net]
    return RunSpec(DATASET, Autoencoder(architecture), objective, num_steps=1000, batch_size=batch_size)


def fleet_step(net: str):
    fleet = Fleet([Member(spec_of(net, seed), seed) for seed in range(NUM_MEMBERS)], DATASET.load())
    return lambda: fleet.advance(log=False)


def textbook_step(net: str):
    """Plain modules, torch's Adam, one model after the other: what one would write without a fleet."""
    images = DATASET.load()
    specs = [spec_of(net, seed) for seed in range(NUM_MEMBERS)]
    models = [spec.model.build(images.image_shape, seed) for seed, spec in enumerate(specs)]
    optimizers = [torch.optim.Adam(model.parameters(), lr=1e-3) for model in models]

    def step() -> None:
        for seed, (spec, model, optimizer) in enumerate(zip(specs, models, optimizers, strict=True)):
            x = images.batch(draws.permutation(torch.tensor([seed]), "batch", 0, len(images))[0, : spec.batch_size])
            posterior = model.encode(x)
            z = posterior.rsample(
                draws.normal(torch.tensor([seed]), "noise", 0, tuple(posterior.mean.shape))[0].float()
            )
            loss = spec.objective(
                Step(
                    x=x,
                    posterior=posterior,
                    z=z,
                    log_likelihood=model.likelihood.log_prob(x, model.decoder(z)),
                    prior=model.prior,
                    dataset_size=len(images),
                    progress=torch.tensor(0.0),
                    is_logged=False,
                )
            )
            optimizer.zero_grad()
            loss.total.backward()
            optimizer.step()

    return step


def measure(way: str, net: str) -> float:
    """Milliseconds per model and step, in this process."""
    if way == WAYS[2]:
        keep_freed_memory()
    step = textbook_step(net) if way == WAYS[0] else fleet_step(net)
    for _ in range(3):
        step()
    began = time.perf_counter()
    for _ in range(NUM_STEPS):
        step()
    return (time.perf_counter() - began) / NUM_STEPS / NUM_MEMBERS * 1000


def main() -> None:
    if len(sys.argv) == 3:
        print(measure(sys.argv[1], sys.argv[2]))
        return
    print(f"{NUM_MEMBERS} models, 32 x 32 pixels, torch {torch.__version__}, {torch.get_num_threads()} threads\n")
    print("| net | way | ms per model and step | ratio |\n|---|---|---|---|")
    for net in NETS:
        times: dict[str, list[float]] = {way: [] for way in WAYS}
        for _ in range(NUM_REPEATS):
            for way in WAYS:
                done = subprocess.run(
                    [sys.executable, "-m", "benchmarks.cpu_fleet", way, net], capture_output=True, text=True, check=True
                )
                times[way].append(float(done.stdout))
        medians = {way: statistics.median(of_way) for way, of_way in times.items()}
        for way in WAYS:
            print(f"| {net} | {way} | {medians[way]:.2f} | {medians[way] / medians[WAYS[0]]:.2f} |", flush=True)


if __name__ == "__main__":
    main()
