"""Lemmas 1 and 2 of the split encoder as numbers: both sides of equation 6, from separate draws."""

import math
import statistics
import tempfile
from collections.abc import Callable
from typing import Any

from unbraid import VAE, Autoencoder, Conv, DSprites, RunSpec, train
from unbraid.metrics import Lemma2Gap
from unbraid.metrics.estimators import Sampled
from unbraid.models import SharingConv, SplitConv
from unbraid.models.distributions import CorrelatedGaussianLatents, GaussianLatents
from unbraid.objectives import FactorVAE
from unbraid.training import Critic
from unbraid.training.optimizers import Adam

_NUM_LATENTS, _RHO = 10, 0.9
_ENCODERS = ("baseline", "correlated noise", "sharing", "split")
CASES = {f"{objective}, {encoder}": (objective, encoder) for objective in ("VAE", "FactorVAE") for encoder in _ENCODERS}
_SUBSETS: dict[str, tuple[int, ...]] = {"": (), ":two": (0, 1), ":five": (0, 2, 4, 6, 8)}


def compute_lemmas(*, tiny: bool) -> Callable[[str, int], dict[str, float]]:
    """Returns what trains a small model and computes both sides for all latents, for two of them and for five."""
    num_samples, num_pairs = (1_000, 3) if tiny else (5_000, 10)

    def compute(case: str, seed: int) -> dict[str, float]:
        with tempfile.TemporaryDirectory() as folder:
            [run] = train(_spec(*CASES[case], tiny=tiny), seeds=[seed], folder=folder, device="cpu", progress=False)
            codes = run.codes()
        found: dict[str, float] = {}
        for name, latents in _SUBSETS.items():
            gaps = [Lemma2Gap(estimator=Sampled(num_samples, seed=pair), latents=latents, left_side_seed=1_000 + pair) for pair in range(num_pairs)]
            pairs = [gap(codes) for gap in gaps]
            differences = [score.parts["difference"].value for score in pairs]
            error = statistics.stdev(differences) / math.sqrt(num_pairs)
            found |= {
                f"right_side{name}": statistics.mean(score.value for score in pairs),
                f"left_side{name}": statistics.mean(score.parts["left_side"].value for score in pairs),
                f"difference{name}": statistics.mean(differences),
                f"difference_in_errors{name}": statistics.mean(differences) / error if error else 0.0,
                f"posterior_dependence{name}": pairs[0].parts["posterior_dependence"].value,
            }
            if not latents:
                nats = [float(score.tables["joint_informativeness"][0]) for score in pairs]
                found["information"] = statistics.mean(nats)
        return found

    return compute


def _spec(objective: str, encoder: str, *, tiny: bool) -> RunSpec:
    channels, hidden = ((4, 4, 4, 4), 8) if tiny else ((16, 16, 32, 32), 128)
    baseline = Conv(channels, hidden=hidden)
    nets: dict[str, Any] = {"sharing": SharingConv(channels, hidden=hidden), "split": SplitConv(channels, branch_width=hidden // 4, hidden=hidden)}
    noisy = encoder == "correlated noise"
    latents = CorrelatedGaussianLatents(_NUM_LATENTS, rho=_RHO) if noisy else GaussianLatents(_NUM_LATENTS)
    has_critic = objective == "FactorVAE"
    return RunSpec(
        DSprites(resolution=32, shapes=("heart",), num_orientations=1, num_positions=8 if tiny else 16),
        Autoencoder(nets.get(encoder, baseline), baseline, latents),
        FactorVAE(gamma=10.0, same_batch=True) if has_critic else VAE(),
        critic=Critic(hidden=(64, 64), optimizer=Adam(1e-3, betas=(0.5, 0.9))) if has_critic else None,
        num_steps=12 if tiny else 3_000,
        batch_size=32,
        optimizer=Adam(2e-3),
    )
