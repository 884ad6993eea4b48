"""Study: a comparison of settings (specs with seeds) by metrics."""

import functools
import re
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, Unpack, final

import torch

from unbraid._internal import files
from unbraid._internal.memory import no_garbage_collection
from unbraid._internal.names import kebab_case
from unbraid._internal.short_repr import short_repr
from unbraid.config import Config, from_json, to_json
from unbraid.config.annotations import check_value
from unbraid.errors import RunError, SpecError
from unbraid.integrations.hub import PushOptions, fetch, push
from unbraid.metrics.metric import Metric
from unbraid.metrics.model import ModelScore
from unbraid.metrics.scoring import Scoring
from unbraid.metrics.selection import select
from unbraid.studies.claims.claim import Claim
from unbraid.studies.cluster.driver import Patience
from unbraid.training.runs.run import Run
from unbraid.training.runs.spec import RunSpec, whole_seed
from unbraid.training.runs.spec_text import spec_labels

Keep = Literal["scores", "best", "all"]

# Windows reserves the names of devices, with any suffix.
_NAME = re.compile(r"(?!(con|prn|aux|nul|com[0-9]|lpt[0-9])(\.|$))[a-z0-9][a-z0-9._-]{0,99}")


@final
@dataclass(frozen=True)
class Setting(Config):
    """A spec with the seeds to train, and its label in tables and figures.

    Figures draw settings of the same `family` in the same color. The default family is the name of the objective.
    """

    label: str
    spec: RunSpec
    seeds: tuple[int, ...]
    family: str = ""

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.label.strip():
            raise SpecError(
                f"Expected the label of a setting to be a text, got {self.label!r}. Give each setting a unique label."
            )
        if not self.seeds:
            raise SpecError(f"The setting {self.label!r} has no seeds. Pass one or more, such as seeds=(0, 1, 2).")
        if repeated := [seed for seed, count in Counter(self.seeds).items() if count > 1]:
            raise SpecError(f"The setting {self.label!r} has the seed {repeated[0]} twice. Pass each seed once.")
        for seed in self.seeds:
            whole_seed(seed)
        if not self.family:
            object.__setattr__(self, "family", kebab_case(type(self.spec.objective)))

    @classmethod
    def each(cls, specs: Iterable[RunSpec], seeds: Iterable[int], family: str = "") -> "tuple[Setting, ...]":
        """Returns a setting with these seeds for each spec. A label has the objective and the fields that differ."""
        listed, numbers = list(specs), tuple(seeds)
        labels = spec_labels(listed)
        return tuple(cls(labels[spec.digest], spec, numbers, family) for spec in listed)


@final
@dataclass(frozen=True)
class Study(Config):
    """A comparison of settings (specs with seeds) by metrics.

    Runs that can share a fleet are trained in fleets of at most `members_per_fleet` runs, so that the fleets are the
    same on every machine. The last bits of a result on a CPU depend on the number of `threads`.

    Args:
        name: The name of the study and of its files.
        settings: The settings.
        question: The research question, printed in the report.
        metrics: Metrics and scores of models, by name or as instances.
        scorings: The scorings of every run. Tables show the first scoring.
        keep: Which weights and codes to keep: none ("scores"), those of the best seed of each setting ("best"), or all
            ("all"). Scores are always kept.
        best_by: The metric that selects the best seed.
        members_per_fleet: The largest number of runs trained side by side.
        threads: The number of CPU threads of each fleet. Default: the number of threads of torch.
        claims: Hypotheses to test with the scores.
    """

    name: str
    settings: tuple[Setting, ...]
    question: str = ""
    metrics: tuple[str | Metric | ModelScore, ...] = ("all", "model")
    scorings: tuple[Scoring, ...] = (Scoring(),)
    keep: Keep = "all"
    best_by: str = "mig"
    members_per_fleet: int = 64
    threads: int | None = None
    claims: tuple[Claim, ...] = ()

    __repr__ = short_repr

    def __post_init__(self) -> None:
        super().__post_init__()
        if not _NAME.fullmatch(self.name):
            raise SpecError(
                f"The name of the study is {self.name!r}; expected up to 100 lowercase letters, digits, dots, dashes "
                "and underscores, and not a device name such as 'con'. Choose a name such as 'beta-sweep'."
            )
        if not self.settings:
            raise SpecError(f"The study {self.name!r} has no settings. Pass one or more, such as Setting.each(...).")
        if not self.scorings:
            raise SpecError(f"The study {self.name!r} has no scorings. Pass one or more, such as Scoring().")
        if self.members_per_fleet < 1:
            raise SpecError(f"Expected `members_per_fleet` >= 1, got {self.members_per_fleet}. Pass for example 64.")
        if self.threads is not None and self.threads < 1:
            raise SpecError(f"Expected `threads` to be an integer >= 1 or None, got {self.threads}. Pass e.g. 4.")
        self._check_settings()
        metrics = self.metrics_by_name
        if self.keep == "best" and self.best_by not in metrics:
            raise SpecError(
                f"With keep='best', expected `best_by` to be a metric of the study ({', '.join(metrics)}), got "
                f"{self.best_by!r}. Add it to the metrics, or change `best_by`."
            )
        for claim in self.claims:
            claim.check([setting.label for setting in self.settings], metrics)

    def _check_settings(self) -> None:
        """Raises SpecError if two settings have the same label, or the same spec and seed."""
        labels = Counter(setting.label for setting in self.settings)
        if repeated := [label for label, count in labels.items() if count > 1]:
            raise SpecError(f"Two settings have the label {repeated[0]!r}. Give each setting a different label.")
        found: dict[tuple[str, int], str] = {}
        for setting in self.settings:
            digest = setting.spec.digest
            for seed in setting.seeds:
                other = found.setdefault((digest, seed), setting.label)
                if other != setting.label:
                    raise SpecError(
                        f"The settings {other!r} and {setting.label!r} have the same spec and the same seed {seed}. "
                        "Give them different seeds, or remove one setting."
                    )

    @functools.cached_property
    def metrics_by_name(self) -> dict[str, Metric | ModelScore]:
        """The metrics and the scores of models, by name."""
        selection = select(self.metrics)
        return {**selection.metrics, **selection.model_scores}

    @property
    def num_runs(self) -> int:
        return sum(len(setting.seeds) for setting in self.settings)

    @property
    def num_seeds(self) -> dict[str, int]:
        """The number of seeds of each setting."""
        return {setting.label: len(setting.seeds) for setting in self.settings}

    def runs(self, folder: Path) -> "list[StudyRun]":
        """Returns all runs of the study in the folder, trained or not. The first seeds of all settings come first."""
        placed = [_placed(setting, folder) for setting in self.settings]
        longest = max(len(runs) for runs in placed)
        return [runs[place] for place in range(longest) for runs in placed if place < len(runs)]

    def only(self, labels: Collection[str]) -> "Study":
        """Returns the study with only these settings and without claims. If `labels` is empty, returns the study."""
        if not labels:
            return self
        known = [setting.label for setting in self.settings]
        if unknown := [label for label in labels if label not in known]:
            listed = ", ".join(repr(label) for label in known)
            raise SpecError(f"The study {self.name!r} has no setting {unknown[0]!r}. Choose from {listed}.")
        return replace(self, settings=tuple(each for each in self.settings if each.label in labels), claims=())

    def save(self, path: Path | str) -> Path:
        """Writes the study as JSON. Returns the path."""
        path = Path(path)
        files.write_json(path, to_json(self))
        return path

    @classmethod
    def load(cls, path: Path | str, *, packages: Collection[str] = ("unbraid",)) -> "Study":
        """Reads a study written by `save`. The file may only contain classes of these `packages`."""
        path = Path(path)
        try:
            content: Any = files.read_json(path)
        except (OSError, ValueError) as error:
            reason = error.strerror if isinstance(error, OSError) and error.strerror else error
            raise SpecError(f"{path} cannot be read ({reason}). Pass a file written by `study.save(...)`.") from None
        with no_garbage_collection():
            study: Study = from_json(content, cls, packages=packages, where=str(path))
        return study

    def push_to_hub(self, repo_id: str, folder: Path | str, **options: Unpack[PushOptions]) -> str:
        """Pushes all finished runs and a table of scores to the Hugging Face Hub in one commit.

        The options are the fields of `unbraid.integrations.hub.PushOptions`. Returns the URL of the commit.
        """
        from unbraid.studies.zoo import zoo_contents

        contents = zoo_contents(self, folder, repo_id, options)
        private, message = options.get("private", False), f"Add the study {self.name}"
        return push(repo_id, contents, message=message, private=private, revision=options.get("revision"))

    @classmethod
    def from_hub(
        cls,
        repo_id: str,
        folder: Path | str,
        *,
        revision: str | None = None,
        packages: Collection[str] = ("unbraid",),
    ) -> "Study":
        """Downloads a study from the Hugging Face Hub (or reads it from the cache), and copies its runs to a folder.

        Args:
            repo_id: The repository, such as "owner/name".
            folder: The folder for the runs.
            revision: A branch, a tag or a commit.
            packages: The packages whose classes the study may contain.
        """
        from unbraid.studies.zoo import SCORES, STUDY
        from unbraid.training.runs.hub_runs import PATTERNS, placed

        snapshot = fetch(repo_id, revision, [STUDY, SCORES, *(f"*/{pattern}" for pattern in PATTERNS)])
        if not (snapshot / STUDY).is_file():
            raise RunError(f"Expected a study in {repo_id}, got no file {STUDY}. Use Run.from_hub for a single run.")
        study = cls.load(snapshot / STUDY, packages=packages)
        for config in sorted(snapshot.glob("*/config.json")):
            placed(config.parent, files.folder_path(folder))
        return study


@final
@dataclass(frozen=True)
class StudyOptions:
    """Options of `run_study`: devices, workers, limits and logging.

    Args:
        device: The device for training.
        budget: The time limit in seconds. No fleet is started that cannot finish within this time.
        fail_fast: Whether to stop at the first failure.
        num_scorers: The number of processes that compute scores. Default: one per core. With 0, this process computes
            the scores, which is required for classes defined in a notebook.
        packages: The packages whose classes the studies in the folder may contain.
        progress: Whether to show the progress in a terminal or a notebook.
        on: The workers that train fleets in parallel: processes of this machine ("local"), or a Ray cluster ("ray",
            docs/cluster.md).
        address: The address of the cluster.
        num_workers: The number of local processes that train fleets. Default: one per GPU.
        autoscaling: Whether to wait for Ray nodes that do not exist yet.
        patience: The retry limits and timeouts of fleets on workers.
        latent_information_every: The number of steps between logs of the information in each latent, as in `train`.
        beside: Other studies in the same folder, whose scores of shared runs are computed as well.
        snapshots: The steps at which weights are saved, as in `train`.
        settings: The labels of the settings to run. Default: all.
    """

    device: torch.device | str = "auto"
    budget: float | None = None
    fail_fast: bool = False
    num_scorers: int | None = None
    packages: Sequence[str] = ("unbraid",)
    progress: bool = True
    on: Literal["local", "ray"] = "local"
    address: str | None = None
    num_workers: int | None = None
    autoscaling: bool = False
    patience: Patience = field(default_factory=Patience)
    latent_information_every: int | None = None
    beside: Sequence[Study] = ()
    snapshots: Iterable[int] = ()
    settings: Sequence[str] = ()

    def __post_init__(self) -> None:
        check_value(self.on, Literal["local", "ray"], "on")
        for name, least in (("budget", 0), ("num_scorers", 0), ("num_workers", 1)):
            given = check_value(getattr(self, name), float | None if name == "budget" else int | None, name)
            if given is not None and not given >= least:
                raise SpecError(f"Expected `{name}` to be a number >= {least} or None, got {given}. Pass None.")


@final
@dataclass(frozen=True)
class StudyRun:
    """A run of a study with its setting. `run` is created on first use, because a study may have 100,000 runs."""

    setting: Setting
    seed: int
    name: str
    place: Path

    @functools.cached_property
    def run(self) -> Run:
        return Run(self.place / self.name, self.setting.spec, self.seed)


def _placed(setting: Setting, folder: Path) -> list[StudyRun]:
    """Returns the runs of a setting. The names differ only in the seed, so `Run.place` is called only once."""
    first = Run.place(folder, setting.spec, setting.seeds[0])
    stem, place = first.name.removesuffix(f"{first.seed}"), first.folder.parent
    return [StudyRun(setting, seed, f"{stem}{seed}", place) for seed in setting.seeds]
