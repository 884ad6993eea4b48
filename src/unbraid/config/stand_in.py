"""Stand-ins for classes that a record names and that cannot be had here."""

import functools
from dataclasses import field, make_dataclass
from keyword import iskeyword
from typing import Any

from unbraid.errors import RunError, SpecError


def stand_in(path: str, kind: type, fields: dict[str, Any]) -> Any:
    """Returns a config of this kind with the name and the fields that a record has of it. What its class does is not
    there: whatever asks for it gets a RunError.
    """
    cls = _class_for(path, kind, tuple((name, type(value)) for name, value in fields.items()))
    return cls(**fields)


@functools.lru_cache(maxsize=1024)
def _class_for(path: str, kind: Any, fields: tuple[tuple[str, type], ...]) -> Any:
    """Returns one class for all that are recorded alike, so that equal fields make equal configs."""
    module, _, name = path.rpartition(".")
    if not all(each.isidentifier() and not each.startswith("_") and not iskeyword(each) for each, _ in fields):
        names = ", ".join(each for each, _ in fields)
        raise SpecError(f"{path} is recorded with fields that no class can have: {names}.")

    def refuse(_: Any) -> Any:
        raise RunError(
            f"The class {path} is not here, so what it does cannot be done. Import it or define it again, and open the "
            f"run again: Run.open(folder, packages=[{path.partition('.')[0]!r}])."
        )

    namespace = {
        **dict.fromkeys(kind.__abstractmethods__, property(refuse)),
        "__module__": module,
        "__post_init__": lambda self: None,
        "is_stand_in": True,
    }
    return make_dataclass(
        name, [(n, t, field(kw_only=True)) for n, t in fields], bases=(kind,), namespace=namespace, frozen=True
    )
