"""Run: one trained model, read from its folder on disk."""

import builtins
import logging
import os
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Unpack, final

import numpy as np
import torch

from unbraid._internal import files
from unbraid._internal.device import resolve_device
from unbraid._internal.names import kebab_case
from unbraid._internal.progress import Listener, progress_bar
from unbraid.codes import Codes
from unbraid.codes.codes_file import read_safetensors
from unbraid.config.annotations import check_value, in_short
from unbraid.config.own_configs import missing_classes
from unbraid.errors import RunError, SpecError, shortened
from unbraid.figures.traversal import Traversal
from unbraid.integrations.export.onnx_files import ExportedFile, export_onnx
from unbraid.integrations.export.torch_files import export_torch
from unbraid.integrations.hub.repository import PushOptions
from unbraid.metrics.metric import Score
from unbraid.metrics.scorecard import Scorecard
from unbraid.metrics.scoring import ScoredPart, Scoring
from unbraid.metrics.selection import Metrics, select
from unbraid.models.autoencoder import AutoencoderModule
from unbraid.models.trained.new_images import encoder_of
from unbraid.models.trained.traverse import NUM_FRAMES, RANGE, OrderBy, Range, Words, traverse
from unbraid.training.options import TrainingOptions
from unbraid.training.runs.history import History
from unbraid.training.runs.kept_exports import KeptExports
from unbraid.training.runs.kept_scores import KeptScores
from unbraid.training.runs.pictures import PICTURES, ModelPictures, Pictures, StoredPictures
from unbraid.training.runs.records import STATE, Failure, read_spec
from unbraid.training.runs.run_files import RunFiles, Status
from unbraid.training.runs.run_source import changed_source, differences, missing_source, read_spec_of, source_changes
from unbraid.training.runs.scored_images import Scorable, settled
from unbraid.training.runs.spec import RunSpec, whole_seed
from unbraid.training.runs.trained_model import trained_model

log = logging.getLogger(__name__)


@final
@dataclass(frozen=True)
class Run:
    """A folder that holds a spec and a seed, and what came of them. A run reads it; `train` makes it. Its files are
    listed in `unbraid.training.runs.run_files`.
    """

    folder: Path
    spec: RunSpec
    seed: int

    @classmethod
    def place(cls, parent: Path | str, spec: RunSpec, seed: Any) -> "Run":
        """Returns the run of this spec and seed under `parent`, made or not: its folder is named by what it is."""
        number = whole_seed(seed)
        if not isinstance(spec, RunSpec):
            raise SpecError(f"A spec is {in_short(spec)}; expected a RunSpec, such as RunSpec(DSprites()).")
        name = f"{kebab_case(type(spec.objective))}-{spec.digest}-seed{number}"
        return cls(files.folder_path(parent) / name, spec, number)

    @classmethod
    def open(
        cls,
        folder: Path | str,
        *,
        packages: Collection[str] = (),
        warn: Callable[[str], None] = log.warning,
    ) -> "Run":
        """Reads a run back. Nothing of the folder is executed, no data set is read and no net is built.

        Classes of your own are imported from the `packages` that you name, or are those that were imported or defined
        before, as in a notebook. Where one cannot be had, its codes, scores, history and report can be read all the
        same, and its model cannot be built. `warn` is called with a sentence about classes that are missing or not what
        they were when the run was begun, with the place where the run keeps their text.
        """
        path = files.folder_path(folder) / "spec.json"
        if not os.path.lexists(path):
            what = f"{folder} is not a run: it has no spec.json." if Path(folder).is_dir() else files.no_folder(folder)
            raise RunError(f"{what} `unbraid runs` lists the runs of a folder.")
        missing: dict[str, str] = {}
        try:
            content = read_spec(path)
            seed = check_value(content.get("seed"), int, f"{path}: seed")
            run = cls(Path(folder), read_spec_of(content, path, packages, missing), seed)
        except RecursionError:
            raise RunError(f"{path} is nested too deeply to be a spec. Restore it.") from None
        if run.status != "unfinished":
            run._files.check(path)
        if missing:
            warn(shortened(missing_source(run.folder, missing)))
        elif changes := source_changes(content, run.spec, path):
            warn(shortened(f"{changed_source(f'{folder} was', changes)} {differences(run.folder, changes)}"))
        return run

    @classmethod
    def from_hub(
        cls,
        repo_id: str,
        *,
        revision: str | None = None,
        name: str | None = None,
        folder: Path | str | None = None,
        packages: Collection[str] = (),
    ) -> "Run":
        """Fetches a run from the Hugging Face Hub, or reads it from its cache, puts it below `folder` (by default in
        unbraid's cache) and opens it. `revision` is a branch, a tag or a commit; `name` is one of the runs of a zoo.
        """
        from unbraid.training.runs.hub_runs import fetch_run  # which opens runs

        return cls.open(fetch_run(repo_id, revision, name, folder), packages=packages)

    @property
    def digest(self) -> str:
        """Returns the digest of the spec as it was when the run was begun, when its classes may have been others."""
        return self.spec.digest if self.status == "new" else str(read_spec(self.folder / "spec.json").get("digest"))

    @property
    def source_changes(self) -> list[str]:
        """Returns the modules of the user's own that are not what they were when the run was begun."""
        path = self.folder / "spec.json"
        return [] if self.status == "new" else source_changes(read_spec(path), self.spec, path)

    @property
    def name(self) -> str:
        return self.folder.name

    @property
    def status(self) -> Status:
        return self._files.status

    @property
    def version(self) -> str | None:
        """Returns the version of unbraid that made the run; None before it is made."""
        return None if self.status == "new" else str(read_spec(self.folder / "spec.json").get("unbraid"))

    @property
    def steps_done(self) -> int:
        """Returns how far the weights on disk have been trained: those of the newest checkpoint, while the run is
        unfinished, and the last good ones if it failed.
        """
        if self.status == "finished":
            return self.spec.num_steps
        if failure := self.failure:
            return failure.step - 1
        return max((step for step, path in self.checkpoints.items() if path.exists()), default=0)

    @property
    def checkpoints(self) -> dict[int, Path]:
        """Returns by its step where the JSON of each checkpoint is or should be, the oldest first."""
        return self._files.checkpoints

    @property
    def history(self) -> History:
        """Returns the loss and its parts over training, if they are as they were written."""
        return self._files.history

    @property
    def failure(self) -> Failure | None:
        """Returns why the run failed; None if it did not."""
        return self._files.failure

    @property
    def removed_files(self) -> tuple[str, ...]:
        """Returns the files of a finished run that a study removed, because it keeps scores alone."""
        return self._files.removed_files

    @property
    def has_model(self) -> bool:
        """Returns whether it is finished, and no study has let its weights go."""
        return self.status == "finished" and "weights.safetensors" not in self.removed_files

    @property
    def _files(self) -> RunFiles:
        return RunFiles(self.folder)

    @property
    def snapshots(self) -> tuple[int, ...]:
        """Returns the steps after which the weights were kept, as `train(snapshots=...)` asked."""
        return tuple(self._files.snapshots)

    @property
    def has_state(self) -> bool:
        """Returns whether the state of the last step was kept, as `TrainingOptions(keep_state=True)` asks."""
        return (self.folder / STATE).exists()

    def model(self, step: int | None = None) -> AutoencoderModule:
        """Returns the trained model, on the CPU; with a `step`, that of a snapshot. Of an unfinished run it is that of
        the newest checkpoint, which has taken `steps_done` steps.

        Its weights are constants: nothing that it returns has a gradient with respect to them, unless
        `requires_grad_()` asks for one.
        """
        return trained_model(self._files, self.spec, self.digest, self.seed, step)

    @property
    def pictures(self) -> Pictures:
        """Returns traversals, samples and reconstructions of the model, as a report shows them. They are those that
        were kept at the end of training where a class of the model or of the data set cannot be had.
        """
        codes = self.codes()
        if missing_classes((self.spec.model, self.spec.dataset)):
            return StoredPictures.open(self._files.checked(PICTURES), codes.mean.shape[1])
        return ModelPictures(self.model(), codes, self.spec.training_data.open())

    def extend(
        self,
        num_steps: int,
        *,
        device: torch.device | str = "auto",
        watch: Listener | None = None,
        progress: bool = True,
        options: TrainingOptions | None = None,
    ) -> "Run":
        """Trains on to `num_steps` steps in all, and returns the longer run, which lies beside this one. It needs the
        state of the last step (`TrainingOptions(keep_state=True)`) and a spec without schedules, as
        `unbraid.training.extend` explains, which takes several runs.
        """
        from unbraid.training.extension import extend  # the one way up, which the import contract names

        [longer] = extend([self], num_steps, device=device, watch=watch, progress=progress, options=options)
        return longer

    def export_onnx(self, folder: Path | str, *, force: bool = False) -> tuple[ExportedFile, ...]:
        """Writes `encoder.onnx` (images to mean and std) and `decoder.onnx` (a code to the image that it stands for),
        each compared with torch first, as `export_onnx` explains. The run keeps their checksums.
        """
        facts = {"digest": self.digest, "seed": str(self.seed)}
        return KeptExports(self.folder).add(export_onnx(self._finished_model(None), folder, force=force, facts=facts))

    def export_torch(self, folder: Path | str, *, force: bool = False) -> tuple[ExportedFile, ...]:
        """Writes both as `encoder.pt2` and `decoder.pt2` for `torch.export.load`, which unpickles: we read none."""
        return KeptExports(self.folder).add(export_torch(self._finished_model(None), folder, force=force))

    def push_to_hub(self, repo_id: str, **options: Unpack[PushOptions]) -> str:
        """Pushes the run to the Hugging Face Hub, with a model card, in one commit, and returns its address."""
        from unbraid.training.runs.hub_runs import push_run

        return push_run(self, repo_id, **options)

    @property
    def exports(self) -> dict[str, dict[str, Any]]:
        """Returns what was last exported of the run under each name of a file: its SHA-256, and what made it."""
        return KeptExports(self.folder).read()

    def codes(
        self, part: ScoredPart = "train", *, step: int | None = None, device: torch.device | str = "cpu"
    ) -> Codes:
        """Returns q(z | x) of every image that the run was trained on, as encoded at the end of training; or of the
        "test" part, which its subset held out; or of "all" images of the data set, in its order; or from the snapshot
        of a `step`. Those that training did not encode are encoded now, on the device.
        """
        scoring = settled(self.spec, Scoring(part=part, step=step))
        return Scorable(self.spec, scoring, self._kept_codes, self._finished_model).codes(resolve_device(device))

    def _kept_codes(self) -> Codes | None:
        # A run from the Hub may come without its codes: its model makes them again.
        without = self.has_model and "codes.safetensors" in self.removed_files
        return None if without else read_safetensors(self._files.checked("codes.safetensors"))

    def _finished_model(self, step: int | None) -> AutoencoderModule:
        if step is None:
            self._files.checked("weights.safetensors")
        return self.model(step)

    def encoder(self) -> Callable[[Any], Codes]:
        """Returns a function from new images to their codes.

        It takes what `FromArrays` takes: bytes, or floats from 0 to 1; image by height by width, with or without
        channels. Gray and color are converted, as `unbraid encode` does; images of another size are refused.
        """
        return encoder_of(self.model())

    def traverse(
        self,
        images: Any = None,
        *,
        latents: int | Iterable[int] | None = None,
        range: Range | Mapping[int, Range] = RANGE,
        num_frames: int = NUM_FRAMES,
        order_by: OrderBy | str | None = None,
        labels: Words | None = None,
        grid: tuple[int, int] | None = None,
    ) -> Traversal:
        """Returns what changes in the image as one latent at a time moves, as `unbraid.traverse` explains it.

        `images` are numbers of images that the run was trained on, or images of your own as `encoder` takes them;
        without them, it starts from the image whose code is nearest the mean of all. `order_by` may also be the name of
        a metric, such as "informativeness": its score is then computed and kept.
        """
        if isinstance(order_by, str):
            order_by = self.score(order_by).scores[0]
        are_own = images is not None and np.ndim(images) > 1
        return traverse(
            self.model(),
            self.encoder()(images) if are_own else self.codes(),
            latents=latents,
            range=range,
            num_frames=num_frames,
            images=builtins.range(len(images)) if are_own else images,
            order_by=order_by,
            labels=labels,
            grid=grid,
        )

    def score(
        self,
        metrics: Metrics = "all",
        scoring: Scoring | None = None,
        *,
        seed: int | None = None,
        device: torch.device | str = "auto",
        watch: Listener | None = None,
        progress: bool = True,
    ) -> Scorecard:
        """Scores the codes as `unbraid.evaluate` does, and keeps the scores in scores.json beside those of other
        metrics, settings and scorings. If the folder may not be written, a warning says that they could not be kept.

        `scoring` selects which codes are scored and how, such as `Scoring(part="test")`.
        """
        scoring = settled(self.spec, scoring or Scoring())
        self._files.check_finished("codes.safetensors")
        select(metrics, seed)  # refuses a misspelled name before the codes are read
        self.scores()  # nor are scores that cannot be read found out after the work
        place, scorable = resolve_device(device), Scorable(self.spec, scoring, self._kept_codes, self._finished_model)
        with progress_bar(watch, show=progress):
            return scorable.score(self._kept_scores, metrics, seed, place)

    def scores(self, scoring: Scoring | None = None) -> list[Score]:
        """Returns the scores that were kept: all, or those of one scoring. A run that is not finished has none."""
        return [score for _, score in self._kept(scoring)]

    def named_scores(self, scoring: Scoring | None = None) -> dict[str, Score]:
        """Returns the kept scores of one scoring (by default, as `score` scores) by the names of their metrics."""
        return dict(self._kept(scoring or Scoring()))

    def _kept(self, scoring: Scoring | None) -> list[tuple[str, Score]]:
        changes = None if scoring is None else settled(self.spec, scoring).changes()
        return self._kept_scores.read(changes) if self.status == "finished" else []

    @property
    def _kept_scores(self) -> KeptScores:
        return KeptScores(self.folder, self._files.checksums.get("codes.safetensors"))
