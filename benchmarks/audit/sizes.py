"""How large an audit is: by name, in words, and what a small one cannot say."""

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, final

from benchmarks.audit.experiments import EXPERIMENTS, Experiment
from unbraid.errors import SpecError


@final
@dataclass(frozen=True)
class Size:
    """Holds how large an audit is: images of each drawn code; seeds of each level; how often codes of middling quality
    are drawn again, and measured with other seeds of the metric; how many settings are tried; and whether experiments
    have levels between the first and the last.
    """

    num_images: int = 500
    num_seeds: int = 2
    num_redraws: int = 6
    num_own_seeds: int = 3
    max_variations: int = 100
    is_whole: bool = True

    def __post_init__(self) -> None:
        least = {"num_images": 40, "num_seeds": 1, "num_redraws": 2, "num_own_seeds": 2, "max_variations": 0}
        for name, number in least.items():
            if getattr(self, name) < number:
                raise SpecError(f"Size: {name} is {getattr(self, name)}; expected {number} or more.")

    @property
    def experiments(self) -> Mapping[str, Experiment]:
        """Returns the experiments by name, with the levels of this size."""
        return {name: each if self.is_whole else each.shortened() for name, each in EXPERIMENTS.items()}


SIZES: Mapping[str, Size] = {"quick": Size(120, 1, 2, 2, 2, is_whole=False), "full": Size()}
"""The sizes of an audit by name: one that takes seconds for a few metrics, and one that takes minutes for all."""


def size_of(size: Size | str) -> Size:
    """Returns the size of this name, or the one that was given."""
    if isinstance(size, Size):
        return size
    if size not in SIZES:
        raise SpecError(f"size is {size!r}; expected {' or '.join(map(repr, SIZES))}, or a Size.")
    return SIZES[size]


def size_name(size: Mapping[str, Any]) -> str:
    """Returns what the size that an audit has kept is called: "quick", "full", or its numbers as Python takes them."""
    named = (name for name, each in SIZES.items() if dataclasses.asdict(each) == dict(size))
    return next(named, f"Size({', '.join(f'{name}={value}' for name, value in size.items())})")


def size_words(size: Mapping[str, Any]) -> str:
    """Returns the size that an audit has kept in words, such as "500 images and 2 seeds a code, 6 redraws"."""
    images, seeds, redraws = (size[f"num_{what}"] for what in ("images", "seeds", "redraws"))
    return f"{counted(images, 'image')} and {counted(seeds, 'seed')} a code, {counted(redraws, 'redraw')}"


def caveat(size: Mapping[str, Any]) -> str:
    """Returns what to know of an audit that is smaller than a full one; an empty text for others."""
    full = dataclasses.asdict(SIZES["full"])
    if all(size.get(name, number) >= number for name, number in full.items()):
        return ""
    levels = "" if size.get("is_whole", True) else ", and no levels between the first and the last of an experiment"
    return (
        f"This audit is a quick look ({size_words(size)}{levels}), and its verdicts may differ from those of a full "
        "one. Report nothing by it: type the command without --size quick first (in Python, size='full')."
    )


def counted(number: int, noun: str) -> str:
    """Returns a number with its noun, such as "1 seed" and "2 seeds"."""
    return f"{number:,} {noun}{'s' * (number != 1)}"
