"""The first study: seven objectives on the quickstart's sprites, three strengths each, 8 seeds.

python -m examples.sprites_study                       writes examples/sprites_study.json
unbraid study run examples/sprites_study.json          trains and scores 152 models (ten minutes on an H200)
unbraid study report examples/sprites_study.json
"""

from dataclasses import replace
from pathlib import Path

from unbraid import VAE, Autoencoder, BetaTCVAE, BetaVAE, Conv, DSprites, RunSpec
from unbraid.distributions import GaussianLatents
from unbraid.objectives import DIPVAE, HFVAE, FactorVAE
from unbraid.objectives.objective import Objective
from unbraid.optimisers import Adam
from unbraid.studies import Correlated, Growing, Higher, Setting, Study

FILE = Path(__file__).with_suffix(".json")
SEEDS = tuple(range(8))
SPEC = RunSpec(
    dataset=DSprites(resolution=32, shapes=("heart",), num_scales=6, num_orientations=1, num_positions=16),
    model=Autoencoder(Conv(channels=(16, 16, 32, 32)), latents=GaussianLatents(10)),
    objective=VAE(),
    num_steps=4000,
    batch_size=32,
    optimiser=Adam(2e-3),
)
HALVES = ((0, 1, 2, 3, 4), (5, 6, 7, 8, 9))


def objectives() -> dict[str, Objective]:
    """Returns each objective by its label."""
    found: dict[str, Objective] = {"VAE": VAE()}
    found |= {f"beta-VAE {beta}": BetaVAE(beta) for beta in (2, 4, 8)}
    found |= {f"beta-TCVAE {beta}": BetaTCVAE(beta=beta) for beta in (2, 4, 8)}
    found |= {f"FactorVAE {gamma}": FactorVAE(gamma) for gamma in (5, 10, 20)}
    found |= {f"DIP-VAE I {weight}": DIPVAE("i", off_diagonal=weight, diagonal=10 * weight) for weight in (1, 3, 10)}
    found |= {f"DIP-VAE II {weight}": DIPVAE("ii", off_diagonal=weight, diagonal=weight) for weight in (1, 3, 10)}
    found |= {f"HFVAE {beta}": HFVAE(beta=beta, gamma=3.0, groups=HALVES) for beta in (2, 4, 8)}
    return found


def study() -> Study:
    """Returns the study."""
    settings = tuple(
        Setting(label, replace(SPEC, objective=objective), SEEDS, label.rpartition(" ")[0] or label)
        for label, objective in objectives().items()
    )
    labels = tuple(setting.label for setting in settings)
    return Study(
        name="sprites",
        question="Which objective disentangles small sprites best, how sure is that, and which metrics agree?",
        settings=settings,
        metrics=("all", "model"),
        members_per_fleet=104,
        claims=(
            Higher("beta-TCVAE 4 has a higher MIG than a VAE.", "mig", "beta-TCVAE 4", "VAE"),
            Higher("FactorVAE 10 has a higher MIG than a VAE.", "mig", "FactorVAE 10", "VAE"),
            Higher("beta-TCVAE 4 has a higher MIG than beta-VAE 4.", "mig", "beta-TCVAE 4", "beta-VAE 4"),
            Higher("HFVAE 4 with two groups has a higher MIG than beta-TCVAE 4.", "mig", "HFVAE 4", "beta-TCVAE 4"),
            Growing("The ELBO falls as beta grows.", "elbo", tuple(f"beta-TCVAE {b}" for b in (2, 4, 8)), "falls"),
            Correlated(
                "JEMMIG, for which lower is better, falls where MIG rises.", "mig", "jemmig", labels, "negative"
            ),
            Correlated("WSEPIN, which needs no labels, rises with MIG.", "sepin", "mig", labels),
        ),
    )


if __name__ == "__main__":
    study().save(FILE)
