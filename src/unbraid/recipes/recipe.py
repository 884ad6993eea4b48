"""Recipe: what all recipes have in common, which is that their fields hold what their annotations say."""

import dataclasses
import inspect
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Self

from unbraid.errors import SpecError
from unbraid.names import suggestion
from unbraid.recipes.annotations import check_value, hints_of
from unbraid.recipes.own_recipes import check_class
from unbraid.source.own_classes import remember


@dataclass(frozen=True, eq=False)  # a class without fields of its own would equal any other
class Recipe:
    """A frozen dataclass whose fields are numbers, texts, other recipes, and tuples of these.

    A recipe that checks more in its own `__post_init__` calls that of its base first.
    """

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        remember(cls)

    def __new__(cls, *given: Any, **named: Any) -> Self:
        """Refuses a class that is no frozen dataclass of its own, and a field that there is not, naming the one that
        may have been meant.
        """
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

    def __post_init__(self) -> None:
        """Refuses a field that does not hold what its annotation says; stores a list as a tuple, and so on."""
        cls, hints = type(self), hints_of(type(self))
        for field in dataclasses.fields(self):
            given = getattr(self, field.name)
            checked = check_value(given, hints[field.name], f"{cls.__name__}: {field.name}")
            if checked is not given:
                object.__setattr__(self, field.name, checked)


def _without_name(cls: type[Recipe], value: Any, names: Iterable[str]) -> str:
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
