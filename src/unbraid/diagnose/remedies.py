"""What to try: each remedy has an aim, so that a list of them does not contradict itself or say a thing twice."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, final, get_args

Aim = Literal[
    "train again",
    "calibrate",
    "lower price",
    "train longer",
    "use latents",
    "more latents",
    "less rate",
    "keep factors",
    "fix decoder",
    "independence",
    "more rate",
    "look",
]
"""What a remedy is for, the most urgent first. Three weigh the rate less: "lower price" where its price explains that
a code has collapsed, "use latents" where latents are unused, and "less rate" where factors are lost.
"""
_ORDER: tuple[Aim, ...] = get_args(Aim)
_SEVERAL: tuple[Aim, ...] = ("keep factors", "fix decoder", "look")

# A remedy with one of these aims takes the place of those with the others, which would pull on the same weights, or may
# not be needed once training is over.
_BEFORE: dict[Aim, tuple[Aim, ...]] = {
    "train again": ("train longer", "less rate", "more rate"),
    "train longer": ("less rate", "more rate"),
    "calibrate": ("lower price", "use latents", "less rate", "more rate"),
    "lower price": ("use latents", "less rate", "independence", "more rate"),
    "use latents": ("less rate", "independence", "more rate"),
    "independence": ("less rate", "more rate"),
    "less rate": ("more rate",),
}


@final
@dataclass(frozen=True)
class Remedy:
    """Holds what to try, in a sentence, and what that is for."""

    aim: Aim
    text: str


def kept_aims(aims: Iterable[Aim]) -> set[Aim]:
    """Returns those of the aims that no more urgent one takes the place of."""
    wanted, kept = set(aims), set[Aim]()
    # Independence is asked of latents that are in use, so it comes before a price that is only less than ideal.
    for aim in sorted(wanted, key=lambda each: (each in ("less rate", "more rate"), _ORDER.index(each))):
        if not any(aim in _BEFORE.get(other, ()) for other in kept):
            kept.add(aim)
    return kept


def without_conflicts(remedies: Sequence[Sequence[Remedy]]) -> list[tuple[Remedy, ...]]:
    """Returns the remedies of each finding that are left when contradictions and repetitions are removed.

    Of an aim whose remedies all move the same weight, one is left.
    """
    kept = kept_aims(remedy.aim for each in remedies for remedy in each)
    seen, left = set[object](), list[tuple[Remedy, ...]]()
    for each in remedies:
        own = []
        for remedy in each:
            key = remedy.text if remedy.aim in _SEVERAL else remedy.aim
            if remedy.aim in kept and key not in seen:
                seen.add(key)
                own.append(remedy)
        left.append(tuple(own))
    return left


def by_urgency(remedies: Iterable[Remedy]) -> list[str]:
    """Returns the texts, the most urgent first."""
    return [remedy.text for remedy in sorted(remedies, key=lambda each: _ORDER.index(each.aim))]
