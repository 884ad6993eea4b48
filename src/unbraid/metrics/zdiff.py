"""Z-diff: the accuracy of predicting the factor whose value is equal in pairs of images."""

import math
from dataclasses import dataclass
from functools import partial
from typing import ClassVar, Literal, assert_never, final

import torch
from jaxtyping import Float, Float64, Int64
from torch import Tensor

from unbraid._internal import row_draws
from unbraid.metrics.intervals import settled_by_half, wilson
from unbraid.metrics.metric import Feature, Metric, Score, Value
from unbraid.metrics.predicting.fits import fitted_svm, on_cores, quietly
from unbraid.metrics.reductions.gaps import among_factors
from unbraid.metrics.reductions.statistics import Statistics
from unbraid.metrics.reductions.value_groups import (
    check_num_drawn,
    chunks,
    drawn_points,
    of_one_factor,
    varying_factors,
)

PairClassifier = Literal["logistic", "svm"]
PairLatents = Literal["means", "samples"]


@final
@dataclass(frozen=True)
class ZDiff(Metric):
    """Accuracy of a linear classifier of the common factor of pairs of images (Higgins et al., *beta-VAE*, ICLR 2017).

    A data point is `pairs_per_point` pairs of images with equal values of one factor. The features of a point are the
    means of |z(x_1) - z(x_2)| over the pairs, one for each latent (section 3). Higher is better. The classifier
    "logistic" is a multinomial regression (Higgins et al.; disentanglement_lib). "svm" is a one-vs-rest SVM with hinge
    loss and C = 0.01 (Kumar et al., arXiv:1711.00848v1). The interval is the interval of a binomial proportion for
    `num_test` points, without the variance from sampling the images.
    """

    classifier: PairClassifier = "logistic"
    """Classifier: a multinomial logistic regression, or a linear SVM."""
    latents: PairLatents = "means"
    """Codes of the images: posterior means, or draws from the posteriors."""
    pairs_per_point: int = 64
    """Number of pairs of images per point."""
    num_train: int = 10_000
    """Number of training points."""
    num_test: int = 5_000
    """Number of test points."""
    seed: int = 0
    """Seed of all random draws."""

    bounds: ClassVar[tuple[float, float]] = (0.0, 1.0)
    is_scale_sensitive: ClassVar[bool] = True
    quantity: ClassVar[str] = "Z-diff accuracy"
    groups_by_value: ClassVar[bool] = True
    fits_predictor: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        check_num_drawn("ZDiff", self.num_train + self.num_test, "pairs_per_point", self.pairs_per_point)

    @property
    def accepts(self) -> frozenset[Feature]:
        always: frozenset[Feature] = frozenset({"missing labels", "weights", "correlated posteriors"})
        return always if self.latents == "samples" else always | {"means without std", "draws without densities"}

    def measure(self, statistics: Statistics) -> Score:
        factor, first, second = drawn_points(
            statistics,
            self.num_train,
            self.num_test,
            lambda groups, number, part: row_draws.pairs_sharing_a_value(
                groups, number, self.pairs_per_point, self.seed, f"z_diff{part}"
            ),
        )
        features = self._features(statistics, first, second)
        train, half, test = slice(self.num_train), slice(max(1, self.num_train // 2)), slice(self.num_train, None)
        predicted, *by_half = on_cores(
            "Z-diff",
            [
                partial(predicted_factors, features[rows], factor[rows], features[test], self.classifier, self.seed)
                for rows in ((train, half) if statistics.with_intervals else (train,))
            ],
        )
        value, *with_half = (float((each == factor[test]).double().mean()) for each in (predicted, *by_half))
        names, interval = statistics.codes.factor_names, wilson(value, self.num_test)
        settled, notes = settled_by_half(value, with_half[0] if with_half else math.nan, interval, "training points")
        varying = varying_factors(statistics)
        confusion = torch.zeros(len(varying), len(varying), dtype=torch.float64)
        confusion.index_put_((factor[test], predicted), torch.ones(()).double(), accumulate=True)
        recalls = confusion.diagonal() / confusion.sum(dim=1)
        return self.score(
            Value(value, interval),
            names,
            per_factor=among_factors(recalls, varying, len(names)),
            tables={"confusion": confusion},
            settled=settled,
            notes=(*notes, *of_one_factor(varying)),
        )

    def _features(self, statistics: Statistics, first: Tensor, second: Tensor) -> Float64[Tensor, "point latent"]:
        if self.latents == "means":
            return pair_features(statistics.codes.mean, first, second)
        parts = []
        for chunk in chunks(len(first), 2 * first.shape[1]):
            pairs = torch.stack([first[chunk], second[chunk]])
            z = self._samples(statistics, pairs.flatten(), chunk.start).reshape(*pairs.shape, -1)
            parts.append((z[0] - z[1]).abs().mean(dim=1))
        return torch.cat(parts)

    def _samples(
        self, statistics: Statistics, image: Int64[Tensor, " draw"], start: int
    ) -> Float64[Tensor, "draw latent"]:
        mean = statistics.codes.mean
        noise = row_draws.randn((len(image), mean.shape[1]), self.seed, f"z_diff/noise/{start}").to(mean.device)
        image = image.to(mean.device)
        if statistics.codes.covariance is None:
            # Without `posteriors`, which refuses a std of 0. Here, a draw with a std of 0 is the mean.
            return (mean[image].double() + statistics.std[image].double() * noise).cpu()
        return statistics.posteriors.draw(image, noise, noise.new_zeros(len(image), 0)).z.double().cpu()


def pair_features(
    latents: Float[Tensor, "image latent"], first: Int64[Tensor, "point pair"], second: Int64[Tensor, "point pair"]
) -> Float64[Tensor, "point latent"]:
    """Returns the mean of |z(x_1) - z(x_2)| over the pairs of each point, on the CPU."""
    features = []
    for chunk in chunks(len(first), 2 * first.shape[1]):
        ours, theirs = (latents[rows[chunk].to(latents.device)].double() for rows in (first, second))
        features.append((ours - theirs).abs().mean(dim=1).cpu())
    return torch.cat(features)


def predicted_factors(
    train_features: Float64[Tensor, "train latent"],
    train_factor: Int64[Tensor, " train"],
    test_features: Float64[Tensor, "test latent"],
    classifier: PairClassifier = "logistic",
    seed: int = 0,
) -> Int64[Tensor, " test"]:
    """Fits a linear classifier on the training points and returns its predictions for the test points."""
    from sklearn.linear_model import LogisticRegression

    if bool((train_factor == train_factor[0]).all()):
        return train_factor[:1].expand(len(test_features))
    match classifier:
        case "logistic":
            with quietly():
                model = LogisticRegression(max_iter=10_000).fit(train_features.numpy(), train_factor.numpy())
        case "svm":
            model = fitted_svm(train_features, train_factor, seed, loss="hinge", max_iter=10_000)
        case _:
            assert_never(classifier)
    return torch.from_numpy(model.predict(test_features.numpy()))
