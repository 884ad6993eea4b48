"""Short names for specs, as they stand in tables."""

from collections.abc import Mapping, Sequence
from dataclasses import MISSING, fields
from typing import Any

from unbraid.cli.values import shown
from unbraid.objectives.objective import Objective
from unbraid.runs.recipes import kebab_case
from unbraid.runs.spec import RunSpec


def objective_label(objective: Objective) -> str:
    """`beta-tcvae beta=6`: the name, and the fields worth a word. A weight of 1, where that is the default, changes nothing and is left out."""
    told = []
    for of_class in fields(objective):
        value = getattr(objective, of_class.name)
        is_default = of_class.default is not MISSING and value == of_class.default
        if not is_default or (isinstance(value, float) and value != 1):
            told.append(f"{of_class.name}={shown(value)}")
    return " ".join([kebab_case(type(objective)), *told])


def spec_labels(specs: Sequence[RunSpec]) -> dict[str, str]:
    """A label for each spec, by its digest: its objective, and whatever else these specs differ in."""
    contents = {spec.digest: _flat(spec.to_json()) for spec in specs}
    names = sorted({name for content in contents.values() for name in content if not name.startswith("objective.")})
    differing = [name for name in names if len({str(content.get(name)) for content in contents.values()}) > 1]
    return {
        spec.digest: " ".join(
            [objective_label(spec.objective), *(f"{name}={shown(contents[spec.digest].get(name))}" for name in differing)]
        )
        for spec in specs
    }


def _flat(content: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for name, value in content.items():
        if isinstance(value, Mapping):
            flat |= _flat(value, f"{prefix}{name}.")
        elif prefix or name != "type":
            flat[prefix + name] = value
    return flat
