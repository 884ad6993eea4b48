"""Run: one trained model in a folder on disk."""

import logging
import os
from collections.abc import Callable, Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Unpack, final

import numpy as np
import torch

from unbraid._internal import files
from unbraid._internal.device import resolve_device, wide_device
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
from unbraid.metrics.unused_latents import badge
from unbraid.models.autoencoder import AutoencoderModule
from unbraid.models.trained.encode import encoder_of
from unbraid.models.trained.traverse import OrderBy, traverse
from unbraid.training.options import TrainingOptions
from unbraid.training.runs.pictures import PICTURES, ModelPictures, Pictures, StoredPictures
from unbraid.training.runs.run_folder import RunFolder, read_spec
from unbraid.training.runs.run_scores import normalized, num_used, read_scores, score_run, scored_codes
from unbraid.training.runs.run_source import read_spec_of, source_changes, source_warning
from unbraid.training.runs.spec import RunSpec, whole_seed
from unbraid.training.runs.trained_model import trained_model

log = logging.getLogger(__name__)


@final
@dataclass(frozen=True)
class Run(RunFolder):
    """Spec, seed and training results of one model. `train` writes the folder of a run, and `Run` reads the folder."""

    spec: RunSpec
    seed: int

    @classmethod
    def place(cls, parent: Path | str, spec: RunSpec, seed: Any) -> "Run":
        """Returns the run of this spec and seed in a subfolder of `parent`, which need not exist.

        The name of the subfolder contains the objective, the digest of the spec and the seed.
        """
        number = whole_seed(seed)
        if not isinstance(spec, RunSpec):
            raise SpecError(f"A spec is {in_short(spec)}. Pass a RunSpec, such as RunSpec(DSprites()).")
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
        """Opens the run in a folder. Executes no code from the folder, reads no dataset and builds no net.

        User classes must be imported or defined already, or are imported from `packages`. If a class is missing, the
        model cannot be built, but codes, scores, history and report can be read. If a class is missing or has changed
        since training, `warn` is called with a message that contains the path of the stored source.
        """
        path = files.folder_path(folder) / "spec.json"
        if not os.path.lexists(path):
            what = f"{folder} is not a run: it has no spec.json." if Path(folder).is_dir() else files.no_folder(folder)
            raise RunError(f"{what} List the runs of a folder with `unbraid runs`.")
        missing: dict[str, str] = {}
        try:
            content = read_spec(path)
            seed = check_value(content.get("seed"), int, f"{path}: seed")
            run = cls(Path(folder), read_spec_of(content, path, packages, missing), seed)
        except RecursionError:
            raise RunError(f"{path} is nested too deeply; expected a spec. Restore the file.") from None
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
        """Fetches a run from the Hugging Face Hub or its cache, and opens the run.

        Args:
            repo_id: The repository, such as "user/name".
            revision: A branch, a tag or a commit.
            name: The name of the run, if the repository is a zoo of several runs.
            folder: The parent folder of the folder of the run. By default, a folder in the cache of unbraid.
            packages: Packages of user classes to import, as in `open`.
        """
        from unbraid.training.runs.hub_runs import fetch_run  # late, because hub_runs imports this module

        return cls.open(fetch_run(repo_id, revision, name, folder), packages=packages)

    @property
    def digest(self) -> str:
        """Digest of the spec at the start of training. User classes may have changed later."""
        return self.spec.digest if self.status == "new" else self._recorded("digest")

    @property
    def source_changes(self) -> list[str]:
        """User modules and packages that have changed since the start of training."""
        path = self.folder / "spec.json"
        return [] if self.status == "new" else source_changes(read_spec(path), self.spec, path)

    @property
    def version(self) -> str | None:
        """Version of unbraid that created the run, or None for a new run."""
        return None if self.status == "new" else self._recorded("unbraid")

    def _recorded(self, name: str) -> str:
        path = self.folder / "spec.json"
        if not isinstance(text := read_spec(path).get(name), str):
            raise RunError(f"{path}: {name} is {text!r}; expected a string. Restore the file.")
        return text

    @property
    def steps_done(self) -> int:
        """Step of the weights on disk: final weights, newest checkpoint, or last finite weights of a failed run."""
        if self.status == "finished":
            return self.spec.num_steps
        if failure := self.failure:
            return failure.step - 1
        return max((step for step, path in self.checkpoints.items() if path.exists()), default=0)

    def model(self, step: int | None = None) -> AutoencoderModule:
        """Returns the trained model, or the snapshot of a `step`, on the CPU without gradients of weights.

        The model of an unfinished run has the weights of the newest checkpoint, after `steps_done` steps.
        """
        return trained_model(self, step)

    @property
    def pictures(self) -> Pictures:
        """Traversals, samples and reconstructions, read from a file if a user class of the run is missing."""
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
        """Continues this run up to a total of `num_steps` steps, and returns the longer run.

        See `unbraid.training.extend`, which accepts several runs.
        """
        from unbraid.training.extension import extend  # late, because extension imports this module

        [longer] = extend(self, num_steps, device=device, watch=watch, progress=progress, options=options)
        return longer

    def export_onnx(self, folder: Path | str, *, force: bool = False) -> tuple[ExportedFile, ...]:
        """Writes `encoder.onnx` (images to mean and std) and `decoder.onnx` (codes to images).

        The outputs of both files are first compared with torch, as in `unbraid.integrations.export.export_onnx`.
        """
        self.check_finished("weights.safetensors")
        facts = {"digest": self.digest, "seed": str(self.seed)}
        return export_onnx(self.model(), folder, force=force, facts=facts)

    def export_torch(self, folder: Path | str, *, force: bool = False) -> tuple[ExportedFile, ...]:
        """Writes `encoder.pt2` and `decoder.pt2` for `torch.export.load`. unbraid never reads these pickled files."""
        self.check_finished("weights.safetensors")
        return export_torch(self.model(), folder, force=force)

    def push_to_hub(self, repo_id: str, **options: Unpack[PushOptions]) -> str:
        """Pushes the run and a model card to the Hugging Face Hub in one commit. Returns the URL of the commit."""
        from unbraid.training.runs.hub_runs import push_run  # late, because hub_runs imports this module

        return push_run(self, repo_id, options)

    def codes(
        self, part: ScoredPart = "train", *, step: int | None = None, device: torch.device | str = "cpu"
    ) -> Codes:
        """Returns the codes q(z | x) of the images in a part of the dataset, for the final model or a snapshot.

        The part "train" has the training images, "test" the held-out images of the subset, and "all" the whole dataset.
        Codes that are not stored with the run are computed on `device`.
        """
        place = wide_device(resolve_device(device))
        return scored_codes(self, normalized(self.spec, Scoring(part=part, step=step)), place)

    def encoder(self) -> Callable[[Any], Codes]:
        """Returns a function that encodes new images.

        Images are bytes, or floats from 0 to 1, of shape (image, height, width) with or without channels, as in
        `FromArrays`. Images are converted to gray or color if needed. Another height or width raises an error.
        """
        return encoder_of(self.model())

    def traverse(self, images: Any = None, *, order_by: OrderBy | str | None = None, **options: Any) -> Traversal:
        """Returns a traversal: decoded images in which one latent changes at a time.

        Args:
            images: Indices of training images, or new images as for `encoder`. By default, the training image whose
                code is nearest to the mean of all codes.
            order_by: As in `unbraid.traverse`, or the name of a metric, such as "informativeness", which is then
                computed and stored.
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
        """Scores the codes like `unbraid.evaluate`, and stores the scores in scores.json.

        `scoring` selects the codes and the options of scoring, such as `Scoring(part="test")`. If the folder is
        read-only, the scores are not stored and a warning is logged.
        """
        scoring = normalized(self.spec, scoring or Scoring())
        self.check_finished("codes.safetensors")
        select(metrics, seed)  # raises errors for misspelled names before the codes are read
        self.scores()  # raises errors for a damaged file before the computation
        with progress_bar(watch, show=progress):
            return score_run(self, scoring, metrics, seed, wide_device(resolve_device(device)))

    def scores(self, scoring: Scoring | None = None) -> list[Score]:
        """Returns all stored scores, or the scores of one scoring. An unfinished run has none."""
        return [score for _, score in self._read_scores(scoring)]

    def named_scores(self, scoring: Scoring | None = None) -> dict[str, Score]:
        """Returns the stored scores of one scoring by metric name. The default is the default scoring of `score`."""
        return dict(self._read_scores(scoring or Scoring()))

    @property
    def badge(self) -> str:
        """Warning that a scored run uses fewer than two latents, or an empty string."""
        used, num_latents = num_used(self), self.spec.model.latents.num_latents
        return "" if used is None else badge(num_latents - used, num_latents)

    def _read_scores(self, scoring: Scoring | None) -> list[tuple[str, Score]]:
        changes = None if scoring is None else normalized(self.spec, scoring).changes()
        return read_scores(self, changes) if self.status == "finished" else []
