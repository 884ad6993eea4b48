"""Modules of a user's own: written, imported, edited, and imported again as a new process would."""

import importlib
import sys
import textwrap
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType

import pytest

OBJECTIVE = """
    from dataclasses import dataclass

    from unbraid.objectives.objective import Loss, Objective

    {before}

    @dataclass(frozen=True)
    class Own({base}):
        weight: float = 1.0

        def __call__(self, step):
            distortion = -step.log_likelihood.mean()
            return Loss({loss}, {{"distortion": distortion}})
"""


def objective_text(before: str = "", base: str = "Objective", loss: str = "self.weight * distortion") -> str:
    """The text of a module with an objective of the user's own."""
    indented = textwrap.indent(textwrap.dedent(before), "    ").strip()
    return textwrap.dedent(OBJECTIVE.format(before=indented, base=base, loss=loss))


def write(folder: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        path = folder / f"{name.replace('.', '/')}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text))


@contextmanager
def fresh(folder: Path) -> Iterator[None]:
    """A place among the modules of Python where nothing of the folder was imported yet, as in a new process."""
    before = dict(sys.modules)
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(folder))
        patch.setattr(sys, "dont_write_bytecode", True)  # an edit within a second would go unseen
        try:
            yield
        finally:
            for name in [name for name in sys.modules if name not in before and _is_in(folder, sys.modules[name])]:
                del sys.modules[name]


def _is_in(folder: Path, module: ModuleType) -> bool:
    places = [getattr(module, "__file__", None), *getattr(module, "__path__", [])]
    return any(str(place).startswith(str(folder)) for place in places)


def imported(name: str = "mine") -> ModuleType:
    importlib.invalidate_caches()
    return importlib.import_module(name)
