"""A default moves only with the version of its config, or runs would be found under a name that now means another.

config_defaults.json holds what the defaults are. After a change, `python -m tests.config.test_config_defaults` writes
it anew, unless a default has moved and its version has not.
"""

import dataclasses
import inspect
import json
import typing
from pathlib import Path
from typing import Any

import pytest

from tests.discovery import concrete_subclasses
from unbraid.config.annotations import alternatives, public_path
from unbraid.config.digest import config_version, defaults
from unbraid.training.runs import RunSpec

TABLE = Path(__file__).parent / "config_defaults.json"


def configs_within(annotation: Any) -> set[type]:
    """Every config that a field with this annotation may hold, and those that its fields may hold."""
    found: set[type] = set()
    waiting = [annotation]
    while waiting:
        for choice in alternatives(waiting.pop()):
            if typing.get_origin(choice) is tuple:
                waiting += [inner for inner in typing.get_args(choice) if inner is not ...]
            elif isinstance(choice, type) and choice.__module__.startswith("unbraid."):
                kinds = {cls for cls in (choice, *concrete_subclasses(choice)) if dataclasses.is_dataclass(cls)}
                kinds = {cls for cls in kinds if not inspect.isabstract(cls)}
                waiting += [hint for cls in kinds - found for hint in typing.get_type_hints(cls).values()]
                found |= kinds
    return found


def as_they_are() -> dict[str, Any]:
    configs = {public_path(cls): cls for cls in configs_within(RunSpec)}
    return {path: {"config_version": config_version(cls), **defaults(cls)} for path, cls in sorted(configs.items())}


def moved(before: dict[str, Any], now: dict[str, Any]) -> list[str]:
    """The defaults that differ though the version of their config does not."""
    return [
        f"{path}.{name}"
        for path in before.keys() & now.keys()
        for name in before[path].keys() & now[path].keys()
        if before[path]["config_version"] == now[path]["config_version"] and before[path][name] != now[path][name]
    ]


def test_no_default_moves_without_the_version_of_its_config():
    assert moved(json.loads(TABLE.read_text()), as_they_are()) == [], (
        "raise `config_version: ClassVar[int]` of each of these configs"
    )


def test_the_table_is_up_to_date():
    """A config that was never released is not in the table yet: its defaults may still move."""
    now = as_they_are()
    table = json.loads(TABLE.read_text())
    assert table == {path: now.get(path) for path in table}, "run `python -m tests.config.test_config_defaults`"


def test_every_part_of_a_spec_is_in_the_table():
    paths = as_they_are()
    for name in (
        *("training.runs.RunSpec", "training.Critic", "models.Conv", "objectives.VAE"),
        *("config.schedule.Linear", "datasets.DSprites"),
    ):
        assert f"unbraid.{name}" in paths


@pytest.mark.parametrize(
    ("now", "expected"),
    [
        ({"config_version": 1, "beta": 4.0}, ["a.beta"]),
        ({"config_version": 2, "beta": 4.0}, []),
        ({"config_version": 1, "beta": 6.0, "gamma": 1.0}, []),
        ({"config_version": 1}, []),
    ],
    ids=["a default", "a default and the version", "a field more", "a field less"],
)
def test_what_counts_as_a_move(now, expected):
    assert moved({"a": {"config_version": 1, "beta": 6.0}, "gone": {"config_version": 1}}, {"a": now}) == expected


if __name__ == "__main__":
    if TABLE.exists() and (names := moved(json.loads(TABLE.read_text()), as_they_are())):
        raise SystemExit(f"Raise `config_version: ClassVar[int]` of the configs of {', '.join(names)} first.")
    lines = (f"{json.dumps(path)}: {json.dumps(content)}" for path, content in as_they_are().items())
    TABLE.write_text("{\n" + ",\n".join(lines) + "\n}\n")
