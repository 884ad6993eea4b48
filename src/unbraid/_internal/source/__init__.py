"""The source of classes that are not of unbraid: the text of their modules, and the versions of the packages they use.

It is compared and kept, and never executed.
"""

import contextlib
import sys
from collections.abc import Iterable
from typing import Any

from unbraid._internal.source.modules import MAIN as MAIN
from unbraid._internal.source.modules import OwnModule as OwnModule
from unbraid._internal.source.modules import OwnSource as OwnSource
from unbraid._internal.source.modules import closure, imported_module, is_of_python
from unbraid._internal.source.modules import installed_version as installed_version
from unbraid._internal.source.modules import module_on_disk as module_on_disk
from unbraid._internal.source.notebook import main_module, remember_script
from unbraid._internal.source.syntax import short_digest as short_digest
from unbraid.errors import SpecError


def is_own(cls: type) -> bool:
    """Returns whether a class is neither of unbraid nor of Python. What stands in for a missing class has no source."""
    is_stand_in = getattr(cls, "is_stand_in", False)
    return cls.__module__.partition(".")[0] != "unbraid" and not is_of_python(cls.__module__) and not is_stand_in


def remember(cls: type) -> None:
    """Reads the source of a class that is being defined: its file may change after the import."""
    if is_own(cls):
        with contextlib.suppress(SpecError, OSError):
            if cls.__module__ == MAIN:
                remember_script()
            else:
                closure([cls.__module__])


def source_of(classes: Iterable[type]) -> OwnSource:
    """Returns the source of those classes that are not of unbraid, and of the classes that they inherit from."""
    own = {base for cls in classes if is_own(cls) for base in cls.__mro__ if is_own(base)}
    in_main = [cls for cls in own if cls.__module__ == MAIN]
    main = main_module(in_main) if in_main else None
    return closure({cls.__module__ for cls in own} - {MAIN}, main) if own else OwnSource()


def check_importable(cls: type) -> None:
    """Refuses a class that its module does not hold under its name: it could not be found again."""
    if not is_own(cls):
        return
    held: Any = vars(sys.modules[cls.__module__]).get(cls.__name__) if cls.__module__ in sys.modules else None
    if held is cls:
        return
    if "<locals>" in cls.__qualname__:
        raise SpecError(
            f"{cls.__name__} is defined inside a function ({cls.__module__}.{cls.__qualname__}), where no run can find "
            "it again. Define it at the top of a module, and make what it takes from the function a field."
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
                f"{module.file} was changed since {name} was imported, and Python still has what it imported. Reload "
                f"it (importlib.reload({name.rpartition('.')[2]})) and make the spec again, or restart Python."
            )
