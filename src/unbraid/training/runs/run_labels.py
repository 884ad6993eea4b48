"""Short labels that tell runs apart."""

from collections import defaultdict
from collections.abc import Sequence

from unbraid.training.runs.run import Run
from unbraid.training.runs.spec_words import spec_labels

_DIGITS = 6


def run_labels(runs: Sequence[Run]) -> list[str]:
    """Returns a label for each run: that of its spec; and where specs that read the same were trained with several
    states of the user's own code, the first digits of the digest as well.
    """
    of_specs = spec_labels([run.spec for run in runs])
    labeled = [(of_specs[run.spec.digest], run.digest) for run in runs]
    states: dict[str, set[str]] = defaultdict(set)
    for label, digest in labeled:
        states[label].add(digest)
    return [f"{label} ({digest[:_DIGITS]})" if len(states[label]) > 1 else label for label, digest in labeled]
