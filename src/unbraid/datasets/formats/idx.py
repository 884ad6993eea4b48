"""IDX files, the format of MNIST: arrays of bytes, gzipped or not.

A file is two zero bytes, a type (8: unsigned byte), the number of dimensions, their lengths as big-endian 32-bit
integers, and the values (yann.lecun.com/exdb/mnist).
"""

import gzip
import math
import struct
from pathlib import Path

import numpy as np
from jaxtyping import UInt8

from unbraid._internal import files
from unbraid.errors import DataError

_UNSIGNED_BYTE = 8


def read_idx(path: Path, shape: tuple[int, ...]) -> UInt8[np.ndarray, "..."]:
    """Returns the bytes in a file, which must have this shape; gzipped if its name ends in .gz."""
    header = struct.pack(f">HBB{len(shape)}I", 0, _UNSIGNED_BYTE, len(shape), *shape)
    with files.opened(path) as file:
        stream = gzip.GzipFile(fileobj=file) if path.suffix == ".gz" else file
        content = stream.read(len(header) + math.prod(shape) + 1)
    if not content.startswith(header) or len(content) != len(header) + math.prod(shape):
        raise DataError(
            f"{path} does not hold {shape} bytes in the IDX format. Fetch the official file, or use FromArrays for "
            "custom images."
        )
    return np.frombuffer(content, np.uint8, offset=len(header)).reshape(shape)
