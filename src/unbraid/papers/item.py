"""What an item is: a table, a figure or a claim of a paper, and how it is reproduced."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, final, get_args

from unbraid.errors import SpecError
from unbraid.papers.work import Work
from unbraid.studies.study_scores import StudyScores

Scale = Literal["smoke", "quick", "long", "paper"]
SCALES: tuple[Scale, ...] = get_args(Scale)

_ID = re.compile(r"[a-z]+[0-9]{4}/[A-Za-z0-9][A-Za-z0-9-]*")


@final
@dataclass(frozen=True)
class Printed:
    """A number that the paper prints: which setting and which score of ours it belongs to. `metric` may name a part or
    a factor, as in "rmig:scale". `times` turns our score into the paper's unit, such as 100 for per cent.
    """

    setting: str
    metric: str
    value: float
    times: float = 1.0


@final
@dataclass(frozen=True)
class Choice:
    """A setting of the experiment: what the paper states of it, or "not stated", and what we took."""

    what: str
    stated: str
    taken: str


@final
@dataclass(frozen=True)
class Item:
    """A table, a figure, a panel of one or a claim of a paper, and how it is reproduced.

    `work` says by scale what is trained or computed, and carries the claims that decide. `draw` returns the axes of
    the figure, from scores alone. `pictures` returns images that need the models themselves, by name, from the
    folder of the runs: PNG files that travel beside the evidence. `seconds` is about what each scale costs, training
    on one H200 or, where nothing is trained, on two cores. An item on data that only the user can have names them in
    `needs`, and its stand-in in `stand_in`; the stand-in is an item of its own that names the original in
    `stands_in_for`, so that no page can mix them up.
    """

    id: str
    title: str
    claim: str
    work: Mapping[Scale, Callable[[], Work]]
    data: str
    seconds: Mapping[Scale, float]
    choices: tuple[Choice, ...] = ()
    printed: tuple[Printed, ...] = ()
    draw: Callable[[StudyScores], Any] | None = None
    pictures: Callable[[Work, Path], Mapping[str, bytes]] | None = None
    notes: str = ""
    needs: str = ""
    stand_in: str = ""
    stands_in_for: str = ""
    trains: bool = True
    columns: tuple[str, ...] = field(default=())
    """The metrics that tables of the item show; without any, all."""

    def __post_init__(self) -> None:
        if not _ID.fullmatch(self.id):
            raise SpecError(f"The id of an item is {self.id!r}; expected PAPER/ITEM, such as 'chen2018/figure3a'.")
        if "smoke" not in self.work:
            raise SpecError(f"{self.id} has no scale 'smoke'; every item needs one, for the tests.")
        if unpriced := set(self.work) - set(self.seconds) - {"smoke"}:
            raise SpecError(f"{self.id} does not say what the scale {min(unpriced)!r} costs; add it to seconds.")

    @property
    def paper(self) -> str:
        """Returns the id of its paper."""
        return self.id.partition("/")[0]

    @property
    def name(self) -> str:
        """Returns its name within the paper."""
        return self.id.partition("/")[2]

    @property
    def scales(self) -> tuple[Scale, ...]:
        """Returns the scales that it has, the smallest first."""
        return tuple(scale for scale in SCALES if scale in self.work)

    @property
    def default_scale(self) -> Scale:
        """Returns the smallest scale that gives a verdict."""
        return next((scale for scale in self.scales if scale != "smoke"), "smoke")

    def at(self, scale: Scale) -> Work:
        """Returns what is done at this scale."""
        if scale not in self.work:
            raise SpecError(f"{self.id} has no scale {scale!r}; it has {', '.join(self.scales)}.")
        return self.work[scale]()


@final
@dataclass(frozen=True)
class Paper:
    """A paper: who wrote it, what it is called, where it is, and its items in the paper's order. `without_items` says
    which of its tables and figures have none, and why.
    """

    id: str
    authors: str
    title: str
    reference: str
    items: tuple[Item, ...]
    without_items: str = ""

    def __post_init__(self) -> None:
        names = [item.id for item in self.items]
        for item in self.items:
            if item.paper != self.id:
                raise SpecError(f"{item.id} is listed among the items of {self.id}.")
            if names.count(item.id) > 1:
                raise SpecError(f"{item.id} is listed twice.")
            for other in filter(None, (item.stand_in, item.stands_in_for)):
                if other not in names:
                    raise SpecError(f"{item.id} names {other}, which is no item of {self.id}.")
