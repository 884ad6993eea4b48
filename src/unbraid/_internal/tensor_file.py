"""Writing of safetensors files directly from the memory of tensors.

`safetensors.torch.save` is slower, because it copies all tensors several times, and writes metadata in random order.
A file contains the length of the header in eight bytes, the header as JSON, and the concatenated tensors:
https://github.com/huggingface/safetensors#format
"""

import hashlib
import itertools
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from unbraid._internal import files

_NAMES = {
    torch.bool: "BOOL",
    torch.int8: "I8",
    torch.uint8: "U8",
    torch.int16: "I16",
    torch.uint16: "U16",
    torch.int32: "I32",
    torch.uint32: "U32",
    torch.int64: "I64",
    torch.uint64: "U64",
    torch.bfloat16: "BF16",
    torch.float16: "F16",
    torch.float32: "F32",
    torch.float64: "F64",
}


def write_tensors(path: Path, tensors: Mapping[str, Tensor], metadata: Mapping[str, str]) -> "hashlib._Hash":
    """Writes tensors and returns the SHA-256 hash of the file. Equal tensors and metadata give equal bytes."""
    ordered = sorted(
        tensors, key=lambda name: (-tensors[name].itemsize, name)
    )  # tensors with the widest dtypes first, so that all tensors are aligned
    checksum = hashlib.sha256()
    with files.atomic_writer(path) as stream:
        for part in itertools.chain([_header(ordered, tensors, metadata)], (_bytes(tensors[name]) for name in ordered)):
            checksum.update(part)
            stream.write(part)
    return checksum


def _header(ordered: list[str], tensors: Mapping[str, Tensor], metadata: Mapping[str, str]) -> bytes:
    header: dict[str, object] = {"__metadata__": dict(sorted(metadata.items()))}
    begin = 0
    for name in ordered:
        tensor, end = tensors[name], begin + tensors[name].nbytes
        header[name] = {"dtype": _NAMES[tensor.dtype], "shape": list(tensor.shape), "data_offsets": [begin, end]}
        begin = end
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    return len(text).to_bytes(8, "little") + text


def _bytes(tensor: Tensor) -> Any:
    # An empty tensor may have strides that `view` rejects.
    flat = tensor.detach().cpu().contiguous().reshape(-1) if tensor.numel() else torch.empty(0, device="cpu")
    numbers: Any = flat.view(torch.uint8).numpy()
    return memoryview(numbers)
