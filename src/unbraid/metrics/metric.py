"""What a metric is, and what it returns."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, ClassVar, final

from torch import Tensor

from unbraid.codes import Codes


@final
@dataclass(frozen=True)
class Score:
    """One number, and everything behind it.

    `per_factor` and `per_latent` hold NaN where a value is undefined (a constant factor). `tables` keeps the matrices that the value was
    computed from, by name: "mutual_information" is latent by factor, in nats.
    """

    metric: str
    value: float
    per_factor: Mapping[str, float] = field(default_factory=dict)
    per_latent: tuple[float, ...] = ()
    tables: Mapping[str, Tensor] = field(default_factory=dict)
    interval: tuple[float, float] | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Metric(ABC):
    """A function of codes. Its settings are its fields, so a score can say how it was computed."""

    bounds: ClassVar[tuple[float, float]]
    higher_is_better: ClassVar[bool] = True

    @abstractmethod
    def __call__(self, codes: Codes) -> Score: ...

    @property
    def settings(self) -> dict[str, Any]:
        return {f.name: getattr(self, f.name) for f in fields(self)}
