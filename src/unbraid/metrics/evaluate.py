"""Scores of codes by several metrics."""

import logging
import traceback
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, cast

from unbraid._internal.progress import Event, Listener, emit, note_once, part_of, progress_bar
from unbraid._internal.version import __version__
from unbraid.codes import Codes
from unbraid.codes.latents import column_places, lost_variance
from unbraid.config import text_of
from unbraid.errors import CodesError, SpecError
from unbraid.metrics.estimators import Estimator, MeansHistogram
from unbraid.metrics.metric import UNDEFINED, Metric, Score, factor_features
from unbraid.metrics.model import ModelScore, Trained, measure
from unbraid.metrics.reductions.statistics import Statistics
from unbraid.metrics.scorecard import Scorecard, by_reason
from unbraid.metrics.scoring import Discrete, Scoring
from unbraid.metrics.selection import Metrics, select
from unbraid.metrics.unused_latents import unused_latents

log = logging.getLogger(__name__)

# Names of metrics, and the function that computes their scores.
_Step = tuple[tuple[str, ...], Callable[[], dict[str, Score]]]

_FIELDS_FOR_CODES = ("factors", "one_vs_rest", "discrete", "groups", "fraction")
_NEEDS_FACTORS = "needs factors, and the codes have no factors. Pass labels of at least one factor."
_FITS_NONE = "fits no predictor and does not support separate test codes. Score one of the two sets of codes."
NO_GROUPS = (
    "groups is 'pca', but the codes have no groups, so single latents are scored. Pass codes with groups of latents, "
    "e.g. options=CodesOptions(groups=[(0, 1), (2, 3)])."
)
_UNUSED_GROUPS = (
    "The codes have groups of latents, but single latents are scored. Use Scoring(groups='pca') (--groups pca) to "
    "score the first principal component of each group."
)
_NEEDS_MODEL = "needs the model and its images in addition to codes. Score the run or its folder with run.score(...)."
_NEEDS_WIDTH = (
    "needs posteriors with a std above 0, and the codes are deterministic. The information was estimated from a "
    "histogram of the means instead, with :means-histogram in the name. Use another estimator with MIG(Neighbors()) or "
    "mig:neighbors."
)
_FAILED = (
    "{} failed ({}: {}) and has no score. Other metrics are not affected. Unless memory was exhausted, please report "
    "this bug with the traceback in `failed` of the scorecard."
)


def evaluate(
    codes: Any,
    factors: Any = None,
    *,
    metrics: Metrics = "all",
    test: Codes | None = None,
    scoring: Scoring | None = None,
    seed: int | None = None,
    watch: Listener | None = None,
    progress: bool = True,
) -> Scorecard:
    """Scores codes with several metrics, which share intermediate results, on the device of the codes.

    If a metric does not support the codes, `refused` of the scorecard contains the reason. Factors that a metric does
    not support are left out of its score. An unexpected error affects only the score of its metric: a warning is
    logged, and `failed` of the scorecard contains the traceback. The error is raised if there is no other score.

    If the codes are deterministic and the default estimator of a metric needs a std above 0, information about factors
    is estimated from a histogram of the means. The name of the score then contains the estimator, e.g.
    `card["mig:means-histogram"]`; `card["mig"]` is the same score.

    Args:
        codes: The codes to score, or the output of a deterministic encoder as an array, image by latent.
        factors: The factors of an array of codes, as for `Codes.from_arrays`: an array, image by factor, or columns by
            name. Must be None for `Codes`, which contain their factors.
        metrics: "all", "unsupervised" (metrics without factors), names of metrics, or instances with other settings.
        test: Codes of other images. Predictors are fitted on `codes` and tested on `test`. Metrics without predictors
            are left out.
        scoring: The selection of factors, latents and images: `factors`, `one_vs_rest`, `discrete`, `groups` and
            `fraction` of `Scoring`. The other fields of `Scoring` are only for runs.
        seed: Seed of all metrics, which overrides the seeds in their settings.
        watch: Callback for each progress event.
        progress: Whether to show progress in a terminal or a notebook.

    Examples:
        >>> import numpy as np
        >>> side, size = np.arange(60) % 3, np.arange(60) // 3 % 4
        >>> mean = np.stack([side, size], axis=1) + 0.0
        >>> codes = Codes.from_arrays(mean, 0.1 + 0 * mean, factors={"side": side, "size": size})
        >>> card = evaluate(codes, metrics=["mig", "sap"], progress=False)
        >>> round(card["mig"].value, 2)
        1.0
        >>> card.names
        ('mig', 'sap')
        >>> evaluate(mean, {"side": side, "size": size}, metrics="mig", progress=False).names
        ('mig:means-histogram',)
    """
    codes = _codes(codes, factors)
    scoring = scoring or Scoring()
    if of_runs := [name for name in scoring.changes() if name not in _FIELDS_FOR_CODES]:
        raise SpecError(
            f"scoring has {', '.join(of_runs)}, which select images of a run; expected {', '.join(_FIELDS_FOR_CODES)}. "
            "Select the codes first with codes[mask] or weights, or use run.score(metrics, scoring)."
        )
    with progress_bar(watch, show=progress):
        if test is None:
            return evaluate_as(scoring, codes, metrics, seed)
        return evaluate_as(replace(scoring, part="test", fit="train"), test, metrics, seed, fitted_on=codes)


def _codes(codes: Any, factors: Any) -> Any:
    """Creates codes from the arguments of `evaluate`, unless `Codes` are given."""
    if hasattr(codes, "__array__") or isinstance(codes, list | tuple):
        return Codes.from_arrays(codes, factors=factors)
    if factors is not None:
        raise SpecError(
            f"factors is a {type(factors).__name__}; expected None with Codes, which contain their factors. Pass "
            "metrics by keyword, evaluate(codes, metrics=...)."
        )
    return codes


def evaluate_as(
    scoring: Scoring,
    codes: Codes,
    metrics: Metrics,
    seed: int | None = None,
    trained: Callable[[], Trained] | None = None,
    fitted_on: Codes | None = None,
    *,
    is_drawn: bool = False,
) -> Scorecard:
    """Computes the scores of codes, and of the model that `trained` returns.

    The codes must be the part, with the weights, that `scoring` selects. The model is scored on the images of the same
    rows. Predictors are fitted on `fitted_on`, if given. If `is_drawn`, the codes are already the fraction that
    `scoring` selects.
    """
    selection, codes = select(metrics, seed), Statistics(codes).codes
    asks_for_groups = scoring.groups is not None
    scoring = scoring.normalized(
        codes.factor_names, has_discrete=bool(codes.probabilities), has_groups=bool(codes.groups)
    )
    codes = _scored(codes, replace(scoring, fraction=1.0) if is_drawn else scoring)
    fitted = None if fitted_on is None else _scored(Statistics(fitted_on).codes, scoring)
    of_groups = _group_notes(
        codes if fitted is None else fitted, asks_for_groups=asks_for_groups, has_model=trained is not None
    )
    if scoring.groups is not None:
        # Training and test images are projected onto the same principal components.
        like = codes if fitted is None else fitted
        codes, fitted = codes.with_groups_as_latents(like), fitted and fitted.with_groups_as_latents()
    # The images of the model are opened first, so that missing images are reported before long computations.
    model = trained() if trained is not None and selection.model_scores else None
    left_out, chosen = dict(selection.left_out), selection.metrics
    if fitted_on is not None:
        left_out |= {name: _FITS_NONE for name, metric in chosen.items() if not metric.fits_predictor}
    if not codes.factors:
        needy = (name for name, metric in chosen.items() if metric.needs_factors and name not in left_out)
        left_out |= dict.fromkeys(needy, _NEEDS_FACTORS)
    chosen, need_width = _for_means({name: metric for name, metric in chosen.items() if name not in left_out}, codes)
    left_out |= need_width
    statistics = _statistics(codes, scoring, fitted)
    notes = (*of_groups, *_constant_factors(statistics, chosen))
    reasons: dict[str, str] = {}
    steps: list[_Step] = [
        ((name,), partial(_metric_score, name, metric, statistics, scoring)) for name, metric in chosen.items()
    ]
    if selection.model_scores:
        steps.append((tuple(selection.model_scores), partial(_model_scores, selection.model_scores, model, reasons)))
    scores, refused, failed = _computed(steps)
    refused |= reasons
    if not scores:
        for error in failed.values():
            raise error
        causes = {*refused.values()} - {_NEEDS_MODEL}
        raise CodesError(causes.pop() if len(causes) == 1 else " ".join(by_reason(refused or left_out)))
    for note in notes:
        note_once(log, note)
    for name, error in failed.items():
        log.warning(_FAILED.format(name, type(error).__name__, error))
    return Scorecard(
        names=tuple(scores),
        scores=tuple(replace(score, scoring=scoring.changes()) for score in scores.values()),
        higher_is_better={name: (chosen | selection.model_scores)[name].higher_is_better for name in scores},
        num_images=len(codes),
        num_latents=codes.num_latents,
        factor_names=statistics.codes.factor_names,
        refused=refused,
        left_out=left_out,
        failed={name: "".join(traceback.format_exception(error)) for name, error in failed.items()},
        notes=notes,
        device=str(codes.mean.device),
        seed=seed,
        version=__version__,
        num_unused=_num_unused(codes, scores.values()),
        scoring=scoring,
    )


def for_codes(metric: Metric, codes: Codes) -> Metric:
    """Returns the metric, with `MeansHistogram` for a default estimator that needs a std if codes are deterministic."""
    std = codes.marginal_std
    if (std is None and codes.samples is not None) or (std is not None and bool((std > 0).any())):
        return metric
    # Estimators that support draws without densities support a std of 0.
    feature = "means without std" if std is None else "draws without densities"
    estimator = getattr(metric, "estimator", None)
    is_default = estimator == getattr(type(metric), "estimator", None)
    if isinstance(estimator, Estimator) and is_default and metric.needs_factors and feature not in estimator.accepts:
        return replace(cast(Any, metric), estimator=MeansHistogram())
    return metric


def _for_means(metrics: dict[str, Metric], codes: Codes) -> tuple[dict[str, Metric], dict[str, str]]:
    """Replaces default estimators that need a std above 0 by `MeansHistogram` if the codes are deterministic.

    Returns all metrics by name, and the reasons by name of the replaced metrics.
    """
    replaced = {
        name: changed for name, metric in metrics.items() if (changed := for_codes(metric, codes)) is not metric
    }
    chosen = {
        text_of(replaced[name]) if name in replaced else name: replaced.get(name, metric)
        for name, metric in metrics.items()
    }
    return chosen, dict.fromkeys(replaced, _NEEDS_WIDTH)


def _computed(steps: Sequence[_Step]) -> tuple[dict[str, Score], dict[str, str], dict[str, Exception]]:
    """Computes all scores, and returns the scores, the reasons for refused scores and the errors by metric name."""
    scores: dict[str, Score] = {}
    refused: dict[str, str] = {}
    failed: dict[str, Exception] = {}
    for done, (names, compute) in enumerate(steps):
        with part_of(Event("scoring", done, len(steps), "metrics", ", ".join(names))):
            try:
                scores |= compute()
            except CodesError as error:
                refused |= dict.fromkeys(names, str(error))
            except Exception as error:  # noqa: BLE001 (reported with its traceback; other scores are kept)
                failed |= dict.fromkeys(names, error)
    emit(Event("scoring", len(steps), len(steps), "metrics"))
    return scores, refused, failed


def _group_notes(codes: Codes, *, asks_for_groups: bool, has_model: bool) -> tuple[str, ...]:
    """Returns notes on groups of latents. Unused groups are noted only for codes without a model."""
    if not asks_for_groups:
        return (_UNUSED_GROUPS,) if codes.groups and not has_model else ()
    return lost_variance(codes) if codes.groups else (NO_GROUPS,)


def _metric_score(name: str, metric: Metric, statistics: Statistics, scoring: Scoring) -> dict[str, Score]:
    """Computes the score of a metric from the factors and discrete latents that the metric supports."""
    statistics, notes = _without_unfit_discrete(metric, statistics, scoring.discrete)
    found = {labels.name: factor_features(labels) - metric.accepts for labels in statistics.codes.factors}
    unfit = {factor: features for factor, features in found.items() if features}
    # A metric that supports none of the factors raises the error itself.
    if unfit and not (metric.needs_factors and len(unfit) == len(found)):
        statistics = statistics.restricted(lambda labels: labels.name not in unfit)
        if metric.needs_factors:
            why = ", ".join(f"{factor} ({' and '.join(sorted(features))})" for factor, features in unfit.items())
            notes = (f"Factors that the metric does not support are left out: {why}.", *notes)
    score = metric.of(statistics)
    if statistics.num_fitted is not None:
        num_tested = len(statistics.codes) - statistics.num_fitted
        notes = (
            *notes,
            f"fitted on rows of {statistics.num_fitted:,} images, and tested on rows of {num_tested:,} other images.",
        )
    return {name: replace(score, notes=(*score.notes, *notes))}


def _model_scores(scores: dict[str, ModelScore], trained: Trained | None, refused: dict[str, str]) -> dict[str, Score]:
    """Computes model scores in one pass over the images, and adds the reasons for refused scores to `refused`."""
    reasons = {
        name: _NEEDS_MODEL if trained is None else score.refusal(trained.model) for name, score in scores.items()
    }
    refused |= {name: reason for name, reason in reasons.items() if reason}
    taken = {name: score for name, score in scores.items() if not reasons[name]}
    return {} if trained is None else measure(taken, trained)


def _scored(codes: Codes, scoring: Scoring) -> Codes:
    """Selects the rows and the factors of `scoring`."""
    rows = scoring.rows(len(codes))
    codes = codes if rows is None else codes[rows]
    return codes.with_factors(scoring.factors) if scoring.factors else codes


def _statistics(codes: Codes, scoring: Scoring, fitted: Codes | None) -> Statistics:
    """Returns the statistics of the codes, preceded by the rows of `fitted` for fitting predictors."""
    # Concatenated before the split into attributes, so that both have the same attributes.
    every = codes if fitted is None else Codes.concat([fitted, codes])
    every = every.with_one_vs_rest(scoring.one_vs_rest) if scoring.one_vs_rest else every
    return Statistics(every, num_fitted=None if fitted is None else len(fitted))


def _without_unfit_discrete(
    metric: Metric, statistics: Statistics, discrete: Discrete | None
) -> tuple[Statistics, tuple[str, ...]]:
    """Returns the statistics with discrete latents in a form that the metric supports, and a note on the change."""
    codes = statistics.codes
    if discrete is None or not codes.probabilities or "discrete latents" in metric.accepts:
        return statistics, ()
    num_continuous = codes.mean.shape[1]
    if discrete == "left_out":
        changed, note = codes.without_discrete, f"left out: {_numbers(range(num_continuous, codes.num_latents))}."
    else:
        places = enumerate(column_places(codes)[num_continuous:], start=num_continuous)
        where = "; ".join(f"latent {latent} is {_numbers(place)}" for latent, place in places)
        changed, note = codes.with_discrete_as_columns, f"converted to columns of probabilities: {where}."
    as_taken = statistics.once(discrete, lambda: Statistics(changed(), num_fitted=statistics.num_fitted))
    return as_taken, (f"discrete latents were {note}",)


def _numbers(places: range) -> str:
    return f"number {places[0]}" if len(places) == 1 else f"numbers {places[0]} to {places[-1]}"


def _constant_factors(statistics: Statistics, metrics: dict[str, Metric]) -> tuple[str, ...]:
    """Returns a note on constant factors. Raises if all factors are constant and a metric needs factors."""
    names = statistics.codes.factor_names
    if not names or not any(metric.needs_factors for metric in metrics.values()):
        return ()
    constant = [name for name, varies in zip(names, statistics.varies, strict=True) if not varies]
    if len(constant) == len(names):
        raise CodesError(
            f"All {len(names)} factors ({', '.join(names)}) are constant; expected at least one that varies. Encode "
            "images with different values, or use metrics='unsupervised'."
        )
    return (", ".join(constant) + UNDEFINED,) if constant else ()


def _num_unused(codes: Codes, scores: Iterable[Score]) -> int | None:
    """Returns the number of latents without information about the image, or None if the codes have only means."""
    exact = [score for score in scores if score.metric == "MIG" and score.settings["estimator"] == "exact"]
    try:
        return int(unused_latents(codes, exact[0] if exact else None).sum())
    except CodesError:
        return None
