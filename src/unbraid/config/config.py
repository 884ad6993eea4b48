"""Config: what all configs have in common, which is that their fields hold what their annotations say."""

import dataclasses
import inspect
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Self

from unbraid._internal.names import suggestion
from unbraid._internal.source import remember
from unbraid.config.annotations import check_value, hints_of
from unbraid.config.own_configs import check_class
from unbraid.errors import SpecError


@dataclass(frozen=True, eq=False)  # a class without fields would equal any other
class Config:
    """A frozen dataclass whose fields are numbers, texts, other configs, and tuples of these.

    A config that checks more in its own `__post_init__` calls that of its base first.
    """

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        remember(cls)

    def __new__(cls, *given: Any, **named: Any) -> Self:
        """Refuses a class that is not itself a frozen dataclass, and an unknown field, with the nearest name."""
        if inspect.isabstract(cls):
            return super().__new__(cls)  # which Python refuses
        check_class(cls)
        fields = [field for field in dataclasses.fields(cls) if field.init]
        valid = [field.name for field in fields]
        for name in named:
            if name not in valid:
                raise SpecError(f"{cls.__name__} has no field {name!r}. {suggestion(name, valid)}")
        if len(given) > len(valid):
            raise SpecError(f"{cls.__name__} was given {len(given)} values, and has these fields: {', '.join(valid)}.")
        by_place = [field.name for field in fields if not field.kw_only]
        if len(given) > len(by_place):
            raise SpecError(_without_name(cls, given[len(by_place)], [name for name in valid if name not in by_place]))
        return super().__new__(cls)

    def pinned(self) -> Self:
        """Returns the config as it is written to JSON. A config that names files adds their checksum here."""
        return self

    def __post_init__(self) -> None:
        """Refuses a field that does not hold what its annotation says; stores a list as a tuple, and so on."""
        hints = hints_of(type(self))
        for field in dataclasses.fields(self):
            given = getattr(self, field.name)
            checked = self._check_field(field.name, given, hints[field.name])
            if checked is not given:
                object.__setattr__(self, field.name, checked)

    def _check_field(self, name: str, given: Any, annotation: Any) -> Any:
        """Returns the value of a field as its annotation wants it."""
        return check_value(given, annotation, f"{type(self).__name__}: {name}")


def _without_name(cls: type[Config], value: Any, names: Iterable[str]) -> str:
    """Says which of these fields, all of them taken by name alone, a value without a name may be meant for."""
    hints = hints_of(cls)
    choices = [f"{name}={value!r}" for name in names if _takes(hints[name], value)] or [f"{name}=..." for name in names]
    return f"{cls.__name__} was given {value!r} without the name of its field. Write {' or '.join(choices)}."


def _takes(annotation: Any, value: Any) -> bool:
    try:
        check_value(value, annotation, "")
    except SpecError:
        return False
    return True
