"""Base class of all configs, which checks fields against their annotations."""

import dataclasses
import functools
import inspect
from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any, Self, cast

from unbraid._internal.names import suggestion
from unbraid._internal.source import remember
from unbraid.config.annotations import check_value, hints_of
from unbraid.errors import SpecError


@dataclass(frozen=True, eq=False)  # a class without fields would equal any other
class Config:
    """A frozen dataclass whose fields are numbers, strings, other configs, and tuples of these.

    A subclass that defines `__post_init__` calls `super().__post_init__()` first.
    """

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        remember(cls)

    def __new__(cls, *given: Any, **named: Any) -> Self:
        """Raises an error for a class that is not a frozen dataclass, and for arguments that match no field."""
        if inspect.isabstract(cls):
            return super().__new__(cls)  # raises the TypeError of abstract classes
        check_class(cast(Hashable, cls))
        valid = [field.name for field in dataclasses.fields(cls)]
        for name in named:
            if name not in valid:
                raise SpecError(f"{cls.__name__} has no field {name!r}. {suggestion(name, valid)}")
        by_name = [field.name for field in dataclasses.fields(cls) if field.kw_only]
        most = len(valid) - len(by_name)
        if len(given) > most:
            names = ", ".join(f"{name}=..." for name in by_name or valid)
            raise SpecError(
                f"{cls.__name__} got {len(given)} positional arguments; expected at most {most}. Pass the others by "
                f"name: {names}."
            )
        return super().__new__(cls)

    def pinned(self) -> Self:
        """Returns the config to write to JSON. Subclasses that read files fill in the checksums of the files."""
        return self

    def __post_init__(self) -> None:
        """Converts each field to the type of its annotation: a list to a tuple, an integer to a float."""
        for name, annotation in hints_of(type(self)).items():
            object.__setattr__(self, name, self._check_field(name, getattr(self, name), annotation))

    def _check_field(self, name: str, given: Any, annotation: Any) -> Any:
        """Converts the value of a field to the type of its annotation."""
        return check_value(given, annotation, f"{type(self).__name__}: {name}")


@functools.cache
def check_class(cls: Any) -> None:
    """Raises an error for a class with settings that are not fields: instances with other settings would be equal."""
    if "__dataclass_fields__" not in vars(cls):
        raise SpecError(
            f"{cls.__name__} is not a dataclass; expected a frozen dataclass with each setting as a field. Write "
            f"@dataclass(frozen=True) above `class {cls.__name__}`, and fields such as `beta: float = 1.0` instead of "
            "__init__."
        )
    if not vars(cls)["__dataclass_params__"].frozen:
        raise SpecError(
            f"{cls.__name__} is a mutable dataclass; expected a frozen one. Write @dataclass(frozen=True) above it."
        )
    names = {field.name for field in dataclasses.fields(cls)}
    parameters = set(list(inspect.signature(cls.__init__).parameters)[1:])
    if parameters != names:
        raise SpecError(
            f"{cls.__name__}.__init__ has parameters {', '.join(sorted(parameters)) or 'none'}; expected the fields "
            f"{', '.join(sorted(names)) or 'none'}. Remove __init__, InitVar and field(init=False), and check or "
            "convert fields in __post_init__."
        )
