"""How far the minibatch estimators of log q(z) are from the truth: the bias of naive, MWS, MSS and eq. 13, for several
batch sizes.

    python -m benchmarks.estimator_bias

4096 posteriors with six latents; three follow the data, the first two of them the same part of it, and three are
prior-like. The truth is the sum over all 4096, averaged over 20,000 draws; each row averages batches until 20,480
images were seen. Nats; the standard error of each entry is below 0.02 for the truth, and printed for the estimates.
"""

import math

import torch
from torch import Tensor

from unbraid._internal import draws
from unbraid.information import Draws, Posteriors, decompose, log_densities, log_weights
from unbraid.information.aggregate import Estimator
from unbraid.models.distributions import DiagonalGaussian, StandardNormalPrior

NUM_IMAGES, NUM_LATENTS, NUM_TRUE_DRAWS, NUM_SEEN = 4096, 6, 20_000, 20_480
BATCH_SIZES = (64, 256, 1024, 4096)
ESTIMATORS: tuple[Estimator, ...] = ("naive", "mws", "mss", "stratified_pairs")
PARTS = ("mutual information", "total correlation", "dimension-wise KL")


def posteriors(seed: int = 0) -> DiagonalGaussian:
    """Three informative latents, two of them correlated over the data; three that ignore it."""
    source = draws.normal(torch.tensor([seed]), "bias/means", 0, (NUM_IMAGES, NUM_LATENTS))[0]
    mean = torch.zeros_like(source)
    mean[:, 0], mean[:, 1], mean[:, 2] = source[:, 0], 0.7 * source[:, 0] + math.sqrt(0.51) * source[:, 1], source[:, 2]
    std = torch.ones_like(mean)
    std[:, :3] = torch.tensor([0.1, 0.1, 0.1], dtype=mean.dtype)
    # Means of variance 1 - std^2: the aggregate is then close to the prior.
    return DiagonalGaussian(mean * (1 - std.square()).sqrt(), 2 * std.log())


def truth(posterior: DiagonalGaussian, seed: int = 1) -> list[float]:
    """Against the mixture of all images."""
    mean, std = posterior.mean, posterior.std
    given = Posteriors(mean, std, torch.full((NUM_IMAGES,), 1 / NUM_IMAGES, dtype=torch.float64))
    image = draws.permutation(torch.tensor([seed]), "bias/images", 0, NUM_IMAGES)[0].repeat(
        -(-NUM_TRUE_DRAWS // NUM_IMAGES)
    )[:NUM_TRUE_DRAWS]
    noise = draws.normal(torch.tensor([seed]), "bias/noise", 0, (NUM_TRUE_DRAWS, NUM_LATENTS))[0]
    points: Draws = given.draw(image, noise, noise[:, :0])
    found = log_densities(given, points)
    log_prior = StandardNormalPrior().log_prob(points.z).sum(dim=1)
    each = found.each.sum(dim=1)
    return [
        float(part.mean()) for part in (found.joint_given_image - found.joint, found.joint - each, each - log_prior)
    ]


def estimates(
    posterior: DiagonalGaussian, estimator: Estimator, batch_size: int, seed: int = 2
) -> tuple[Tensor, Tensor]:
    """The mean over batches of each part, and its standard error."""
    found = []
    for batch in range(NUM_SEEN // batch_size):
        rows = draws.permutation(torch.tensor([seed]), "bias/batches", batch, NUM_IMAGES)[0, :batch_size]
        part = DiagonalGaussian(posterior.mean[rows], posterior.log_var[rows])
        z = part.rsample(draws.normal(torch.tensor([seed]), "bias/batch noise", batch, (batch_size, NUM_LATENTS))[0])
        weights = log_weights(estimator, batch_size, NUM_IMAGES, dtype=z.dtype)
        parts = decompose(part.log_prob(z), part.pairwise_log_prob(z), weights, StandardNormalPrior().log_prob(z))
        found.append(
            torch.stack(
                [parts.mutual_information.mean(), parts.total_correlation.mean(), parts.dimension_wise_kl.mean()]
            )
        )
    of_batches = torch.stack(found)
    return of_batches.mean(dim=0), of_batches.std(dim=0) / math.sqrt(len(found))


def main() -> None:
    posterior = posteriors()
    exact = truth(posterior)
    print(f"| batch size | estimator | {' | '.join(PARTS)} |\n|---|---|{'---|' * len(PARTS)}")
    print(f"| all {NUM_IMAGES} | the sum itself | {' | '.join(f'**{value:.2f}**' for value in exact)} |")
    for batch_size in BATCH_SIZES:
        for estimator in ESTIMATORS:
            mean, error = estimates(posterior, estimator, batch_size)
            cells = [f"{m - e:+.2f} ± {s:.2f}" for m, e, s in zip(mean.tolist(), exact, error.tolist(), strict=True)]
            print(f"| {batch_size} | {estimator} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
