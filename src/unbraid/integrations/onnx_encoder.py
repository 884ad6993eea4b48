"""Codes of images from encoders in ONNX files, which any framework can write."""

import logging
import math
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, final

import numpy as np
import torch
from torch import Tensor

from unbraid._internal import files
from unbraid._internal.arrays import numbered
from unbraid._internal.progress import Event, emit
from unbraid.codes import Codes, CodesOptions
from unbraid.datasets.dataset import FactorImages
from unbraid.errors import CodesError, DataError, SpecError
from unbraid.integrations.export import session

log = logging.getLogger(__name__)

_BATCH = 256  # the batch size, if the model accepts any batch size
_MAX_NUMBERS = 2**28  # the maximum number of values in a batch, if the model has a fixed batch size
_MAX_SECONDS = 600.0  # the time limit of a batch, because a model may contain an endless loop
_TYPES: dict[str, np.dtype[Any]] = {
    "tensor(float)": np.dtype("float32"),
    "tensor(float16)": np.dtype("float16"),
    "tensor(double)": np.dtype("float64"),
    "tensor(uint8)": np.dtype("uint8"),
}
# Common names of outputs in other programs.
_NAMES = {
    "mean": ("mean", "mu", "z_mean", "loc"),
    "std": ("std", "sigma", "z_std"),
    "log_var": ("log_var", "logvar", "z_log_var", "z_logvar"),
    "covariance": ("covariance",),
    "samples": ("samples",),
}
_PROBABILITIES = "probabilities_"


@final
@dataclass(frozen=True, eq=False)
class OnnxEncoder:
    """An encoder in an ONNX file, which encodes images to `Codes`.

    `outputs` maps "mean", "std", "log_var", "covariance", "samples", "probabilities_0", ... to names in the file.
    """

    path: Path
    outputs: Mapping[str, str]
    runtime: Any

    @classmethod
    def open(cls, path: Path | str, outputs: Mapping[str, str] | None = None) -> "OnnxEncoder":
        """Opens an ONNX file.

        By default, outputs are recognized by name, and a single output with any name is the mean.
        """
        where = Path(path)
        if where.suffix == ".pt2":
            raise SpecError(
                f"Expected an ONNX file, got {path} of torch.export, which can execute code when it is loaded. Export "
                "the encoder as ONNX with torch.onnx.export."
            )
        try:
            runtime = session(str(files.regular(where)), str(path))
        except OSError as error:
            raise DataError(f"{path} cannot be read ({error.strerror}). Name a readable .onnx file.") from None
        if len(runtime.get_inputs()) != 1:
            names = ", ".join(each.name for each in runtime.get_inputs())
            raise SpecError(f"{path} has the inputs {names}; expected one input (images). Export only the encoder.")
        return cls(where, _meanings(str(path), [each.name for each in runtime.get_outputs()], outputs), runtime)

    def encode(self, images: FactorImages) -> Codes:
        """Returns the codes of all images, with their factors.

        The model receives pixels from 0 to 1, or bytes if its input type is uint8. The order of axes is detected.
        """
        layout = self._layout(images.image_shape)
        found: dict[str, list[np.ndarray]] = {name: [] for name in self.outputs}
        batch_size = layout.batch_size or _BATCH
        for start in range(0, len(images), batch_size):
            emit(Event("encoding", start, len(images), "images"))
            rows = slice(start, min(start + batch_size, len(images)))
            for name, array in self._run(layout.of(images, rows)).items():
                found[name].append(array[: rows.stop - rows.start])
        emit(Event("encoding", len(images), len(images), "images"))
        return self._codes({name: np.concatenate(arrays) for name, arrays in found.items()}, images)

    def _run(self, inputs: np.ndarray) -> dict[str, np.ndarray]:
        """Runs the model in a separate thread with a time limit. Returns the outputs by meaning."""
        import onnxruntime

        options, name = onnxruntime.RunOptions(), self.runtime.get_inputs()[0].name
        with ThreadPoolExecutor(1) as thread:
            computed = thread.submit(self.runtime.run, list(self.outputs.values()), {name: inputs}, options)
            try:
                arrays = computed.result(_MAX_SECONDS)
            # onnxruntime raises its own classes, below RuntimeError or Exception depending on its version.
            except Exception as error:  # noqa: BLE001
                is_slow = isinstance(error, TimeoutError)
                why = f"no result within {_MAX_SECONDS:,.0f} seconds" if is_slow else error
                raise CodesError(f"{self.path} cannot encode {len(inputs)} images: {why} Check the model.") from None
            finally:
                options.terminate = True  # the pool waits for the end of the thread
        named = dict(zip(self.outputs, map(np.asarray, arrays), strict=True))
        for name, array in named.items():
            if array.ndim == 0 or len(array) != len(inputs):
                raise CodesError(
                    f"{self.path}: the output {self.outputs[name]} has shape {array.shape} for {len(inputs)} images; "
                    "expected one row per image. Export a model whose first axis is the batch."
                )
        return {name: array if name == "covariance" else array.reshape(len(array), -1) for name, array in named.items()}

    def _codes(self, arrays: dict[str, Any], images: FactorImages) -> Codes:
        covariance, std = arrays.get("covariance"), arrays.get("std") if "covariance" not in arrays else None
        if self.runtime.get_modelmeta().custom_metadata_map.get("unbraid.gaussian") == "False":
            std = None
            log.warning(
                "The latents of %s are not Gaussian, so mean and std do not determine q(z | x). Only means are used. "
                "For exact scores, score the run itself.",
                self.path,
            )
        factors = tuple(labels.to("cpu") for labels in images.factors)
        weights = None if images.weights is None else images.weights.cpu()
        return Codes.from_arrays(
            arrays.get("mean"),
            std,
            log_var=arrays.get("log_var"),
            samples=arrays.get("samples"),
            probabilities=numbered(arrays, _PROBABILITIES),
            factors=factors or None,
            weights=weights,
            options=CodesOptions(covariance=covariance),
        )

    def _layout(self, image_shape: tuple[int, int, int]) -> "_Layout":
        """Returns the input layout of the model for images of this shape. Raises DataError if the shapes differ."""
        takes = self.runtime.get_inputs()[0]
        if takes.type not in _TYPES:
            raise SpecError(f"{self.path} takes {takes.type}; expected one of {', '.join(_TYPES)}. Use float32.")
        batch_size, *shape = takes.shape or [None]
        channels, height, width = image_shape
        as_ours = (0, 1, 2)
        ways: list[tuple[tuple[int, ...], tuple[int, ...]]] = [
            (as_ours, image_shape),
            ((1, 2, 0), (height, width, channels)),
            *([(as_ours, (height, width))] if channels == 1 else []),
            (as_ours, (math.prod(image_shape),)),
        ]
        for axes, arranged in ways:
            # A name in the shape of an input means any size.
            if len(shape) == len(arranged) and all(
                not isinstance(size, int) or size == given for size, given in zip(shape, arranged, strict=True)
            ):
                fixed = batch_size if isinstance(batch_size, int) else None
                if fixed is not None and not 0 < fixed * math.prod(arranged) <= _MAX_NUMBERS:
                    raise DataError(
                        f"{self.path} has the batch size {fixed:,}; expected 1 to "
                        f"{_MAX_NUMBERS // math.prod(arranged):,}. Export the encoder with a dynamic batch size."
                    )
                return _Layout(axes, arranged, fixed, _TYPES[takes.type])
        raise DataError(
            f"{self.path} expects inputs of {' x '.join(map(str, shape))}, but the images are {channels} x {height} x "
            f"{width} (channels x height x width). Choose the dataset and resolution on which it was trained."
        )


@final
@dataclass(frozen=True)
class _Layout:
    """The input layout of a model: order of axes, shape of an image, batch size (or None) and type."""

    axes: tuple[int, ...]
    shape: tuple[int, ...]
    batch_size: int | None
    dtype: np.dtype

    def of(self, images: FactorImages, rows: slice) -> np.ndarray:
        """Returns a batch of images in this layout. The last image is repeated to fill a fixed batch size."""
        found: Tensor = images.bytes_of(rows) if self.dtype == np.uint8 else images.batch(rows)
        if self.batch_size is not None and len(found) < self.batch_size:
            found = torch.cat([found, found[-1:].expand(self.batch_size - len(found), -1, -1, -1)])
        arranged = found.permute(0, *(axis + 1 for axis in self.axes)).reshape(len(found), *self.shape)
        return np.ascontiguousarray(arranged.cpu().numpy().astype(self.dtype, copy=False))


def _meanings(path: str, names: list[str], given: Mapping[str, str] | None) -> dict[str, str]:
    """Returns the output names of the file by meaning, such as "mean". Raises SpecError if no output is the mean."""
    found = dict(given or {})
    for meaning, name in found.items():
        if meaning not in _NAMES and not meaning.removeprefix(_PROBABILITIES).isdecimal():
            raise SpecError(
                f"Expected {', '.join(_NAMES)} or {_PROBABILITIES}0 in `outputs`, got {meaning!r}. Rename it."
            )
        if name not in names:
            raise SpecError(f"{path} has no output {name!r}. Choose one of {', '.join(names)}.")
    if given is None:
        found = {meaning: name for meaning, same in _NAMES.items() for name in reversed(names) if name.lower() in same}
        found |= {name.lower(): name for name in names if name.lower().startswith(_PROBABILITIES)}
    if not found and len(names) == 1:
        found = {"mean": names[0]}
    if not any(meaning in ("mean", "samples") or meaning.startswith(_PROBABILITIES) for meaning in found):
        raise SpecError(
            f"Expected an output with a known name such as 'mean' in {path}, got {', '.join(names)}. Name the mean, "
            f"e.g. outputs={{'mean': '{names[0]}'}} (--outputs mean={names[0]})."
        )
    return found
