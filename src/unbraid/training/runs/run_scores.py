"""Scores of a run: selection of images and codes, scoring, and storage in scores.json."""

import errno
import json
import logging
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import torch

from unbraid._internal import files
from unbraid.codes import Codes
from unbraid.codes.codes_file import read_safetensors
from unbraid.datasets.subsets import Subset
from unbraid.datasets.training_data import TrainingData
from unbraid.errors import CodesError, RunError
from unbraid.metrics.evaluate import evaluate_as
from unbraid.metrics.metric import Score
from unbraid.metrics.model import Trained
from unbraid.metrics.score_json import score_from_json, score_key, score_to_json
from unbraid.metrics.scorecard import Scorecard
from unbraid.metrics.scoring import Sampling, ScoredPart, Scoring
from unbraid.metrics.selection import LEFT_OUT, Metrics, select
from unbraid.models.autoencoder import AutoencoderModule
from unbraid.models.trained.encode import encode
from unbraid.training.runs.run_folder import FORMAT, RunFolder
from unbraid.training.runs.spec import RunSpec

if TYPE_CHECKING:
    from unbraid.training.runs.run import Run

log = logging.getLogger(__name__)

_READ_ONLY = (errno.EACCES, errno.EPERM, errno.EROFS)


def read_scores(run: RunFolder, changes: Mapping[str, Any] | None = None) -> list[tuple[str, Score]]:
    """Reads the stored scores of a finished run, oldest first, as pairs of the given metric name and the score.

    `changes` selects the scores of one scoring, by its fields without default values.
    """
    try:
        kept = [(str(content["name"]), score_from_json(content)) for content in _record(run)["scores"]]
    except (KeyError, TypeError, ValueError, AttributeError, IndexError):
        raise _unreadable(run) from None
    return [(name, score) for name, score in kept if changes is None or score.scoring == changes]


def num_used(run: RunFolder) -> int | None:
    """Returns the number of latents with information about the image, or None if it is not stored."""
    used = _record(run).get("num_used") if run.status == "finished" else None
    return used if isinstance(used, int) else None


def question_key(name: str, changes: Mapping[str, Any]) -> str:
    """Returns a key for a metric name and the fields of a scoring that differ from their defaults."""
    return f"{name} {json.dumps(dict(changes), sort_keys=True)}" if changes else name


def normalized(spec: RunSpec, scoring: Scoring) -> Scoring:
    """Returns the canonical form of a scoring, which selects the stored scores of a run of this spec.

    The part "all" becomes "train" without a subset. A sampling or step equal to the default of the run becomes None.
    """
    latents, names = spec.model.latents, []
    if scoring.factors or scoring.one_vs_rest:  # otherwise the dataset is not read
        names = [factor.name for factor in spec.dataset.factors]
    scoring = scoring.normalized(names, has_discrete=latents.num_discrete > 0, has_groups=len(latents.groups) > 1)
    is_as_trained = scoring.sampling == ("data" if spec.sampling is None else spec.sampling)
    is_whole = spec.subset is None and scoring.subset is None
    return replace(
        scoring,
        part="train" if is_whole and scoring.part == "all" else scoring.part,
        sampling=None if is_as_trained else scoring.sampling,
        step=None if scoring.step == spec.num_steps else scoring.step,
    )


def scored_images(
    spec: RunSpec, part: ScoredPart, sampling: Sampling = None, subset: Subset | None = None
) -> TrainingData:
    """Returns the config of the images of a part of a run, weighted by `sampling` as in `Scoring`.

    `subset` selects images of the part "all".
    """
    joint = spec.sampling if sampling is None else None if sampling == "data" else sampling
    if part == "train":
        return TrainingData(spec.dataset, joint, spec.subset)
    if part == "all":
        return TrainingData(spec.dataset, joint, subset)
    if spec.subset is None:
        raise RunError(
            "part is 'test', but this run was trained on all images of its dataset. Train with a subset, such as "
            "--subset random-split, or score part 'all'."
        )
    return TrainingData(spec.dataset, joint, spec.subset.complement())


def scored_codes(run: "Run", scoring: Scoring, device: torch.device) -> Codes:
    """Returns the codes of the scored part, with the sampling weights.

    Codes that are not stored with the run, such as codes of other images or steps, are computed on the device.
    """
    # A run from the Hub may have no stored codes.
    was_removed = run.has_model and "codes.safetensors" in run.removed_files
    if scoring.part == "train" and scoring.step is None and not was_removed:
        codes = read_safetensors(run.checked("codes.safetensors"))
        if scoring.sampling is not None:
            weights = _images(run, scoring).open().weights
            codes = replace(codes, weights=None if weights is None else weights.to(codes.mean))
        return codes.to(device)
    model = _model(run, scoring, device)
    return encode(model, _images(run, scoring).open().streamed_to(device), precision=run.spec.precision)


def score_run(run: "Run", scoring: Scoring, metrics: Metrics, seed: int | None, device: torch.device) -> Scorecard:
    """Computes the scores of a run on a device, stores the scores in scores.json, and returns a scorecard.

    Reasons for undefined metrics are stored too, even if no metric is defined.
    """
    fitted_on = None
    codes = scored_codes(run, scoring, device)
    if scoring.fit == "train":
        fitted_on = scored_codes(run, replace(scoring, part="train", fit="part"), device)

    def trained() -> Trained:
        images = _images(run, scoring).open()
        rows = scoring.rows(len(images))
        images = images if rows is None else images.select(rows)
        return Trained(_model(run, scoring, device), images.streamed_to(device), run.spec.precision)

    try:
        card = evaluate_as(scoring, codes, metrics, seed, trained, fitted_on)
    except CodesError as error:  # none of the metrics is defined
        selection = select(metrics, seed)
        _keep(run, {}, dict.fromkeys((*selection.metrics, *selection.model_scores), str(error)), scoring)
        raise
    left_out = {name: reason for name, reason in card.left_out.items() if name not in LEFT_OUT}
    scores = dict(zip(card.names, card.scores, strict=True))
    _keep(run, scores, {**card.refused, **left_out}, card.scoring, card.num_used)
    return card


def _images(run: "Run", scoring: Scoring) -> TrainingData:
    return scored_images(run.spec, scoring.part, scoring.sampling, scoring.subset)


def _model(run: "Run", scoring: Scoring, device: torch.device) -> AutoencoderModule:
    """Returns the scored model: the model of a snapshot, or the final model."""
    if scoring.step is None:
        run.check_finished("weights.safetensors")
    return run.model(scoring.step).to(device)


def _keep(
    run: RunFolder,
    scores: Mapping[str, Score],
    refused: Mapping[str, str],
    scoring: Scoring,
    num_used: int | None = None,
) -> None:
    """Stores scores, reasons for undefined metrics and, if known, the number of used latents in scores.json.

    A score replaces an earlier score of the same metric, settings and scoring. If the folder is read-only, a warning is
    logged.
    """
    new = [{"name": name, **score_to_json(score)} for name, score in scores.items()]
    reasons = {question_key(name, scoring.changes()): reason for name, reason in refused.items()}
    try:
        # Locked, because another process may score the same run at the same time.
        with files.locked(run.folder / ".scores.lock", wait=True, purpose=f"storing scores of {run.name}"):
            old = _record(run)
            contents = {score_key(content): content for content in [*old["scores"], *new]}
            record = {
                "format": FORMAT,
                "codes": run.checksums.get("codes.safetensors"),
                "num_used": old.get("num_used") if num_used is None else num_used,
                "refused": {**old.get("refused", {}), **reasons},
                "scores": list(contents.values()),
            }
            files.write_sealed(run.folder / "scores.json", record)
    except OSError as error:
        if error.errno not in _READ_ONLY:
            raise
        log.warning(
            "The scores of %s cannot be stored (%s: %s). To store scores, copy the run to a writable folder.",
            run.name,
            error.filename,
            error.strerror,
        )


def _record(run: RunFolder) -> dict[str, Any]:
    """Reads scores.json. Returns a record with an empty list of scores if the file does not exist."""
    path = run.folder / "scores.json"
    if not path.exists():
        return {"scores": []}
    try:
        record = files.read_sealed(path)
        scores, codes_checksum = record["scores"], record["codes"]
    except (OSError, ValueError, KeyError):
        raise _unreadable(run) from None
    if not isinstance(scores, list):
        raise _unreadable(run)
    if codes_checksum != run.checksums.get("codes.safetensors"):
        raise RunError(
            f"{path} has scores of other codes; expected scores of this run. Remove the file and score the run again."
        )
    return record


def _unreadable(run: RunFolder) -> RunError:
    return RunError(
        f"{run.folder / 'scores.json'} is not a valid file of scores. Remove the file and score the run again."
    )
