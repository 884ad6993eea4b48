"""Claims by a few words: each function returns a claim about one quantity."""

from collections.abc import Callable, Mapping, Sequence
from statistics import fmean

from reproductions.item import Printed, Scores
from unbraid.studies import Claim, computed, correlation, difference, lead, median, paired_difference, ratio, share, trend

Side = str | tuple[str, ...]
Derived = Callable[[Scores], Scores]
PerRun = Callable[[Mapping[str, float]], float]


def higher(text: str, metric: str, ours: Side, theirs: Side, by: float = 0.0, *, central: bool = False) -> Claim:
    """`ours` scores higher than `theirs`, by more than this."""
    return Claim(text, difference(metric, ours, theirs), above=by, central=central)


def leads(text: str, metric: str, ours: str, others: tuple[str, ...], *, lowest: bool = False, central: bool = False) -> Claim:
    """`ours` scores higher, or lower, than each of the others."""
    return Claim(text, lead(metric, ours, others, lowest=lowest), above=0.0, central=central)


def same(text: str, metric: str, ours: Side, theirs: Side, margin: float, *, central: bool = False) -> Claim:
    """Two settings differ by less than the margin."""
    return Claim(text, difference(metric, ours, theirs), between=(-margin, margin), central=central)


def middle(text: str, metric: str, setting: Side, low: float, high: float, *, central: bool = False) -> Claim:
    """The median lies between two numbers."""
    return Claim(text, median(metric, setting), between=(low, high), central=central)


def at_least(text: str, metric: str, setting: Side, value: float, *, central: bool = False) -> Claim:
    """The median lies above a number."""
    return Claim(text, median(metric, setting), above=value, central=central)


def at_most(text: str, metric: str, setting: Side, value: float, *, central: bool = False) -> Claim:
    """The median lies below a number."""
    return Claim(text, median(metric, setting), below=value, central=central)


def share_of(
    text: str, metric: str, settings: Side, low: float | None = None, high: float | None = None, *, of: float = 0.5, central: bool = False
) -> Claim:
    """More than this share of the runs lie between two numbers."""
    return Claim(text, share(metric, settings, at_least=low, at_most=high), above=of, central=central)


def times(text: str, metric: str, ours: Side, theirs: Side, low: float | None, high: float, *, central: bool = False) -> Claim:
    """`ours` is so many times `theirs`."""
    quantity = ratio(metric, ours, theirs)
    if low is None:
        return Claim(text, quantity, below=high, central=central)
    return Claim(text, quantity, between=(low, high), central=central)


def rises(text: str, metric: str, settings: tuple[str, ...], *, central: bool = False) -> Claim:
    """The score rises from setting to setting."""
    return Claim(text, trend(metric, settings), above=0.0, central=central)


def falls(text: str, metric: str, settings: tuple[str, ...], by: float = 0.0, *, central: bool = False) -> Claim:
    """The score falls from setting to setting; with `by` it rises by less than that."""
    return Claim(text, trend(metric, settings), below=by, central=central)


def together(
    text: str,
    first: str,
    second: str,
    settings: tuple[str, ...],
    *,
    above: float | None = None,
    below: float | None = None,
    between: tuple[float, float] | None = None,
    over: str = "models",
    central: bool = False,
) -> Claim:
    """The rank correlation of two scores lies in this region."""
    quantity = correlation(first, second, settings, over=over)
    return Claim(text, quantity, above=above, below=below, between=between, central=central)


def paired(
    text: str,
    first: str,
    second: str,
    settings: Side,
    *,
    above: float | None = None,
    between: tuple[float, float] | None = None,
    central: bool = False,
) -> Claim:
    """One score of each run less another score of the same run lies in this region."""
    quantity = paired_difference(first, settings, settings, other_metric=second)
    return Claim(text, quantity, above=above, between=between, central=central)


def exactly(text: str, metric: str, settings: Side, low: float | None = None, high: float | None = None, *, central: bool = False) -> Claim:
    """All numbers of a computation lie between two numbers."""
    quantity = computed(metric, settings=settings)
    if low is None:
        return Claim(text, quantity, below=high, central=central)
    if high is None:
        return Claim(text, quantity, above=low, central=central)
    return Claim(text, quantity, between=(low, high), central=central)


def distance_from_print(printed: Sequence[Printed], name: str = "distance from print") -> Derived:
    """Returns what derives, for each setting and seed, the mean distance of its scores from the printed ones."""

    def derive(scores: Scores) -> Scores:
        found: Scores = {}
        for label in dict.fromkeys(each.setting for each in printed):
            mine = [each for each in printed if each.setting == label]
            columns = [scores.get(label, {}).get(each.metric, {}) for each in mine]
            seeds = set.intersection(*map(set, columns)) if columns else set()
            distances = {
                seed: fmean(abs(column[seed] * each.times - each.value) for column, each in zip(columns, mine, strict=True)) for seed in sorted(seeds)
            }
            found[label] = {name: distances}
        return found

    return derive


def per_run(names: Mapping[str, PerRun]) -> Derived:
    """Returns what derives numbers of each run from its own scores; a run that lacks one is left out."""

    def derive(scores: Scores) -> Scores:
        found: Scores = {}
        for label, by_metric in scores.items():
            for name, function in names.items():
                seeds = sorted({seed for values in by_metric.values() for seed in values})
                for seed in seeds:
                    try:
                        value = function({metric: values[seed] for metric, values in by_metric.items() if seed in values})
                    except (KeyError, ZeroDivisionError):
                        continue
                    found.setdefault(label, {}).setdefault(name, {})[seed] = value
        return found

    return derive


def all_of(*derived: Derived) -> Derived:
    """Returns what derives all of these numbers."""

    def derive(scores: Scores) -> Scores:
        found: Scores = {}
        for each in derived:
            for label, by_metric in each(scores).items():
                found.setdefault(label, {}).update(by_metric)
        return found

    return derive
