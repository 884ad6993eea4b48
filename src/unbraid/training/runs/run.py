"""Run: one trained model, read from its folder on disk."""

import logging
import os
from collections.abc import Callable, Collection
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
from unbraid.config.annotations import check_value, in_short
from unbraid.config.digest import missing_classes
from unbraid.errors import RunError, SpecError, shortened
from unbraid.figures.traversal import Traversal
from unbraid.integrations.export import ExportedFile, export_onnx, export_torch
from unbraid.integrations.hub import PushOptions
from unbraid.metrics.metric import Score
from unbraid.metrics.scorecard import Scorecard
from unbraid.metrics.scoring import ScoredPart, Scoring
from unbraid.metrics.selection import Metrics, select
from unbraid.models.autoencoder import AutoencoderModule
from unbraid.models.trained.encode import encoder_of
from unbraid.models.trained.traverse import OrderBy, traverse
from unbraid.training.options import TrainingOptions
from unbraid.training.runs.pictures import PICTURES, ModelPictures, Pictures, StoredPictures
from unbraid.training.runs.run_folder import RunFolder, read_spec
from unbraid.training.runs.run_scores import read_scores, score_run, scored_codes, settled
from unbraid.training.runs.run_source import read_spec_of, source_changes, source_warning
from unbraid.training.runs.spec import RunSpec, whole_seed
from unbraid.training.runs.trained_model import trained_model

log = logging.getLogger(__name__)


@final
@dataclass(frozen=True)
class Run(RunFolder):
    """A folder with a spec, a seed and the results of training. `train` makes it, and a run reads it."""

    spec: RunSpec
    seed: int

    @classmethod
    def place(cls, parent: Path | str, spec: RunSpec, seed: Any) -> "Run":
        """Returns the run of this spec and seed under `parent`, whether its folder exists or not.

        The folder is named by the objective, the digest of the spec and the seed.
        """
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
        """Reads a run back. No code of the folder is executed, no data set is read and no net is built.

        Classes of your own are imported from the `packages` that you name, or were imported or defined before, as in a
        notebook. If one is missing, codes, scores, history and report of the run can be read, and its model cannot be
        built. `warn` is called with a text about classes that are missing or were changed since the run began, with
        the path of their source that the run keeps.
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
            run.check(path)
        changes = [] if missing else source_changes(content, run.spec, path)
        if missing or changes:
            warn(shortened(source_warning(run.folder, changes, missing)))
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
        """Fetches a run from the Hugging Face Hub, or reads it from its cache, and opens it.

        Args:
            repo_id: The repository, such as "user/name".
            revision: A branch, a tag or a commit.
            name: One of the runs of a zoo.
            folder: Where the folder of the run is put, by default in unbraid's cache.
            packages: As in `open`.
        """
        from unbraid.training.runs.hub_runs import fetch_run  # which opens runs

        return cls.open(fetch_run(repo_id, revision, name, folder), packages=packages)

    @property
    def digest(self) -> str:
        """Returns the digest of the spec when the run began. Classes of your own may have changed since."""
        return self.spec.digest if self.status == "new" else self._recorded("digest")

    @property
    def source_changes(self) -> list[str]:
        """Returns the user's modules that have changed since the run began."""
        path = self.folder / "spec.json"
        return [] if self.status == "new" else source_changes(read_spec(path), self.spec, path)

    @property
    def version(self) -> str | None:
        """Returns the version of unbraid that made the run; None before it is made."""
        return None if self.status == "new" else self._recorded("unbraid")

    def _recorded(self, name: str) -> str:
        path = self.folder / "spec.json"
        if not isinstance(text := read_spec(path).get(name), str):
            raise RunError(f"{path}: {name} is {text!r}; expected a text. Restore the file.")
        return text

    @property
    def steps_done(self) -> int:
        """Returns the step of the weights on disk: of the newest checkpoint, or the last good ones of a failed run."""
        if self.status == "finished":
            return self.spec.num_steps
        if failure := self.failure:
            return failure.step - 1
        return max((step for step, path in self.checkpoints.items() if path.exists()), default=0)

    def model(self, step: int | None = None) -> AutoencoderModule:
        """Returns the trained model on the CPU, or that of the snapshot of a `step`, with constant weights.

        The model of an unfinished run has the weights of its newest checkpoint, which has taken `steps_done` steps.
        """
        return trained_model(self, step)

    @property
    def pictures(self) -> Pictures:
        """Returns traversals, samples and reconstructions: the stored ones if a class of the run is missing."""
        codes = self.codes()
        if missing_classes((self.spec.model, self.spec.dataset)):
            return StoredPictures.open(self.checked(PICTURES), codes.mean.shape[1])
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
        """Trains a longer run, of `num_steps` steps in all, from the last step of this one, and returns it.

        See `unbraid.training.extend`, which takes several runs.
        """
        from unbraid.training.extension import extend  # which opens runs

        [longer] = extend(self, num_steps, device=device, watch=watch, progress=progress, options=options)
        return longer

    def export_onnx(self, folder: Path | str, *, force: bool = False) -> tuple[ExportedFile, ...]:
        """Writes `encoder.onnx` (images to mean and std) and `decoder.onnx` (a code to its image).

        Each is compared with torch first, as in `unbraid.integrations.export.export_onnx`.
        """
        self.check_finished("weights.safetensors")
        facts = {"digest": self.digest, "seed": str(self.seed)}
        return export_onnx(self.model(), folder, force=force, facts=facts)

    def export_torch(self, folder: Path | str, *, force: bool = False) -> tuple[ExportedFile, ...]:
        """Writes `encoder.pt2` and `decoder.pt2` for `torch.export.load`, which unpickles: unbraid reads none."""
        self.check_finished("weights.safetensors")
        return export_torch(self.model(), folder, force=force)

    def push_to_hub(self, repo_id: str, **options: Unpack[PushOptions]) -> str:
        """Pushes the run to the Hugging Face Hub, with a model card, in one commit, and returns its address."""
        from unbraid.training.runs.hub_runs import push_run  # which opens runs

        return push_run(self, repo_id, options)

    def codes(
        self, part: ScoredPart = "train", *, step: int | None = None, device: torch.device | str = "cpu"
    ) -> Codes:
        """Returns q(z | x) of every training image, or of another part or of the snapshot of a step.

        The part "test" consists of the images that the subset held out, "all" of the whole data set in its order. Codes
        that the run did not keep are computed on the device.
        """
        return scored_codes(self, settled(self.spec, Scoring(part=part, step=step)), resolve_device(device))

    def encoder(self) -> Callable[[Any], Codes]:
        """Returns a function from new images to their codes.

        It takes images as `FromArrays` does: bytes, or floats from 0 to 1; image by height by width, with or without
        channels. Gray and color are converted, as in `unbraid encode`; images of another size are refused.
        """
        return encoder_of(self.model())

    def traverse(self, images: Any = None, *, order_by: OrderBy | str | None = None, **options: Any) -> Traversal:
        """Returns images that change as one latent at a time moves.

        Args:
            images: Numbers of images of training, or new images as for `encoder`. By default the traversal starts from
                the image whose code is nearest to the mean of all codes.
            order_by: As in `unbraid.traverse`, or the name of a metric, such as "informativeness", which is then scored
                and kept.
            **options: Other options of `unbraid.traverse`: latents, range, num_frames, labels, grid.
        """
        if isinstance(order_by, str):
            order_by = self.score(order_by).scores[0]
        if images is None or np.ndim(images) <= 1:
            return traverse(self.model(), self.codes(), images=images, order_by=order_by, **options)
        codes, rows = self.encoder()(images), range(len(images))
        return traverse(self.model(), codes, images=rows, order_by=order_by, **options)

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
        """Scores the codes as `unbraid.evaluate` does, and adds the scores to scores.json.

        `scoring` selects which codes are scored and how, such as `Scoring(part="test")`. If the folder may not be
        written, a warning is logged.
        """
        scoring = settled(self.spec, scoring or Scoring())
        self.check_finished("codes.safetensors")
        select(metrics, seed)  # refuses a misspelled name before the codes are read
        self.scores()  # refuses a damaged file before the work
        with progress_bar(watch, show=progress):
            return score_run(self, scoring, metrics, seed, resolve_device(device))

    def scores(self, scoring: Scoring | None = None) -> list[Score]:
        """Returns the kept scores: all, or those of one scoring. A run that is not finished has none."""
        return [score for _, score in self._read_scores(scoring)]

    def named_scores(self, scoring: Scoring | None = None) -> dict[str, Score]:
        """Returns the kept scores of one scoring, by default that of `score`, by the names of their metrics."""
        return dict(self._read_scores(scoring or Scoring()))

    def _read_scores(self, scoring: Scoring | None) -> list[tuple[str, Score]]:
        changes = None if scoring is None else settled(self.spec, scoring).changes()
        return read_scores(self, changes) if self.status == "finished" else []
