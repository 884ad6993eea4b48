"""An exported name means one thing: a reader who looks for it finds one definition."""

import ast
from collections import defaultdict
from pathlib import Path

import pytest

import unbraid
from tests.discovery import ROOT
from unbraid.config.annotations import choices
from unbraid.metrics import Metric
from unbraid.objectives import Objective

SOURCE = ROOT / "src" / "unbraid"


def exports(file: Path) -> dict[str, str]:
    """The names that a file exports, by `__all__` or as `from x import X as X`, with the places they come from."""
    body = ast.parse(file.read_text(encoding="utf-8")).body
    found = {}
    for node in body:
        if isinstance(node, ast.ImportFrom):
            found |= {each.name: f"{node.module}.{each.name}" for each in node.names if each.name == each.asname}
        elif isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
            lines = [line for line in node.body if isinstance(line, ast.ImportFrom)]
            found |= {each.name: f"{line.module}.{each.name}" for line in lines for each in line.names if each.asname}
    return found


def definition(place: str) -> str:
    """Follows exports of folders down to the file that defines the name."""
    module, _, name = place.rpartition(".")
    folder = SOURCE.joinpath(*module.split(".")[1:], "__init__.py")
    further = exports(folder).get(name) if folder.exists() else None
    return definition(further) if further else place


def test_no_exported_name_has_two_definitions():
    places = defaultdict(set)
    for file in SOURCE.rglob("__init__.py"):
        for name, place in exports(file).items():
            places[name].add(definition(place))
    assert len(places) > 200
    assert {name: found for name, found in places.items() if len(found) > 1} == {}


def test_no_public_class_has_the_name_of_another():
    defined = defaultdict(list)
    for file in SOURCE.rglob("*.py"):
        for node in ast.parse(file.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                defined[node.name].append(str(file.relative_to(SOURCE)))
    assert {name: files for name, files in defined.items() if len(files) > 1} == {}


def test_names_that_are_loaded_at_first_use_are_those_that_type_checkers_read():
    typed = {name: definition(place) for name, place in exports(SOURCE / "__init__.py").items()}
    del typed["__version__"]
    assert {name: definition(f"{home}.{name}") for name, home in unbraid._HOMES.items()} == typed
    assert set(unbraid.__all__) == {*typed, "__version__"}


@pytest.mark.parametrize("base", [Metric, Objective])
def test_every_metric_and_objective_is_in_the_package_itself(base):
    classes = choices(base)
    assert len(classes) > 10
    assert {name: getattr(unbraid, cls.__name__) for name, cls in classes.items()} == classes
