"""Which classes are the user's own, and the source that they are made of."""

import contextlib
import sys
from collections.abc import Iterable
from typing import Any

from unbraid.errors import SpecError
from unbraid.source import kept_modules
from unbraid.source.main_module import main_module, remember_script
from unbraid.source.modules import MAIN, closure, imported_module, is_of_python, module_on_disk
from unbraid.source.own_source import OwnSource


def is_own(cls: type) -> bool:
    """Returns whether a class is neither of unbraid nor of Python."""
    return cls.__module__.partition(".")[0] != "unbraid" and not is_of_python(cls.__module__)


def remember(cls: type) -> None:
    """Looks at the source of a class that is being defined, which may be changed on disk while Python goes on with what
    it has imported.
    """
    if not is_own(cls):
        return
    with contextlib.suppress(SpecError, OSError):
        if cls.__module__ == MAIN:
            remember_script()
        else:
            closure([cls.__module__], OwnSource())


def source_of(classes: Iterable[type]) -> OwnSource:
    """Returns the source of those classes that are the user's own, and of the classes that they inherit from."""
    own = {base for cls in classes if is_own(cls) for base in cls.__mro__ if is_own(base)}
    found = OwnSource()
    for folder in sorted({kept_modules.split_name(cls.__module__)[0] for cls in own} - {""}):
        found |= kept_modules.source_in(folder)
    imported = [cls for cls in own if not kept_modules.split_name(cls.__module__)[0]]
    if not imported:
        return found
    in_main = [cls for cls in imported if cls.__module__ == MAIN]
    start = OwnSource({MAIN: main_module(in_main)} if in_main else {})
    return found | closure({cls.__module__ for cls in imported} - {MAIN}, start)


def check_importable(cls: type) -> None:
    """Refuses a class that its module does not hold under its name: it could not be found again."""
    if not is_own(cls):
        return
    held: Any = vars(sys.modules[cls.__module__]).get(cls.__name__) if cls.__module__ in sys.modules else None
    if held is cls:
        return
    if "<locals>" in cls.__qualname__:
        raise SpecError(
            f"{cls.__name__} is defined inside a function ({cls.__module__}.{cls.__qualname__}): what it takes from "
            "there is not in its fields, and no run could name it. Define it at the top of a module, and make what "
            "it needs a field."
        )
    if held is not None:
        raise SpecError(
            f"{cls.__name__} was defined again since this one was made of it ({cls.__module__} was reloaded, or its "
            "cell run once more). Make it again, and the spec that holds it."
        )
    raise SpecError(
        f"{cls.__module__} holds no {cls.__name__} (it is {cls.__qualname__} there), so no run could name it. Define "
        "it at the top of the module, under its own name."
    )


def check_current(source: OwnSource) -> None:
    """Refuses modules whose files were changed since they were imported: Python would go on with what they were."""
    for name, module in source.modules.items():
        if name == MAIN or module.file is None or name not in sys.modules or imported_module(name) is not module:
            continue
        on_disk = module_on_disk(name)
        if on_disk is not None and on_disk.digest != module.digest:
            raise SpecError(
                f"{module.file} was changed since {name} was imported, and Python goes on with what it has imported. "
                f"Reload it (importlib.reload({name.rpartition('.')[2]}), or %autoreload 2 in a notebook) and make "
                "the spec again, or restart Python."
            )
