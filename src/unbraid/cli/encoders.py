"""Encoders of other programs, and the images that they are given to be scored."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import final

from unbraid.cli.build import build_kind
from unbraid.cli.console import stage
from unbraid.cli.flags import Given, known_flags
from unbraid.codes import Codes
from unbraid.datasets.dataset import FactorDataset
from unbraid.errors import SpecError
from unbraid.integrations.onnx_encoder import OnnxEncoder
from unbraid.metrics.scoring import Scoring


@final
@dataclass(frozen=True)
class EncodersAsked:
    """Holds the files that were named, what their outputs are said to be, and the flags of their images."""

    paths: tuple[Path, ...]
    outputs: Mapping[str, str] | None
    images: Given

    @classmethod
    def of(cls, paths: Sequence[Path] | None, outputs: str | None, given: Given) -> "EncodersAsked":
        images = {path: texts for path, texts in given.items() if path.partition(".")[0] == "dataset"}
        return cls(tuple(dict.fromkeys(paths or ())), None if outputs is None else _parsed(outputs), images)

    def check(self, others: Sequence[Path]) -> None:
        """Refuses what does not go together, before anything is read."""
        if not self.paths and not others:
            raise SpecError(
                "There is nothing to score. Name runs, files of codes, or an encoder: --encoder encoder.onnx --dataset "
                "dsprites."
            )
        if not self.paths and (self.images or self.outputs):
            raise SpecError("--dataset and --outputs are for --encoder. Name an .onnx file with it, or leave them out.")
        if self.paths and "dataset" not in self.images:
            raise SpecError("--encoder needs images: name the data set with --dataset, such as --dataset dsprites.")

    def codes(self, scoring: Scoring) -> dict[Path, Codes]:
        """Returns the codes of the images by each encoder; of the fraction that is scored alone."""
        if not self.paths:
            return {}
        encoders = [OnnxEncoder.open(path, self.outputs) for path in self.paths]
        datasets: list[FactorDataset] = build_kind(FactorDataset, "dataset", self.images, known_flags("train"), None)
        if len(datasets) > 1:
            raise SpecError(f"The flags describe {len(datasets)} data sets, and an encoder is given one. Name one.")
        images = datasets[0].open()
        rows = scoring.rows(len(images))
        images = images if rows is None else images.select(rows)
        found = {}
        for encoder in encoders:
            with stage(f"Encoding {len(images):,} images by {encoder.path}"):
                found[encoder.path] = encoder.encode(images)
        return found


def _parsed(text: str) -> dict[str, str]:
    """Returns the names of outputs by what they are: mean=dense_3,log_var=dense_4."""
    pairs = [entry.partition("=") for entry in text.split(",")]
    if any(not (meaning.strip() and equals and name.strip()) for meaning, equals, name in pairs):
        raise SpecError(f"--outputs is {text!r}; expected pairs such as mean=dense_3,log_var=dense_4.")
    return {meaning.strip(): name.strip() for meaning, _, name in pairs}
