"""Compression of the tensors of a model into one base64 text."""

import base64
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, final

import numpy as np
from jaxtyping import Float, UInt8
from torch import Tensor

Precision = Literal["auto", "half", "int8"]
Kind = Literal["float32", "int32", "uint8", "unit16", "half", "int8"]

INT8_FROM = 1_000_000
"""The number of weights above which the precision "auto" is int8."""


@final
@dataclass(frozen=True)
class Packer:
    """Collection of encoded tensors by name."""

    _parts: list[bytes] = field(default_factory=list)
    _index: dict[str, dict[str, Any]] = field(default_factory=dict)

    def add(self, name: str, tensor: Tensor, kind: Kind) -> str:
        """Encodes and adds a tensor. Returns the name.

        Each row of an "int8" matrix is scaled by its largest magnitude. A "half" tensor whose numbers exceed the range
        of half precision is stored in single precision.
        """
        values = tensor.detach().cpu().numpy()
        if kind == "half" and np.abs(values).max(initial=0) > np.finfo(np.float16).max:
            kind = "float32"
        content = _bytes(values, kind)
        self._index[name] = {"kind": kind, "start": sum(map(len, self._parts)), "size": len(content)}
        if kind == "int8":
            self._index[name]["rows"] = len(values)
        self._parts.append(content)
        return name

    def packed(self) -> Mapping[str, Any]:
        """Returns the position of each tensor (`index`), and all tensors as compressed base64 text (`blob`)."""
        blob = base64.b64encode(zlib.compress(b"".join(self._parts), 9)).decode()
        return {"index": self._index, "blob": blob}


def _bytes(values: np.ndarray, kind: Kind) -> bytes:
    if kind == "int8":
        scales = np.abs(values).max(axis=1, keepdims=True) / 127
        steps = np.rint(values / np.where(scales > 0, scales, 1)).astype(np.int8)
        return scales.astype("<f4").tobytes() + steps.tobytes()
    if kind == "unit16":
        return np.rint(values.clip(0, 1) * 65535).astype("<u2").tobytes()
    types = {"float32": "<f4", "int32": "<i4", "uint8": "u1", "half": "<f2"}
    return values.astype(types[kind]).tobytes()


def as_bytes(images: Float[Tensor, "*shape"]) -> UInt8[Tensor, "*shape"]:
    """Converts intensities in [0, 1] to bytes. Intensities outside of [0, 1] are clipped."""
    return (images.clamp(0, 1) * 255).round().byte()
