"""Experiments at each scale: the paper's own size is written once, `smoke` and `laptop` are derived from `quick`.

`smoke` is one table for all papers, and `laptop` one for each: which fields of datasets are smaller, how much narrower
nets are, and how long is trained.
"""

import contextlib
import functools
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any

from reproductions.item import Experiment, Item, Scale, Tuned, at_scale
from reproductions.rows import claims_of, controls_of, filled
from unbraid import RunSpec
from unbraid.config import parse, text_of
from unbraid.datasets import MNIST, AttributeFaces, DSprites, FashionMNIST, ShadedFaces
from unbraid.datasets.subsets import RowRange
from unbraid.errors import SpecError
from unbraid.metrics import Metric
from unbraid.metrics.model import ModelScore
from unbraid.objectives import Objective
from unbraid.studies import Setting
from unbraid.training.optimizers import Adam

_WIDTHS = ("channels", "hidden", "decoder_hidden", "branch_width", "head")


@dataclass(frozen=True)
class Reduction:
    """How a small scale differs from `quick`.

    Args:
        datasets: The fields of a dataset that differ, by its class. Numbers are upper limits.
        num_steps: The number of steps, by the class of the objective: the first that fits.
        learning_rate: The learning rate of Adam, and `critic_learning_rate` that of critics; by default those of `quick`.
        nets: Nets that are replaced, by their class; all others are narrower.
        width: The share that is left of every width of nets and critics, at most `max_width`.
        spec: Other fields of the spec.
        seeds: The number of seeds where the item has none for this scale.
        max_fitted: The most points that a metric fits a predictor on. Claims do not find a metric whose name this changes.
    """

    datasets: Mapping[Any, Mapping[str, Any]]
    num_steps: Mapping[type, int]
    width: float = 0.5
    max_width: int = 256
    nets: Mapping[type, Any] = field(default_factory=dict)
    spec: Mapping[str, Any] = field(default_factory=dict)
    learning_rate: float | None = None
    critic_learning_rate: float | None = None
    max_fitted: int | None = None

    def of(self, spec: RunSpec) -> RunSpec:
        """Returns a spec at this scale."""
        dataset, model, subset = spec.dataset, spec.model, spec.subset
        given = next((given for kind, given in self.datasets.items() if isinstance(dataset, kind)), {})
        smaller: Any = replace(dataset, **{name: _least(getattr(dataset, name), value) for name, value in given.items()})
        if isinstance(subset, RowRange):
            subset = RowRange(subset.start, subset.stop * smaller.num_images // dataset.num_images)
        nets = {name: self._narrow(net) for name in ("encoder", "decoder") if (net := getattr(model, name)) is not None}
        critic = spec.critic and self._narrow(spec.critic)
        if critic is not None:
            critic = replace(critic, optimizer=_at_rate(critic.optimizer, self.critic_learning_rate))
        steps = next(steps for kind, steps in self.num_steps.items() if isinstance(spec.objective, kind))
        made = {"dataset": smaller, "model": replace(model, **nets), "critic": critic, "num_steps": steps, "subset": subset}
        given = {"batch_size": spec.batch_size, "optimizer": _at_rate(spec.optimizer, self.learning_rate), **self.spec}
        return replace(spec, **{**made, **given, "batch_size": min(given["batch_size"], smaller.num_images)})

    def metric(self, name: str) -> str:
        """Returns a metric at this scale."""
        found = _metric(name)
        if self.max_fitted is None or found is None:
            return name
        fitted = {each: min(getattr(found, each), self.max_fitted) for each in ("num_train", "num_test") if hasattr(found, each)}
        return text_of(replace(found, **fitted))

    def _narrow(self, net: Any) -> Any:
        if type(net) in self.nets:
            return self.nets[type(net)]
        widths = {each.name: getattr(net, each.name) for each in fields(net) if each.name in _WIDTHS}
        return replace(net, **{name: self._narrower(width) for name, width in widths.items()})

    def _narrower(self, width: Any) -> Any:
        if isinstance(width, tuple):
            return tuple(map(self._narrower, width))
        return max(1, min(self.max_width, round(self.width * width)))


def _at_rate(optimizer: Any, learning_rate: float | None) -> Any:
    return replace(optimizer, learning_rate=learning_rate) if learning_rate is not None and isinstance(optimizer, Adam) else optimizer


def _least(whole: Any, limit: Any) -> Any:
    return min(whole, limit) if isinstance(whole, int) and not isinstance(whole, bool) else limit


SMOKE = Reduction(
    {
        DSprites: {"resolution": 32, "num_scales": 2, "num_orientations": 2, "num_positions": 4},
        ShadedFaces: {"resolution": 32, "num_identities": 5, "num_azimuths": 3, "num_elevations": 3, "num_lightings": 2},
        AttributeFaces: {"resolution": 32, "num_people": 24, "poses_per_person": 3},
        (MNIST, FashionMNIST): {"split": "test"},
    },
    {Objective: 4},
    width=0.125,
    max_width=16,
    spec={"batch_size": 8},
    max_fitted=100,
)


def experiment_of(item: Item, data: str, scale: Scale) -> Experiment:
    """Returns what an item trains or computes on a dataset at a scale. Small scales have the settings of `quick`."""
    code, given = item.code, item.data(data)
    if code.compute is not None:
        cases = {label: tuple(seeds) for label, seeds in (code.cases(data) if callable(code.cases) else code.cases).items()}
        if scale == "smoke":
            cases = {label: seeds[:1] for label, seeds in list(cases.items())[:1]}
        return Experiment(compute=code.compute, cases=cases, reads=code.reads(data))
    reduction = {"smoke": SMOKE, "laptop": item.module.LAPTOP}.get(scale)
    named = {key: filled(at_scale(value, scale), given.names, scale) for key, value in {"models": given.models, **given.tuned}.items()}
    settings = _settings(item, data, scale, reduction, named["models"], at_scale(given.seeds, scale))
    tuned = None
    if given.tuned:
        candidates = _settings(item, data, scale, reduction, named["candidates"], named["seeds"])
        tuned = Tuned(named["label"], candidates, settings[0].seeds, reduction.metric(named["by"]) if reduction else named["by"])
    metrics = metrics_of(item, data, scale)
    study = {"metrics": metrics, "scorings": code.scorings(data) if code.scorings else given.scorings, **given.study}
    study |= {"keep": given.study.get("keep", "best" if code.pictures else "scores"), "best_by": given.study.get("best_by", metrics[0])}
    if reduction is not None:  # everything is small, and items may share runs later
        study |= {"keep": "all", "metrics": tuple(dict.fromkeys(map(reduction.metric, metrics)))}
        study["best_by"] = reduction.metric(study["best_by"])
    every = max(1, settings[0].spec.num_steps // 100) if code.keeps_curves else None
    return Experiment(settings, study, tuned, code.examine(data), every)


def _settings(item: Item, data: str, scale: Scale, reduction: Reduction | None, labels: Iterable[str], seeds: Any) -> tuple[Setting, ...]:
    """Returns settings with these labels, and as many seeds, or with these seeds."""
    base, spec, found = "quick" if reduction else scale, item.code.spec or item.module.spec, []
    family, num_seeds = getattr(item.module, "family", lambda label: ""), getattr(item.module, "num_seeds", lambda data, scale, label, count: count)
    for label in labels:
        made = spec(data, base, label, **item.on[data].options)
        chosen = tuple(range(num_seeds(data, scale, label, seeds)) if isinstance(seeds, int) else seeds)
        found.append(Setting(label, reduction.of(made) if reduction else made, chosen[: 2 if scale == "smoke" else None], family(label)))
    return tuple(found)


def metrics_of(item: Item, data: str, scale: Scale) -> tuple[str, ...]:
    """Returns the metrics behind all numbers that the tables, claims and figure of an item name."""
    given, panels = item.on[data], item.figure.values() if isinstance(item.figure, Mapping) else ()
    claims = (*claims_of(item, data, scale), *controls_of(item, data, scale))
    named = [*item.scores, *(each.metric for each in item.printed), *(name for each in claims for name in each.quantity.metrics_used)]
    named += [name for panel in panels for name in panel]
    named += ([given.study["best_by"]] if item.code.pictures and "best_by" in given.study else []) + ([given.tuned["by"]] if given.tuned else [])
    return tuple(dict.fromkeys(text_of(metric) for name in named if (metric := _metric(name)))) or ("informativeness:quantized:rectangle",)


@functools.cache
def _metric(name: str) -> Any:
    """Returns the metric of a number: its name may go on with a part or a factor. None if no metric has it."""
    for kind in (Metric, ModelScore):
        with contextlib.suppress(SpecError):
            return parse(name, kind, "a metric")
    head, colon, _ = name.rpartition(":")
    return _metric(head) if colon else None
