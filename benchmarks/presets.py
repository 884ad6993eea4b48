"""Do the named presets learn? Each with 8 seeds, on the quickstart's sprites or on all of dSprites.

    python -m benchmarks.presets --device cuda                       the sprites
    python -m benchmarks.presets --images dsprites --device cuda     all of dSprites, at 64 pixels
    python -m benchmarks.presets --only infogan aae                  those whose names begin so
    python -m benchmarks.presets --small                             two seeds, few steps, to see that it runs

I(x; z) is E[log q(z|x) - log mean_n q(z|x_n)] over at most 20,000 images, with no prior in it, so that it is defined
for an InfoGAN too; of a deterministic code it is the entropy of the code in cells of width 0.08, the width of 100 bins
from -4 to 4. A seed is collapsed if it tells less than 1 nat, or if its distortion is within 5 % of the mean image's,
unless its decoder is a generator, which is not trained to reconstruct.
"""

import math
import statistics
import tempfile
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import final

import torch
from jaxtyping import Float
from torch import Tensor

from benchmarks.evidence import flags, now
from benchmarks.sheet import Sheet, circumstances_of
from unbraid._internal import draws
from unbraid.codes import Codes
from unbraid.config import text_of
from unbraid.datasets.dataset import FactorImages
from unbraid.metrics import MIG
from unbraid.metrics.estimators import Quantized
from unbraid.models.autoencoder import AutoencoderModule
from unbraid.models.distributions.distribution import Posterior
from unbraid.training import train
from unbraid.training.presets import preset, preset_names
from unbraid.training.runs.spec import RunSpec

COLUMNS = (
    "preset",
    "objective",
    "rate of model, critic",
    "I(x; z)",
    "distortion",
    "rate",
    "MIG",
    "collapsed",
    "steps",
    "seconds",
)
_BLOCK, _NUM_IMAGES, _NUM_SAMPLES, _CELL = 2000, 20_000, 1000, 0.08


@final
@dataclass(frozen=True)
class Outcome:
    """One model, in nats per image. A deterministic code has no rate, and neither has one of a uniform prior."""

    seed: int
    information: float
    distortion: float
    rate: float | None
    mig: float
    collapsed: bool


def outcome(model: AutoencoderModule, seed: int, images: FactorImages, *, reconstructs: bool) -> Outcome:
    """Returns what one model has learned of these images."""
    posteriors, distortion = _passed(model, images)
    mean = torch.cat([each.mean for each in posteriors])
    has_density = model.latents.has_density
    std = torch.cat([each.std for each in posteriors]) if has_density else torch.zeros_like(mean)
    information = told(mean, std, seed) if has_density else entropy_of_cells(mean)
    codes = Codes.from_arrays(mean, std, factors=images.values)
    blank = distortion > 0.95 * mean_image_distortion(images)
    return Outcome(
        seed,
        information,
        distortion,
        rate=_rate(mean, std) if has_density and not model.latents.prior_is_bounded else None,
        mig=(MIG() if has_density else MIG(Quantized()))(codes).value,
        collapsed=information < 1 or (reconstructs and blank),
    )


def told(mean: Float[Tensor, "image latent"], std: Float[Tensor, "image latent"], seed: int) -> float:
    """Returns E[log q(z|x) - log mean_n q(z|x_n)] of Gaussian codes, from draws, in nats."""
    mean, std = mean.double(), std.double()
    rows = torch.arange(len(mean), device=mean.device)
    rows = rows if len(rows) <= _NUM_SAMPLES else rows[:: len(rows) // _NUM_SAMPLES]
    noise = draws.normal(torch.tensor([seed], device=mean.device), "told", 0, (len(rows), mean.shape[1]))[0]
    total = 0.0
    for part, of_part in zip(rows.split(50), noise.split(50), strict=True):
        z = mean[part] + std[part] * of_part
        log_q = -((z[:, None] - mean) / std).square().sum(dim=2) / 2 - std.log().sum(dim=1)
        total += float((log_q[torch.arange(len(part)), part] - log_q.logsumexp(dim=1) + math.log(len(mean))).sum())
    return total / len(rows)


def entropy_of_cells(mean: Float[Tensor, "image latent"]) -> float:
    """Returns the entropy of codes in cells, in nats."""
    _, counts = torch.unique((mean / _CELL).floor(), dim=0, return_counts=True)
    shares = counts.double() / len(mean)
    return float(-(shares * shares.log()).sum())


def mean_image_distortion(images: FactorImages) -> float:
    """Returns the Bernoulli distortion of the mean of all images, in nats."""
    mean = torch.stack([images.batch(rows).double().mean(dim=0) for rows in _rows(images)]).mean(dim=0)
    return float(-(torch.xlogy(mean, mean) + torch.xlogy(1 - mean, 1 - mean)).sum())


@torch.no_grad()
def _passed(model: AutoencoderModule, images: FactorImages) -> tuple[list[Posterior], float]:
    """Returns the posteriors of all images, and the mean distortion of one draw of each."""
    posteriors, total = [], 0.0
    for rows in _rows(images):
        x = images.batch(rows).to(next(model.parameters()).dtype)
        posteriors.append(model.encode(x))
        noise = draws.normal(rows, "passed", 0, (model.latents.num_noise,)).to(x)
        seen = model.decoder(model.decoder_input(posteriors[-1].rsample(noise)))
        total -= float(model.likelihood.log_prob(x, seen).double().sum())
    return posteriors, total / len(images)


def _rows(images: FactorImages) -> tuple[Tensor, ...]:
    return torch.arange(len(images), device=images.device).split(_BLOCK)


def _rate(mean: Float[Tensor, "image latent"], std: Float[Tensor, "image latent"]) -> float:
    mean, std = mean.double(), std.double()
    return float((mean.square() + std.square() - 1 - 2 * std.log()).sum(dim=1).mean() / 2)


def some(images: FactorImages) -> FactorImages:
    """Returns at most 20,000 of the images, from all over."""
    order = draws.permutation(torch.zeros(1, dtype=torch.int64, device=images.device), "some", 0, len(images))[0]
    rows = order[:_NUM_IMAGES]
    return replace(images, pixels=images.pixels[rows], factors=tuple(labels[rows] for labels in images.factors))


def row(name: str, spec: RunSpec, outcomes: Sequence[Outcome], seconds: float) -> tuple[object, ...]:
    """Returns the cells of a table: medians over seeds, with the least and the greatest."""

    def cell(values: Sequence[float | None], digits: int) -> str:
        known = sorted(value for value in values if value is not None)
        if not known:
            return ""
        return f"{statistics.median(known):.{digits}f} ({known[0]:.{digits}f} to {known[-1]:.{digits}f})"

    return (
        f"`{name}`",
        f"`{text_of(spec.objective)}`",
        rates(spec),
        cell([each.information for each in outcomes], 1),
        cell([each.distortion for each in outcomes], 0),
        cell([each.rate for each in outcomes], 1),
        cell([each.mig for each in outcomes], 2),
        f"{sum(each.collapsed for each in outcomes)} of {len(outcomes)}",
        f"{spec.num_steps:,}",
        f"{seconds:.0f}",
    )


def rates(spec: RunSpec) -> str:
    """Returns the learning rates of model and critic."""
    critic = [] if spec.critic is None else [spec.critic.optimizer.learning_rate]
    return ", ".join(map(str, [spec.optimizer.learning_rate, *critic]))


def main(arguments: Sequence[str] | None = None) -> None:
    parser = flags(__doc__)
    parser.add_argument("--images", choices=("sprites", "dsprites"), default="sprites")
    parser.add_argument("--only", nargs="*", default=[""], help="those whose names begin so")
    parser.add_argument("--seeds", type=int, default=8)
    given = parser.parse_args(arguments)
    chosen = [
        name for name in preset_names() if name.endswith(f"-{given.images}") and name.startswith(tuple(given.only))
    ]
    sheet = Sheet(
        f"Presets on {given.images}",
        circumstances_of("benchmarks.presets", arguments, given.device, given.commit),
        given.out,
    )
    sheet.begin_table(COLUMNS)
    kept: dict[str, list[dict[str, object]]] = {}
    for name in chosen:
        spec, seeds = preset(name, given.device), range(2 if given.small else given.seeds)
        spec = replace(spec, num_steps=4, batch_size=8) if given.small else spec
        with tempfile.TemporaryDirectory() as folder:
            began = now(given.device)
            runs = train([spec], seeds, folder=folder, device=given.device, progress=False)
            seconds = now(given.device) - began
            images = some(spec.dataset.load(given.device))
            outcomes = [
                outcome(
                    run.model().to(given.device),
                    run.seed,
                    images,
                    reconstructs=spec.objective.critic_reads != "features",
                )
                for run in runs
                if run.status == "finished"
            ]
        sheet.add_row(*row(name, spec, outcomes, seconds))
        kept[name] = [asdict(each) for each in outcomes]
        sheet.keep(presets=kept)


if __name__ == "__main__":
    main()
