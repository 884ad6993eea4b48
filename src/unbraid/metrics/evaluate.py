"""One call for every score."""

import logging
import traceback
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import final

from unbraid._internal.progress import Event, Listener, emit, part_of, progress_bar
from unbraid._internal.version import __version__
from unbraid.codes import Codes
from unbraid.codes.latents import column_places, lost_variance
from unbraid.errors import CodesError, SpecError
from unbraid.metrics.metric import UNDEFINED, Metric, Score, factor_features
from unbraid.metrics.model import ModelScore
from unbraid.metrics.model.measure import Trained, measure
from unbraid.metrics.reductions.statistics import Statistics
from unbraid.metrics.scorecard import Scorecard, by_reason
from unbraid.metrics.scoring import Discrete, Scoring
from unbraid.metrics.selection import Metrics, select
from unbraid.metrics.unused_latents import unused_latents

log = logging.getLogger(__name__)

_OF_CODES = ("factors", "one_vs_rest", "discrete", "groups", "fraction")
_NEEDS_FACTORS = "needs factors, and these codes have none."
_FITS_NONE = "fits no predictor, so there is nothing to fit on some codes and test on others. Score either alone."
NO_GROUPS = (
    "groups is 'pca', and these latents have no groups, so each latent is scored by itself. Groups say which latents "
    "are one vector: give codes with groups, such as options=CodesOptions(groups=[(0, 1), (2, 3)])."
)
_ALONE = (
    "These codes have groups of latents, and each latent is scored by itself. To score each group as one latent, its "
    "first principal component, ask for Scoring(groups='pca') (--groups pca)."
)
_NEEDS_MODEL = "reads the model and its images, not codes alone. Score the run instead: run.score(...), or its folder."
_FAILED = (
    "{} failed ({}: {}) and has no score; the others stand. Unless memory ran out, this is a bug in unbraid: please "
    "report it, with the traceback that the scorecard holds under `failed`."
)


def evaluate(
    codes: Codes,
    metrics: Metrics = "all",
    *,
    test: Codes | None = None,
    scoring: Scoring | None = None,
    seed: int | None = None,
    watch: Listener | None = None,
    progress: bool = True,
) -> Scorecard:
    """Scores codes with several metrics; what several of them need is computed once.

    A metric that does not take these codes is refused with a reason; one that does not take some of the factors is
    computed without them. An unforeseen error costs the score of its metric alone: a warning names it, and `failed` of
    the card has the traceback. Without any score, it is raised. The work is done where the codes are.

    Args:
        codes: The codes to score.
        metrics: "all", "unsupervised" (those that need no factors), names, or instances with other settings.
        test: Codes of other images. Predictors are then fitted on `codes` and tested on `test`; metrics that fit none
            are left out.
        scoring: Which factors are scored and how: `factors`, `one_vs_rest`, `discrete`, `groups` and `fraction` of
            `Scoring`. Its other fields are for runs.
        seed: Replaces the seed of every metric.
        watch: Called with each event of the progress.
        progress: Whether a terminal or a notebook shows the progress.

    Examples:
        >>> import numpy as np
        >>> side, size = np.arange(60) % 3, np.arange(60) // 3 % 4
        >>> mean = np.stack([side, size], axis=1) + 0.0
        >>> codes = Codes.from_arrays(mean, 0.1 + 0 * mean, factors={"side": side, "size": size})
        >>> card = evaluate(codes, ["mig", "sap"], progress=False)
        >>> round(card["mig"].value, 2)
        1.0
        >>> card.names
        ('mig', 'sap')
    """
    scoring = scoring or Scoring()
    if of_runs := [name for name in scoring.changes() if name not in _OF_CODES]:
        raise SpecError(
            f"scoring has {', '.join(of_runs)}, by which images of a run are chosen; expected {', '.join(_OF_CODES)}. "
            "Choose the codes first (codes[mask], weights), or score the run: run.score(metrics, scoring)."
        )
    with progress_bar(watch, show=progress):
        if test is None:
            return evaluate_as(scoring, codes, metrics, seed)
        return evaluate_as(replace(scoring, part="test", fit="train"), test, metrics, seed, fitted_on=codes)


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
    """Returns the scores of these codes, which are those of the part and under the weights of the scoring; and those
    of the model that `trained` returns, with the images of the same rows. Predictors are fitted on `fitted_on`, where
    that is given. `is_drawn` says that the codes are those of the fraction already.
    """
    selection, codes = select(metrics, seed), Statistics(codes).codes
    has_discrete, has_groups = bool(codes.probabilities), bool(codes.groups)
    asks_for_groups = scoring.groups is not None
    scoring = scoring.settled(codes.factor_names, has_discrete=has_discrete, has_groups=has_groups)
    codes = _scored(codes, replace(scoring, fraction=1.0) if is_drawn else scoring)
    fitted = None if fitted_on is None else _scored(Statistics(fitted_on).codes, scoring)
    of_groups = _group_notes(
        codes if fitted is None else fitted, asks_for_groups=asks_for_groups, has_model=trained is not None
    )
    if scoring.groups is not None:
        # Predictors see the same directions in the images that they are tested on.
        like = codes if fitted is None else fitted
        codes, fitted = codes.with_groups_as_latents(like), fitted and fitted.with_groups_as_latents()
    # What the model reads is opened first: images that are not there are told before any work.
    model = trained() if trained is not None and selection.model_scores else None
    left_out = dict(selection.left_out)
    chosen = selection.metrics
    if fitted_on is not None:
        left_out |= {name: _FITS_NONE for name, metric in chosen.items() if not metric.fits_predictor}
        chosen = {name: metric for name, metric in chosen.items() if metric.fits_predictor}
    if not codes.factors:
        needy = [name for name, metric in chosen.items() if metric.needs_factors]
        left_out |= dict.fromkeys(needy, _NEEDS_FACTORS)
        chosen = {name: metric for name, metric in chosen.items() if name not in needy}
    number = len(chosen) + bool(selection.model_scores)
    work = _Work(_statistics(codes, scoring, fitted), scoring, number)
    notes = (*of_groups, *_constant_factors(work.statistics, chosen))
    for name, metric in chosen.items():
        work.do(name, metric)
    if selection.model_scores:
        work.do_model(selection.model_scores, model)
    emit(Event("scoring", number, number, "metrics"))
    if not work.scores:
        for error in work.failed.values():
            raise error
        raise CodesError(_nothing(work.refused, left_out))
    for note in notes:
        log.warning(note)
    for name, error in work.failed.items():
        log.warning(_FAILED.format(name, type(error).__name__, error))
    return Scorecard(
        names=tuple(work.scores),
        scores=tuple(work.scores.values()),
        higher_is_better={name: (chosen | selection.model_scores)[name].higher_is_better for name in work.scores},
        num_images=len(codes),
        num_latents=codes.num_latents,
        factor_names=work.statistics.codes.factor_names,
        refused=work.refused,
        left_out=left_out,
        failed={name: "".join(traceback.format_exception(error)) for name, error in work.failed.items()},
        notes=notes,
        device=str(codes.mean.device),
        seed=seed,
        version=__version__,
        num_unused=_num_unused(codes, work.scores.values()),
        scoring=scoring,
    )


@final
class _Work:
    """Scores metric after metric, from the same statistics."""

    def __init__(self, statistics: Statistics, scoring: Scoring, num_metrics: int) -> None:
        self._scoring = scoring
        self.scores: dict[str, Score] = {}
        self.refused: dict[str, str] = {}
        self.failed: dict[str, Exception] = {}
        self._num_metrics, self._num_done = num_metrics, 0
        self.statistics = statistics

    def do(self, name: str, metric: Metric) -> None:
        event = Event("scoring", self._num_done, self._num_metrics, "metrics", name)
        with part_of(event):
            try:
                statistics, note = _seen_by(metric, self.statistics, self._scoring.discrete)
                score = _score(metric, statistics)
                notes = (*score.notes, *note, *_rows_note(statistics))
                self.scores[name] = replace(score, notes=notes, scoring=self._scoring.changes())
            except CodesError as error:
                self.refused[name] = str(error)
            except Exception as error:  # noqa: BLE001 (reported with its traceback; the other scores are not lost for it)
                self.failed[name] = error
        self._num_done += 1

    def do_model(self, scores: dict[str, ModelScore], trained: Trained | None) -> None:
        """Scores the model, in one pass over the images."""
        if trained is None:
            self.refused |= dict.fromkeys(scores, _NEEDS_MODEL)
            return
        with part_of(Event("scoring", self._num_done, self._num_metrics, "metrics", ", ".join(scores))):
            try:
                reasons = {name: score.refusal(trained.model) for name, score in scores.items()}
                self.refused |= {name: reason for name, reason in reasons.items() if reason}
                found = measure({name: score for name, score in scores.items() if not reasons[name]}, trained)
                self.scores |= {name: replace(score, scoring=self._scoring.changes()) for name, score in found.items()}
            except Exception as error:  # noqa: BLE001 (reported with its traceback; the other scores are not lost for it)
                self.failed |= dict.fromkeys(scores, error)


def _group_notes(codes: Codes, *, asks_for_groups: bool, has_model: bool) -> tuple[str, ...]:
    """Returns what to say of groups of latents. The groups of a model are those that its user gave it."""
    if not asks_for_groups:
        return (_ALONE,) if codes.groups and not has_model else ()
    return lost_variance(codes) if codes.groups else (NO_GROUPS,)


def _scored(codes: Codes, scoring: Scoring) -> Codes:
    """Returns the rows and the factors that are scored."""
    rows = scoring.rows(len(codes))
    codes = codes if rows is None else codes[rows]
    return codes.with_factors(scoring.factors) if scoring.factors else codes


def _statistics(codes: Codes, scoring: Scoring, fitted: Codes | None) -> Statistics:
    """Returns the statistics of the codes, with those that predictors are fitted on before them."""
    if fitted is None:
        return Statistics(_with_attributes(codes, scoring))
    # Joined first: a value that only one of them has is an attribute of both.
    return Statistics(_with_attributes(Codes.concat([fitted, codes]), scoring), num_fitted=len(fitted))


def _with_attributes(codes: Codes, scoring: Scoring) -> Codes:
    return codes.with_one_vs_rest(scoring.one_vs_rest) if scoring.one_vs_rest else codes


def _rows_note(statistics: Statistics) -> tuple[str, ...]:
    if statistics.num_fitted is None:
        return ()
    num_tested = len(statistics.codes) - statistics.num_fitted
    return (f"fitted on rows of {statistics.num_fitted:,} images, and tested on rows of {num_tested:,} others.",)


def _seen_by(metric: Metric, statistics: Statistics, discrete: Discrete | None) -> tuple[Statistics, tuple[str, ...]]:
    """Returns the statistics with discrete latents as the metric can take them, and a note of what was done to them."""
    codes = statistics.codes
    if discrete is None or not codes.probabilities or "discrete latents" in metric.accepts:
        return statistics, ()
    first = codes.mean.shape[1]
    if discrete == "left_out":
        without = statistics.once(discrete, lambda: _with(statistics, codes.without_discrete()))
        return without, (f"discrete latents were left out: {_numbers(range(first, codes.num_latents))}.",)
    as_columns = statistics.once(discrete, lambda: _with(statistics, codes.with_discrete_as_columns()))
    places = column_places(codes)[first:]
    where = "; ".join(f"latent {first + index} is {_numbers(place)}" for index, place in enumerate(places))
    return as_columns, (f"discrete latents were taken as columns of probabilities: {where}.",)


def _with(statistics: Statistics, codes: Codes) -> Statistics:
    """Returns the same images with other codes."""
    return Statistics(codes, num_fitted=statistics.num_fitted)


def _numbers(places: range) -> str:
    return f"number {places[0]}" if len(places) == 1 else f"numbers {places[0]} to {places[-1]}"


def _score(metric: Metric, statistics: Statistics) -> Score:
    """Returns the score, from those factors that the metric takes. If it takes none of them, it says so itself."""
    found = {labels.name: factor_features(labels) - metric.accepts for labels in statistics.codes.factors}
    unfit = {name: features for name, features in found.items() if features}
    if not unfit or (metric.needs_factors and len(unfit) == len(found)):
        return metric.of(statistics)
    score = metric.of(statistics.restricted(lambda labels: labels.name not in unfit))
    if not metric.needs_factors:
        return score
    why = ", ".join(f"{name} ({' and '.join(sorted(features))})" for name, features in unfit.items())
    return replace(score, notes=(*score.notes, f"does not take every factor; left out: {why}."))


def _constant_factors(statistics: Statistics, metrics: dict[str, Metric]) -> tuple[str, ...]:
    """Returns what to say of factors that never vary. Raises if none varies and a metric was to look at them."""
    names = statistics.codes.factor_names
    if not names or not any(metric.needs_factors for metric in metrics.values()):
        return ()
    constant = [name for name, varies in zip(names, statistics.varies, strict=True) if not varies]
    if len(constant) == len(names):
        raise CodesError(
            f"None of the {len(names)} factors ({', '.join(names)}) varies in these codes, so there is nothing to "
            "tell apart. Encode a sample in which at "
            "least one varies, or ask for metrics='unsupervised'."
        )
    return (", ".join(constant) + UNDEFINED,) if constant else ()


def _num_unused(codes: Codes, scores: Iterable[Score]) -> int | None:
    """Returns how many latents say nothing of the image; None where the posteriors are too narrow to tell."""
    exact = [score for score in scores if score.metric == "MIG" and score.settings["estimator"] == "exact"]
    try:
        return int(unused_latents(codes, exact[0] if exact else None).sum())
    except CodesError:
        return None


def _nothing(refused: dict[str, str], left_out: dict[str, str]) -> str:
    """Returns why there is not a single score."""
    if set(refused.values()) == {_NEEDS_MODEL}:
        return f"{', '.join(refused)}: {_NEEDS_MODEL}"
    if len(set(refused.values())) == 1:
        return next(iter(refused.values()))
    if refused:
        return "None of the metrics is defined for these codes. " + " ".join(by_reason(refused))
    if _NEEDS_FACTORS not in left_out.values():
        return " ".join(by_reason(left_out))
    names = [name for name, reason in left_out.items() if reason == _NEEDS_FACTORS]
    return f"{', '.join(names)}: {_NEEDS_FACTORS} Give labels for at least one."
