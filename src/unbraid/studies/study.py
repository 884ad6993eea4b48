"""Study: settings to compare, each with its seeds, and the scores of their runs."""

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
    """A spec that a study compares with others, under a label and with its seeds.

    Settings of one `family` are drawn in one color. The default family is the name of the objective.
    """

    label: str
    spec: RunSpec
    seeds: tuple[int, ...]
    family: str = ""

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.label.strip():
            raise SpecError(
                "Expected the label of a setting to be a text, got an empty one. Give each setting a unique label."
            )
        if not self.seeds:
            raise SpecError(f"The setting {self.label!r} has no seeds; give at least one, such as seeds=(0, 1, 2).")
        if repeated := [seed for seed, count in Counter(self.seeds).items() if count > 1]:
            raise SpecError(f"The setting {self.label!r} has the seed {repeated[0]} twice. Give each once.")
        for seed in self.seeds:
            whole_seed(seed)
        if not self.family:
            object.__setattr__(self, "family", kebab_case(type(self.spec.objective)))

    @classmethod
    def each(cls, specs: Iterable[RunSpec], seeds: Iterable[int], family: str = "") -> "tuple[Setting, ...]":
        """Returns a setting with these seeds for each spec. Labels name the objective and the fields that differ."""
        listed, numbers = list(specs), tuple(seeds)
        labels = spec_labels(listed)
        return tuple(cls(labels[spec.digest], spec, numbers, family) for spec in listed)


@final
@dataclass(frozen=True)
class Study(Config):
    """Settings, each a spec with its seeds, that are trained, scored and compared to answer a question.

    Runs that can share a fleet are trained in fleets of at most `members_per_fleet`, so that every machine makes the
    same fleets. The last bits of a result on a CPU depend on the number of `threads`.

    Args:
        name: The name of the study and of its files.
        settings: The settings.
        question: The question in the report.
        metrics: Metrics and scores of models, by name or as instances.
        scorings: The scorings of every run. Tables show the first.
        keep: The arrays to keep: none ("scores"), weights and codes of the "best" seed of each setting, or of "all"
            runs. Scores are always kept.
        best_by: The metric that selects the best seed.
        members_per_fleet: The largest number of runs trained side by side.
        threads: The number of CPU threads of each fleet. Default: the number of threads of torch.
        claims: Sentences to test with the scores.
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

    def __post_init__(self) -> None:
        super().__post_init__()
        if not _NAME.fullmatch(self.name):
            raise SpecError(
                f"The name of the study is {self.name!r}; expected up to 100 small letters, digits, dots, dashes and "
                "underscores, such as 'beta-sweep', and no name of a device, such as 'con': it names files."
            )
        if not self.settings:
            raise SpecError(f"The study {self.name!r} has no settings; give at least one.")
        if not self.scorings:
            raise SpecError(f"The study {self.name!r} has no scorings; give at least one, such as Scoring().")
        if self.members_per_fleet < 1:
            raise SpecError(f"members_per_fleet is {self.members_per_fleet}; expected 1 or more.")
        if self.threads is not None and self.threads < 1:
            raise SpecError(f"threads is {self.threads}; expected 1 or more, or None.")
        self._check_settings()
        metrics = self.metrics_by_name
        if self.keep == "best" and self.best_by not in metrics:
            raise SpecError(
                f"keep is 'best' by {self.best_by!r}, which is not among the metrics of the study "
                f"({', '.join(metrics)}). Add it, or set best_by."
            )
        for claim in self.claims:
            claim.check([setting.label for setting in self.settings], metrics)

    def _check_settings(self) -> None:
        """Raises if two settings have the same label, or a run in common."""
        labels = Counter(setting.label for setting in self.settings)
        if repeated := [label for label, count in labels.items() if count > 1]:
            raise SpecError(f"Two settings are called {repeated[0]!r}. Give each its own label.")
        found: dict[tuple[str, int], str] = {}
        for setting in self.settings:
            digest = setting.spec.digest
            for seed in setting.seeds:
                other = found.setdefault((digest, seed), setting.label)
                if other != setting.label:
                    raise SpecError(
                        f"The settings {other!r} and {setting.label!r} have the same spec, and both have the seed "
                        f"{seed}, so both would be one run. Give them different seeds, or remove one setting."
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
        """Returns all runs of the study under the folder. The first seed of every setting precedes the second, ..."""
        placed = [_placed(setting, folder) for setting in self.settings]
        longest = max(len(runs) for runs in placed)
        return [runs[place] for place in range(longest) for runs in placed if place < len(runs)]

    def only(self, labels: Collection[str]) -> "Study":
        """Returns the study with only these settings and without claims. Returns the study itself without labels."""
        if not labels:
            return self
        known = [setting.label for setting in self.settings]
        if unknown := [label for label in labels if label not in known]:
            listed = ", ".join(repr(label) for label in known)
            raise SpecError(f"The study {self.name!r} has no setting {unknown[0]!r}. Its settings are {listed}.")
        return replace(self, settings=tuple(each for each in self.settings if each.label in labels), claims=())

    def save(self, path: Path | str) -> Path:
        """Writes the study as JSON."""
        path = Path(path)
        files.write_json(path, to_json(self))
        return path

    @classmethod
    def load(cls, path: Path | str, *, packages: Collection[str] = ("unbraid",)) -> "Study":
        """Reads a study from JSON written by `save`. The JSON may only name classes of these `packages`."""
        path = Path(path)
        try:
            content: Any = files.read_json(path)
        except (OSError, ValueError) as error:
            reason = error.strerror if isinstance(error, OSError) and error.strerror else error
            raise SpecError(
                f"{path} cannot be read ({reason}). Pass a JSON file written by `study.save(...)`."
            ) from None
        with no_garbage_collection():
            study: Study = from_json(content, cls, packages=packages, where=str(path))
        return study

    def push_to_hub(self, repo_id: str, folder: Path | str, **options: Unpack[PushOptions]) -> str:
        """Pushes all finished runs under the folder to the Hugging Face Hub in one commit, with a table of scores.

        Returns:
            The URL of the commit. `unbraid.integrations.hub.PushOptions` lists the options.
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
        """Fetches a study from the Hugging Face Hub or its cache, and copies its runs into the folder.

        Args:
            repo_id: The repository.
            folder: The folder for the runs.
            revision: A branch, a tag or a commit.
            packages: The packages whose classes the study may name.
        """
        from unbraid.studies.zoo import SCORES, STUDY
        from unbraid.training.runs.hub_runs import PATTERNS, placed

        snapshot = fetch(repo_id, revision, [STUDY, SCORES, *(f"*/{pattern}" for pattern in PATTERNS)])
        if not (snapshot / STUDY).is_file():
            raise RunError(f"{repo_id} holds no study (there is no {STUDY}). A single run is read by Run.from_hub.")
        study = cls.load(snapshot / STUDY, packages=packages)
        for config in sorted(snapshot.glob("*/config.json")):
            placed(config.parent, files.folder_path(folder))
        return study


@final
@dataclass(frozen=True)
class StudyOptions:
    """Execution options of a study: devices, limits and logging.

    Args:
        device: The device for training.
        budget: The time limit in seconds. No fleet is started that cannot finish within this time.
        fail_fast: Whether to stop at the first failure.
        num_scorers: The number of processes that compute scores. Default: one per core. With 0, scores are computed in
            this process, which allows classes that are defined in a notebook.
        packages: The packages whose classes the studies in the folder may name.
        progress: Whether a terminal or a notebook shows the progress.
        on: The workers that train fleets in parallel: processes of this machine ("local"), or a Ray cluster ("ray",
            docs/cluster.md).
        address: The address of the cluster.
        num_workers: The number of local processes that train fleets. Default: one per GPU.
        autoscaling: Whether a fleet may ask for nodes that do not exist yet.
        patience: The limits after which a fleet counts as lost or failed.
        latent_information_every: The number of steps between logs of the information in each latent, as in `train`.
        beside: Other studies with the same folder. Their scores of shared runs are computed in the same pass.
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
                raise SpecError(f"{name} is {given}; expected {least} or more, or None.")


@final
@dataclass(frozen=True)
class StudyRun:
    """A run and its setting. `run` is created on first use, because a study may have 100,000 runs."""

    setting: Setting
    seed: int
    name: str
    place: Path

    @functools.cached_property
    def run(self) -> Run:
        return Run(self.place / self.name, self.setting.spec, self.seed)


def _placed(setting: Setting, folder: Path) -> list[StudyRun]:
    """Returns the runs of a setting. `Run.place` names the first run. The other names differ only in the seed."""
    first = Run.place(folder, setting.spec, setting.seeds[0])
    stem, place = first.name.removesuffix(f"{first.seed}"), first.folder.parent
    return [StudyRun(setting, seed, f"{stem}{seed}", place) for seed in setting.seeds]
