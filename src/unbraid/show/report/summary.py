"""Title and summary of a report."""

import math
from collections.abc import Sequence

from unbraid.config.annotations import short_name
from unbraid.config.digest import missing_classes
from unbraid.show.report.groups import Group
from unbraid.show.report.measures import Measure
from unbraid.show.report.members import ReportedRun
from unbraid.training.runs.spec import RunSpec
from unbraid.training.runs.spec_text import describe_spec

CURVES = " Each vector is a curve of its numbers from the first to the last; all curves of a row have one scale."


def title_of(groups: Sequence[Group]) -> str:
    """Returns the default title, such as "vae and beta-tcvae on dsprites"."""
    objectives = list(dict.fromkeys(describe_spec(group.spec)["objective"] for group in groups))
    datasets = list(dict.fromkeys(data_name(group.spec) for group in groups))
    return f"{_and(objectives) if len(objectives) < 4 else f'{len(objectives)} objectives'} on {_and(datasets)}"


def summary_of(groups: Sequence[Group], measure: Measure, best: ReportedRun, factors: Sequence[str] = ()) -> str:
    """Returns the number of models, objectives and images, and the best model, as text.

    An example is "8 models, 2 objectives, 1,536 images of 32 × 32. Best: vae, seed 3, MIG 0.330 over scale and shape."
    `factors` has the names of the scored factors, which are printed if the measure is a MIG.
    """
    num_members = sum(len(group.members) for group in groups)
    objectives = _count(len({describe_spec(group.spec)["objective"] for group in groups}), "objective")
    settings = "" if objectives.startswith(f"{len(groups)} ") else f"{len(groups)} settings of "
    sentence = f"{_count(num_members, 'model')}, {settings}{objectives}, {_images(groups)}."
    value = measure.value(best)
    if math.isnan(value):
        return sentence
    label = next(group.label for group in groups if best in group.members)
    over = f" over {_and(factors)}" if factors and measure.name == best.mig_name else ""
    number = f"{measure.label} {measure.text(value)}{over}"
    sentence += f"{' Best:' if num_members > 1 else ''} {label}, seed {best.run.seed}, {number}."
    return f"{sentence} {best.badge}." if best.badge else sentence


def data_name(spec: RunSpec) -> str:
    """Returns the name that the user gave to a dataset, or the name of its class."""
    return getattr(spec.dataset, "name", "") or describe_spec(spec)["dataset"]


def thing_of(groups: Sequence[Group]) -> str:
    """Returns "vector" if all data are vectors, or else "image"."""
    return "vector" if all(getattr(group.spec.dataset, "holds_vectors", False) for group in groups) else "image"


def _images(groups: Sequence[Group]) -> str:
    datasets = {group.spec.dataset for group in groups}
    if len(datasets) > 1:
        return f"{len(datasets)} datasets"
    (dataset,) = datasets
    if missing_classes(dataset):
        return f"images of {short_name(dataset)}"
    _, height, width = dataset.image_shape
    subsets = "" if all(group.spec.subset is None for group in groups) else "subsets of "
    things = f"vectors of {width} numbers" if dataset.holds_vectors else f"images of {height} × {width}"
    return f"{subsets}{dataset.num_images:,} {things}"


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def _and(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
