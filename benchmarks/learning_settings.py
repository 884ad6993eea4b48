"""What `benchmarks.it_learns` trains: every objective on small sprites and on digits, broken encoders on sprites,
discrete codes on digits and clothes.
"""

from dataclasses import replace

from unbraid.config.schedule import Cosine, Linear
from unbraid.datasets import MNIST, DSprites
from unbraid.datasets.dataset import FactorDataset
from unbraid.models import Architecture, Autoencoder, Conv, EsmaeiliMNIST, SharingConv, SplitConv
from unbraid.models.distributions import (
    ConcreteLatents,
    CorrelatedGaussianLatents,
    DeterministicLatents,
    GaussianLatents,
    GroupedLatents,
    Latents,
)
from unbraid.objectives import (
    AAE,
    DIPVAE,
    HFVAE,
    VAE,
    AnchorVAE,
    AnnealedVAE,
    BetaSVAE,
    BetaTCVAE,
    BetaVAE,
    Composite,
    DecomposedELBO,
    FactorVAE,
    InfoGAN,
    InformationDropout,
    InfoVAE,
    Objective,
)
from unbraid.training import Critic
from unbraid.training.optimizers import Adam
from unbraid.training.runs.spec import RunSpec

HEARTS = DSprites(resolution=32, shapes=("heart",), num_scales=6, num_orientations=1, num_positions=16)
SHAPES = DSprites(resolution=32, num_scales=6, num_orientations=1, num_positions=16)
NUM_LATENTS = 10
CHANNELS = (16, 16, 32, 32)

# Smaller than the papers' five layers of 1000, and quicker to learn: these codes have a few factors, and training is
# short.
CRITIC_OF_CODES = Critic(hidden=(256, 256, 256), optimizer=Adam(1e-3, betas=(0.5, 0.9)))

WITH_ENCODERS: dict[str, Objective] = {
    "VAE": VAE(),
    "FactorVAE 10": FactorVAE(10.0),
    "beta-TCVAE 4": BetaTCVAE(beta=4.0),
}

Settings = dict[str, RunSpec]
"""What is trained, by the name it has in a table."""


def every_objective(base: RunSpec, categories: int | None) -> Settings:
    """Every objective from this base; with `categories`, also those on a code with a discrete latent beside the
    Gaussian ones.
    """
    halves = (tuple(range(NUM_LATENTS // 2)), tuple(range(NUM_LATENTS // 2, NUM_LATENTS)))
    settings = {name: _with(base, objective) for name, objective in _on_gaussian_codes(halves).items()}
    settings["AAE 10, stochastic"] = _with(base, AAE(10.0))
    for weight in (10.0, 1.0):
        settings[f"AAE {weight:g}, deterministic"] = _with(base, AAE(weight), DeterministicLatents(NUM_LATENTS))
    settings["InfoGAN"] = replace(_with(base, InfoGAN()), optimizer=replace(base.optimizer, betas=(0.5, 0.999)))
    return settings if categories is None else settings | on_discrete_codes(base, categories)


def on_discrete_codes(base: RunSpec, categories: int) -> Settings:
    """What takes a discrete latent, and the VAE with one."""
    latents = GroupedLatents((GaussianLatents(NUM_LATENTS), ConcreteLatents(categories)))
    objectives = {"VAE, discrete": VAE(), "beta-SVAE 4": BetaSVAE(4.0), "HFVAE 4, 3": HFVAE(beta=4.0, gamma=3.0)}
    return {name: _with(base, objective, latents) for name, objective in objectives.items()}


def _on_gaussian_codes(halves: tuple[tuple[int, ...], ...]) -> dict[str, Objective]:
    return {
        "VAE": VAE(),
        "beta-VAE 4": BetaVAE(4.0),
        "beta-TCVAE 4": BetaTCVAE(beta=4.0),
        "FactorVAE 10": FactorVAE(10.0),
        "annealed VAE": AnnealedVAE(gamma=100.0, capacity=Linear(0.0, 10.0, finish=0.8)),
        "DIP-VAE I": DIPVAE("i"),
        "DIP-VAE II": DIPVAE("ii"),
        "InfoVAE": InfoVAE(),
        "anchor VAE": AnchorVAE(anchors=(0, 1, 2)),
        "information dropout": InformationDropout(beta=1.0, gamma=4.0),
        "HFVAE, two groups": HFVAE(beta=4.0, gamma=3.0, groups=halves),
        "decomposed ELBO, TC +3": DecomposedELBO(
            rate=1.0,
            mutual_information=0.0,
            total_correlation=3.0,
            total_correlation_within=0.0,
            dimension_wise_kl=0.0,
            estimator="stratified_pairs",
        ),
        "composite, TC +3 and DIP": Composite(total_correlation=3.0, covariance="i", off_diagonal=10.0, diagonal=10.0),
    }


def sprites(num_steps: int) -> RunSpec:
    """The quickstart's images, a heart in 6 sizes at 16 x 16 places, and its net, with batches of 32 images."""
    model = Autoencoder(Conv(channels=CHANNELS), latents=GaussianLatents(NUM_LATENTS))
    return RunSpec(HEARTS, model, VAE(), num_steps=num_steps, batch_size=32, optimizer=Adam(2e-3))


def encoders(num_steps: int) -> Settings:
    """The objectives of `WITH_ENCODERS`, each as it is, with correlated noise, with the sharing-parameter encoder and
    with the split encoder.
    """
    base = sprites(num_steps)
    hidden = 128
    nets: dict[str, tuple[Architecture, Latents]] = {
        "baseline": (Conv(CHANNELS, hidden), GaussianLatents(NUM_LATENTS)),
        "noise of rho 0.9": (Conv(CHANNELS, hidden), CorrelatedGaussianLatents(NUM_LATENTS, rho=0.9)),
        "sharing": (SharingConv(CHANNELS, hidden=hidden), GaussianLatents(NUM_LATENTS)),
        "split": (SplitConv(CHANNELS, branch_width=32, hidden=hidden), GaussianLatents(NUM_LATENTS)),
    }
    return {
        f"{name}, {kind}": replace(_with(base, objective), model=Autoencoder(net, latents=latents))
        for name, objective in WITH_ENCODERS.items()
        for kind, (net, latents) in nets.items()
    }


def digits(num_steps: int) -> RunSpec:
    """MNIST with the nets of Esmaeili et al."""
    model = Autoencoder(EsmaeiliMNIST(), latents=GaussianLatents(NUM_LATENTS))
    return RunSpec(MNIST(), model, VAE(), num_steps=num_steps, batch_size=128, optimizer=Adam(1e-3))


def categories(dataset: FactorDataset, num_steps: int) -> RunSpec:
    """HFVAE with 10 Gaussian latents and one of 10 categories, on the net of Esmaeili et al.; alpha falls, and it and
    beta were chosen on MNIST's labels.
    """
    latents = GroupedLatents((GaussianLatents(NUM_LATENTS), ConcreteLatents(10, temperature=0.66)))
    objective = HFVAE(alpha=Cosine(10.0, 1.0, finish=0.7), beta=10.0, gamma=3.0)
    return RunSpec(
        dataset,
        Autoencoder(EsmaeiliMNIST(), latents=latents),
        objective,
        num_steps=num_steps,
        batch_size=128,
        optimizer=Adam(1e-3),
    )


def _with(base: RunSpec, objective: Objective, latents: Latents | None = None) -> RunSpec:
    model = base.model if latents is None else replace(base.model, latents=latents)
    critic = CRITIC_OF_CODES if objective.critic_reads == "codes" else None
    return replace(base, objective=objective, model=model, critic=critic)
