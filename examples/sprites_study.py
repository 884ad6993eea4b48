"""The first study: seven objectives on the quickstart's sprites, three strengths each, 8 seeds.

python -m examples.sprites_study                       writes examples/sprites_study.json
unbraid study run examples/sprites_study.json          trains and scores 152 models (ten minutes on an H200)
unbraid study report examples/sprites_study.json
"""

from dataclasses import replace
from pathlib import Path

from unbraid import VAE, Autoencoder, BetaTCVAE, BetaVAE, Conv, DSprites, RunSpec
from unbraid.models.distributions import GaussianLatents
from unbraid.objectives import DIPVAE, HFVAE, FactorVAE
from unbraid.objectives.objective import Objective
from unbraid.studies import Claim, Setting, Study, correlation, difference, trend
from unbraid.training.optimizers import Adam

FILE = Path(__file__).with_suffix(".json")
SEEDS = tuple(range(8))
SPEC = RunSpec(
    dataset=DSprites(resolution=32, shapes=("heart",), num_scales=6, num_orientations=1, num_positions=16),
    model=Autoencoder(Conv(channels=(16, 16, 32, 32)), latents=GaussianLatents(10)),
    objective=VAE(),
    num_steps=4000,
    batch_size=32,
    optimizer=Adam(2e-3),
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
            Claim(
                "beta-TCVAE 4 has a higher MIG than a VAE.",
                difference("mig", "beta-TCVAE 4", "VAE"),
                above=0,
                central=True,
            ),
            Claim("FactorVAE 10 has a higher MIG than a VAE.", difference("mig", "FactorVAE 10", "VAE"), above=0),
            Claim(
                "beta-TCVAE 4 has a higher MIG than beta-VAE 4.",
                difference("mig", "beta-TCVAE 4", "beta-VAE 4"),
                above=0,
            ),
            Claim(
                "HFVAE 4 with two groups has a higher MIG than beta-TCVAE 4.",
                difference("mig", "HFVAE 4", "beta-TCVAE 4"),
                above=0,
            ),
            Claim("The ELBO falls as beta grows.", trend("elbo", tuple(f"beta-TCVAE {b}" for b in (2, 4, 8))), below=0),
            Claim(
                "JEMMIG, for which lower is better, falls where MIG rises.",
                correlation("mig", "jemmig", labels),
                below=0,
            ),
            Claim("WSEPIN, which needs no labels, rises with MIG.", correlation("sepin", "mig", labels), above=0),
        ),
    )


if __name__ == "__main__":
    study().save(FILE)
