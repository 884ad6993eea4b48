"""What each objective costs: a step of a fleet against a step of the beta-TCVAE fleet of the same net and size.

    python -m benchmarks.objective_speed                        the table, on the GPU if there is one
    python -m benchmarks.objective_speed --small                small settings, to see that it runs
    python -m benchmarks.objective_speed --rows FactorVAE HFVAE those whose names begin so

The two fleets take turns, so that both see the same state of the machine: some steps of one, as many of the other, and
so on. Printed are medians over turns, in milliseconds per model and step. The limits are 1.5, and 2.5 where a critic
is trained too. They are set for the D-dSprites net; for a smaller net the critic, whose size does not shrink with it,
has none.
"""

import argparse
import inspect
import statistics
import time
from dataclasses import dataclass, field
from typing import final

import torch

from unbraid import MLP, VAE, Autoencoder, BetaTCVAE, Conv, DSprites, RunSpec, objectives
from unbraid.datasets.dataset import FactorDataset, FactorImages
from unbraid.models.distributions import (
    DeterministicLatents,
    FlowPrior,
    GaussianLatents,
    GroupedLatents,
    Latents,
    LearnedGaussianPrior,
    UniformPrior,
)
from unbraid.objectives import AAE, DIPVAE, HFVAE, BetaSVAE, Composite, FactorVAE, InfoGAN, InfoVAE, Objective
from unbraid.training import Critic, Fleet, Member

LIMIT, LIMIT_WITH_CRITIC = 1.5, 2.5


@final
@dataclass(frozen=True)
class Row:
    """One objective, with the net and the latents it is timed with. `note` says how it differs from the objective's
    defaults.
    """

    objective: Objective
    model: Autoencoder = field(default_factory=lambda: Autoencoder(Conv()))
    note: str = ""
    critic: Critic | None = None

    @property
    def name(self) -> str:
        return f"{type(self.objective).__name__}{self.note and f', {self.note}'}"

    @property
    def limit(self) -> float | None:
        if self.objective.critic_reads is None:
            return LIMIT
        return LIMIT_WITH_CRITIC if isinstance(self.model.encoder, Conv) else None


@final
@dataclass(frozen=True)
class Settings:
    """How large the fleets are and how long they run."""

    dataset: FactorDataset = field(default_factory=lambda: DSprites(num_orientations=4, num_positions=16))
    num_members: int = 16
    batch_size: int = 64
    num_warm_up_steps: int = 5
    num_steps: int = 10
    num_turns: int = 5


SMALL = Settings(DSprites(resolution=32, shapes=("heart",), num_orientations=1, num_positions=8), 2, 8, 1, 1, 1)
NAMES = {Conv: "D-dSprites conv", MLP: "MLP 256"}
_INFOGAN = Autoencoder(Conv(), latents=GaussianLatents(10, prior=UniformPrior()), noise_inputs=5)
_MLP = Autoencoder(MLP(hidden=(256, 256), decoder_hidden=(256, 256, 256)))


def every_row() -> list[Row]:
    """Each objective of the package, as it comes where nothing else is said; then other ways to set them up; then some
    with an MLP.
    """
    own = {
        type(row.objective): row
        for row in (Row(AAE(), _with(DeterministicLatents(10)), "deterministic"), Row(InfoGAN(), _INFOGAN))
    }
    with_mlp = (VAE(), HFVAE(), DIPVAE(), InfoVAE(), FactorVAE())
    return [
        *(own.get(cls) or Row(cls()) for cls in _every_objective()),
        *other_ways(),
        *(Row(objective, _MLP) for objective in with_mlp),
    ]


def other_ways() -> list[Row]:
    """Latents, priors, critics and terms that compute more, or less, than the defaults."""
    net, groups = Conv(), ((0, 1, 2, 3, 4), (5, 6), (7, 8), (9,))
    learned = GroupedLatents((GaussianLatents(5, LearnedGaussianPrior()), GaussianLatents(5, LearnedGaussianPrior())))
    return [
        Row(AAE(), note="stochastic"),
        Row(
            InfoGAN(shared_trunk=False),
            _INFOGAN,
            "with a critic of its own, of all layers of the net",
            Critic(hidden=(net.hidden,), channels=net.channels),
        ),
        Row(BetaSVAE(), _with(GroupedLatents()), "10 continuous latents and 1 discrete"),
        Row(HFVAE(), _with(GroupedLatents()), "10 continuous latents and 1 discrete"),
        Row(HFVAE(groups=groups), note="4 groups"),
        Row(HFVAE(), _with(learned), "2 groups, each with a learned Gaussian prior"),
        Row(
            HFVAE(groups=groups),
            _with(GaussianLatents(10, LearnedGaussianPrior())),
            "4 groups across one learned Gaussian prior",
        ),
        Row(BetaTCVAE(), _with(GaussianLatents(10, FlowPrior())), "flow prior"),
        Row(DIPVAE(kind="ii", mode="moments"), note="kind ii, running moments"),
        Row(FactorVAE(same_batch=True), note="same batch"),
        Row(Composite(anchors=(0,), capacity=10.0, covariance="ii", critic=True), note="all terms"),
    ]


def _every_objective() -> list[type[Objective]]:
    classes = [cls for _, cls in inspect.getmembers(objectives, inspect.isclass)]
    return [cls for cls in classes if issubclass(cls, Objective) and not inspect.isabstract(cls)]


def _with(latents: Latents) -> Autoencoder:
    return Autoencoder(Conv(), latents=latents)


def fleet_of(row: Row, settings: Settings, images: FactorImages) -> Fleet:
    spec = RunSpec(
        settings.dataset, row.model, row.objective, row.critic, num_steps=1000, batch_size=settings.batch_size
    )
    return Fleet([Member(spec, seed) for seed in range(settings.num_members)], images)


def measure(row: Row, settings: Settings, images: FactorImages) -> tuple[float, float]:
    """Milliseconds per model and step: of this row, and of beta-TCVAE with the same net."""
    fleets = [fleet_of(each, settings, images) for each in (row, Row(BetaTCVAE(), Autoencoder(row.model.encoder)))]
    for fleet in fleets:
        _seconds(fleet, settings.num_warm_up_steps)
    turns = [[_seconds(fleet, settings.num_steps) for fleet in fleets] for _ in range(settings.num_turns)]
    own, of_beta_tcvae = (
        statistics.median(times) / settings.num_steps / settings.num_members * 1000
        for times in zip(*turns, strict=True)
    )
    return own, of_beta_tcvae


def line(row: Row, own: float, of_beta_tcvae: float) -> str:
    ratio = own / of_beta_tcvae
    limit = "" if row.limit is None else f"{row.limit}{' exceeded' if ratio > row.limit else ''}"
    return (
        f"| {NAMES[type(row.model.encoder)]} | {row.name} | {own:.3f} | {of_beta_tcvae:.3f} | {ratio:.2f} | {limit} |"
    )


def _seconds(fleet: Fleet, num_steps: int) -> float:
    began = _now(fleet)
    for _ in range(num_steps):
        fleet.advance()
    return _now(fleet) - began


def _now(fleet: Fleet) -> float:
    if fleet.weights.is_cuda:
        torch.cuda.synchronize()
    return time.perf_counter()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--small", action="store_true")
    parser.add_argument("--rows", nargs="*", default=[""])
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    given = parser.parse_args()
    settings = SMALL if given.small else Settings()
    images = settings.dataset.load(given.device)
    _, height, width = images.image_shape
    machine = (
        torch.cuda.get_device_name() if given.device.startswith("cuda") else f"CPU, {torch.get_num_threads()} threads"
    )
    print(
        f"{settings.num_members} models, batch {settings.batch_size}, {height} x {width} pixels, torch "
        f"{torch.__version__}, {machine}\n"
    )
    print("| net | objective | ms per model and step | beta-TCVAE | ratio | limit |\n|---|---|---|---|---|---|")
    for row in every_row():
        if row.name.startswith(tuple(given.rows)):
            print(line(row, *measure(row, settings, images)), flush=True)


if __name__ == "__main__":
    main()
