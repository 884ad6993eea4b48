"""Provenance of the models of a report: data, settings, versions, device, and training time."""

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, final

from unbraid._internal import files
from unbraid._internal.amounts import duration
from unbraid._internal.version import __version__
from unbraid.config.annotations import short_name
from unbraid.config.digest import missing_classes
from unbraid.config.paths import fields_of
from unbraid.config.schedule import Schedule
from unbraid.config.text import text_of
from unbraid.show.pages.pictures import FrameSheet, sheet
from unbraid.show.report.groups import Group
from unbraid.show.report.members import ReportedRun
from unbraid.show.report.summary import data_name, thing_of
from unbraid.training.runs.pictures import some_rows
from unbraid.training.runs.spec import RunSpec
from unbraid.training.runs.spec_text import labeled_fields

_NUM_IMAGE_COLUMNS = 12


@final
@dataclass(frozen=True)
class DataProvenance:
    """A dataset (or a subset) with example images, and the groups of runs trained on it.

    `factors` has pairs of a name and the number of values. `trained_on` and `held_out` describe images as text.
    """

    name: str
    settings: str
    images: FrameSheet
    factors: tuple[tuple[str, str], ...]
    trained_on: str
    held_out: str
    sampling: str
    groups: tuple[Group, ...]


def training_data(groups: Sequence[Group]) -> list[DataProvenance]:
    """Returns each combination of dataset, subset and sampling of these groups."""
    by_data: dict[tuple[str, ...], list[Group]] = {}
    for group in groups:
        if not missing_classes(group.spec.dataset):
            key = tuple(map(text_of, (group.spec.dataset, group.spec.subset, group.spec.sampling)))
            by_data.setdefault(key, []).append(group)
    return [_data_of(members) for members in by_data.values()]


def _data_of(groups: Sequence[Group]) -> DataProvenance:
    spec = groups[0].spec
    images = spec.training_data.open()
    rows = some_rows(len(images), 2 * _NUM_IMAGE_COLUMNS)
    columns = min(_NUM_IMAGE_COLUMNS, len(rows))
    rows = rows[: len(rows) // columns * columns]
    thing = thing_of(groups)
    num_all, num_trained = spec.dataset.num_images, len(images)
    return DataProvenance(
        name=data_name(spec),
        settings=text_of(spec.dataset).partition(":")[2],
        images=sheet(images.batch(rows).unflatten(0, (-1, columns))),
        factors=tuple((factor.name, str(factor.size or "continuous")) for factor in spec.dataset.factors),
        trained_on=f"{num_trained:,} of {num_all:,} {thing}s" if num_trained < num_all else f"all {num_all:,} {thing}s",
        held_out=f"{num_all - num_trained:,} {thing}s, by --subset {text_of(spec.subset)}"
        if num_trained < num_all
        else "",
        sampling="" if spec.sampling is None else text_of(spec.sampling),
        groups=tuple(groups),
    )


def spec_table(specs: Sequence[RunSpec]) -> tuple[dict[str, str], dict[str, list[str]]]:
    """Returns two tables of the fields of specs by flag: common fields, and fields that differ.

    Fields that differ have a text for each spec, which is empty for specs without the field. A field that only some
    objectives have is listed as different only if it does not have its default.
    """
    described = [_described(spec) for spec in specs]
    worth = {flag_of(f"objective.{name}") for spec in specs for name in labeled_fields(spec.objective)}
    shared, differing = {}, {}
    for name in dict.fromkeys(name for fields in described for name in fields):
        values = [fields.get(name, "") for fields in described]
        is_default = name.startswith("--objective.") and name not in worth
        distinct = dict.fromkeys(value for value in values if value or not is_default)
        if len(distinct) > 1:
            differing[name] = values
        else:
            shared[name] = next(iter(distinct), "")
    return shared, differing


def flag_of(path: str) -> str:
    """Returns the flag of a field, such as `--objective.analytic-kl` for `objective.analytic_kl`."""
    return f"--{path.replace('_', '-')}"


def _described(spec: RunSpec) -> dict[str, str]:
    """Returns the text of each field that is not None, by its flag."""
    return {
        flag_of(path): _text(value)
        for path, value in fields_of(spec).items()
        if value is not None and (path != "model" or not dataclasses.is_dataclass(value))
    }


def _text(value: Any) -> str:
    is_config = dataclasses.is_dataclass(value) and not isinstance(value, Schedule)
    return short_name(value) if is_config else text_of(value)


def training_facts(members: Sequence[ReportedRun]) -> dict[str, str]:
    """Returns versions, device and training time as text, read from the folders of the runs."""
    every = [stretch for member in members for stretch in member.run.environments]
    names = ("unbraid", "torch", "device")
    facts = {
        name: ", ".join(dict.fromkeys(str(stretch[name]) for stretch in every if stretch.get(name) is not None))
        for name in names
    }
    facts["unbraid"] = facts["unbraid"] or __version__
    return {name: text for name, text in {**facts, "training": _training_time(members)}.items() if text}


def _training_time(members: Sequence[ReportedRun]) -> str:
    """Returns the total training time of all fleets as text. The time of a fleet is counted once."""
    fleets: dict[str, float] = {}
    for member in members:
        try:
            record = files.read_json(member.run.folder / "finished.json")
            fleets[f"{member.run.folder.parent} {record['fleet']}"] = float(record["seconds"])
        except (OSError, ValueError, TypeError, KeyError):  # an older run has no such record
            continue
    if not fleets:
        return ""
    kind = "fleet" if len(fleets) == 1 else "fleets"
    return f"{duration(sum(fleets.values()))} for {len(members):,} models in {len(fleets)} {kind}"
