"""Run: one trained model, as a folder on disk."""

import datetime
import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, final

import torch
from safetensors.torch import load_file, save

from unbraid import files
from unbraid.codes import Codes
from unbraid.data.arrays import unlabelled
from unbraid.errors import RunError
from unbraid.metrics.evaluate import evaluate
from unbraid.metrics.metric import Score
from unbraid.metrics.score_json import score_from_json, score_key, score_to_json
from unbraid.metrics.scorecard import Scorecard
from unbraid.metrics.selection import Metrics, select
from unbraid.metrics.statistics import Tell
from unbraid.models.autoencoder import AutoencoderModule
from unbraid.models.encode import encode
from unbraid.names import kebab_case
from unbraid.runs.codes_file import read_codes, write_codes
from unbraid.runs.history import History
from unbraid.runs.recipes import check_value, from_json
from unbraid.runs.spec import RunSpec
from unbraid.version import __version__

_FORMAT = 1

Status = Literal["new", "unfinished", "finished", "failed"]


@final
@dataclass(frozen=True)
class Run:
    """A folder that holds a spec and a seed, and what came of them.

    ==================== ================================================================================================
    spec.json            the spec, the seed, and the versions that made it
    history.csv          the loss and its parts over training
    checkpoints/         the last two states of an unfinished run
    weights.safetensors  the trained weights, those of a learned prior or likelihood and BatchNorm's statistics among them
    codes.safetensors    q(z | x) of every image, and its factors
    finished.json        written last: the checksums of weights and codes, and how long it took
    failed.json          in place of finished.json: at which step the loss stopped being finite
    scores.json          the scores so far, with the tables behind them
    log.txt              what happened, line by line
    ==================== ================================================================================================
    """

    folder: Path
    spec: RunSpec
    seed: int

    @classmethod
    def place(cls, parent: Path, spec: RunSpec, seed: int) -> "Run":
        """The run of this spec and seed under `parent`, made or not: its folder is named by what it is."""
        return cls(parent / f"{kebab_case(type(spec.objective))}-{spec.digest}-seed{seed}", spec, seed)

    @classmethod
    def open(cls, folder: Path, *, packages: Sequence[str] = ("unbraid",)) -> "Run":
        """Read a run back. `packages` are those whose classes its spec may name."""
        path = Path(folder) / "spec.json"
        if not path.exists():
            raise RunError(f"{folder} is not a run: it has no spec.json. `unbraid runs` lists the runs of a folder.")
        content = read_json(path)
        if content.get("format") != _FORMAT:
            raise RunError(
                f"{path} has format {content.get('format')!r}, written by unbraid {content.get('unbraid')!r}; this version reads {_FORMAT}."
            )
        if content.get("sha256") != seal(content):
            raise RunError(
                f"{path} was changed since it was written (its SHA-256 does not match). Restore it, or train this run again with --force."
            )
        seed = check_value(content.get("seed"), int, f"{path}: seed")
        return cls(Path(folder), from_json(content.get("spec"), RunSpec, packages=packages, where=f"{path}: spec"), seed)

    @property
    def name(self) -> str:
        return self.folder.name

    @property
    def status(self) -> Status:
        if (self.folder / "finished.json").exists():
            return "finished"
        if (self.folder / "failed.json").exists():
            return "failed"
        return "unfinished" if (self.folder / "spec.json").exists() else "new"

    @property
    def steps_done(self) -> int:
        """How far the weights on disk have been trained: those of the newest checkpoint, while the run is unfinished."""
        if self.status == "finished":
            return self.spec.num_steps
        return max((int(path.stem.removeprefix("step-")) for path in self.folder.glob("checkpoints/step-*.json")), default=0)

    def create(self) -> None:
        """Make the folder and write the spec, unless it is there."""
        if self.status == "new":
            versions = {"unbraid": __version__, "torch": torch.__version__}
            content = {"format": _FORMAT, **versions, "seed": self.seed, "spec": self.spec.to_json()}
            files.write_json(self.folder / "spec.json", content | {"sha256": seal(content)})

    def sweep(self) -> None:
        """Remove what writes that never ended have left behind. For whoever holds the lock: no other write is under way."""
        for path in self.folder.rglob(".*.part"):
            path.unlink()

    def log(self, message: str) -> None:
        """Add a line to log.txt."""
        path = self.folder / "log.txt"
        now = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
        files.write_bytes(path, (path.read_bytes() if path.exists() else b"") + f"{now} {message}\n".encode())

    @property
    def history(self) -> History:
        return History.read(self.folder / "history.csv")

    def finish(self, model: AutoencoderModule, codes: Codes, seconds: float) -> None:
        """Keep the trained model and its codes, then say that the run is finished."""
        # Cloned: safetensors refuses tensors that share memory, as tied weights do.
        weights = {name: tensor.cpu().contiguous().clone() for name, tensor in model.state_dict().items()}
        files.write_bytes(self.folder / "weights.safetensors", save(weights))
        write_codes(self.folder / "codes.safetensors", codes)
        sums = {name: files.sha256(self.folder / name) for name in ("weights.safetensors", "codes.safetensors")}
        files.write_json(self.folder / "finished.json", {"sha256": sums, "seconds": round(seconds, 3)})

    def fail(self, step: int) -> None:
        """Say that the loss stopped being finite at this step."""
        files.write_json(self.folder / "failed.json", {"step": step})

    def model(self) -> AutoencoderModule:
        """The trained model, on the CPU."""
        model = self.spec.model.build(self.spec.dataset.image_shape, self.seed).to(self.spec.dtype)
        model.load_state_dict(load_file(self._checked("weights.safetensors")))
        return model.eval()

    def codes(self) -> Codes:
        """q(z | x) of every image that it was trained on, as encoded at the end of training."""
        return read_codes(self._checked("codes.safetensors"))

    def encoder(self) -> Callable[[Any], Codes]:
        """A function from new images to their codes.

        It takes what `FromArrays.of` takes: bytes, or floats from 0 to 1; image by height by width, with or without channels.
        """
        model = self.model()
        return lambda images: encode(model, unlabelled(images))

    def score(
        self, metrics: Metrics = "all", *, tell: Tell | None = None, seed: int | None = None, device: torch.device | str = "cpu"
    ) -> Scorecard:
        """Score the codes as `unbraid.evaluate` does, and keep the scores in scores.json beside those of other metrics and settings."""
        select(metrics, seed)  # a misspelt name is told before the codes are read
        self.scores()  # nor are scores that cannot be read found out after the work
        card = evaluate(self.codes().to(device), metrics, tell=tell, seed=seed)
        # Whoever scores the same run meanwhile has scores of its own to add.
        with files.locked(self.folder / ".scores.lock", wait=True, purpose=f"keeping scores of {self.name}"):
            kept = self.scores()
            contents = {score_key(content): content for content in map(score_to_json, [*kept, *card.scores])}
            files.write_json(self.folder / "scores.json", {"format": _FORMAT, "scores": list(contents.values())})
        return card

    def scores(self) -> list[Score]:
        """The scores that were kept."""
        path = self.folder / "scores.json"
        if not path.exists():
            return []
        try:
            return [score_from_json(content) for content in read_json(path)["scores"]]
        except (RunError, KeyError, TypeError, ValueError, AttributeError, IndexError):
            raise RunError(f"{path} does not hold scores as unbraid writes them. Remove it: they can be computed again.") from None

    def _checked(self, name: str) -> Path:
        """The path of a file, if it is what finished.json says it is."""
        if self.status == "failed":
            raise RunError(f"{self.folder} failed, so it has no {name}. Train with a smaller learning_rate, or with max_gradient_norm.")
        if self.status != "finished":
            raise RunError(
                f"{self.folder} is {self.status}, so it has no {name}. Finish it with `unbraid train --resume --out {self.folder.parent}`."
            )
        path = self.folder / name
        sums = read_json(self.folder / "finished.json").get("sha256")
        expected = sums.get(name) if isinstance(sums, dict) else None
        if not path.exists() or files.sha256(path) != expected:
            raise RunError(
                f"{path} is missing or was changed since training (its SHA-256 is not {expected}). Train this run again with --force."
            )
        return path


def seal(record: dict[str, Any], content: bytes = b"") -> str:
    """The SHA-256 that vouches for a record, all of it but its own "sha256", and for the content that it tells of."""
    checksum = hashlib.sha256(content)
    checksum.update(json.dumps({name: value for name, value in record.items() if name != "sha256"}, sort_keys=True).encode())
    return checksum.hexdigest()


def read_json(path: Path) -> dict[str, Any]:
    """The content of a JSON file of a run, or an error that names it."""
    try:
        content = json.loads(path.read_text())
    except (OSError, ValueError, RecursionError) as error:
        raise RunError(f"{path} cannot be read ({error}). Restore it, or train this run again with --force.") from None
    if not isinstance(content, dict):
        raise RunError(f"{path} holds a {type(content).__name__}; expected an object. Restore it, or train this run again with --force.")
    return content
