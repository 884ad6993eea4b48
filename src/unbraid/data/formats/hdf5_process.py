"""Reads HDF5 files on behalf of another process, which outlives whatever a damaged file does to the HDF5 library.

Run as a script by `hdf5.py`, and by its path: to import the package would take longer than to read a file. A request is
a line of JSON: the path, the name of a dataset and, to read some of its rows, the first and the one after the last. The
answer is a length (8 bytes, low byte first), as much JSON, and the rows.
"""

import contextlib
import json
import resource
import sys
from collections.abc import Mapping
from typing import IO, Any

NO_H5PY = 3
"""The status with which the process ends where h5py cannot be imported."""

# Gzip, shuffle and fletcher32 come with the library; all others are plugins, and a plugin is code.
_KNOWN_FILTERS = {1, 2, 3}


def serve(requests: IO[bytes], answers: IO[bytes]) -> None:
    """Answer until there are no more requests. An error that is not foreseen here ends the process, and whoever asked
    is told so.
    """
    for line in requests:
        try:
            about, content = answer(json.loads(line))
        except (
            ImportError,
            KeyError,
            MemoryError,
            OSError,
            OverflowError,
            RuntimeError,
            TypeError,
            ValueError,
        ) as error:
            about, content = {"error": f"{type(error).__name__}: {error}"}, b""
        head = json.dumps(about).encode()
        answers.write(len(head).to_bytes(8, "little") + head)
        answers.write(content)
        answers.flush()


def answer(request: Mapping[str, Any]) -> tuple[dict[str, Any], bytes]:
    """What the dataset is, and the rows that were asked for."""
    import h5py

    with h5py.File(request["path"], "r", locking=False) as file:
        dataset = _plain_dataset(file, request["name"])
        about = {
            "shape": list(dataset.shape),
            "dtype": dataset.dtype.newbyteorder("<").str,
            "chunk_rows": dataset.chunks[0] if dataset.chunks else None,
        }
        if "start" not in request:
            return about, b""
        start, stop, _ = slice(request["start"], request["stop"]).indices(dataset.shape[0])
        content = _rows(dataset, start, stop).astype(about["dtype"], copy=False).tobytes()
        return {**about, "bytes": len(content)}, content


def _plain_dataset(file: Any, name: str) -> Any:
    """A dataset of numbers that lies in this file, and not in another that the file points to."""
    import h5py

    link = file.get(name, getlink=True)
    if link is None:
        raise ValueError(f"it has no dataset {name!r}; it holds {', '.join(sorted(file)) or 'nothing'}")
    if not isinstance(link, h5py.HardLink):
        raise ValueError(f"{name!r} is a link, which is not followed")
    dataset = file[name]
    if not isinstance(dataset, h5py.Dataset) or not dataset.shape:
        raise ValueError(f"{name!r} is not an array")
    if dataset.is_virtual or dataset.external:
        raise ValueError(f"the values of {name!r} lie in other files, which are not read")
    if dataset.dtype.kind not in "biuf":
        raise ValueError(f"{name!r} holds {dataset.dtype}, not plain numbers")
    properties = dataset.id.get_create_plist()
    filters = {properties.get_filter(index)[0] for index in range(properties.get_nfilters())}
    if unknown := filters - _KNOWN_FILTERS:
        raise ValueError(f"{name!r} is compressed in a way that is not supported (filter {min(unknown)})")
    return dataset


def _rows(dataset: Any, start: int, stop: int) -> Any:
    """Chunk by chunk, where a chunk holds parts of many rows: the library itself takes half as long again to put such
    rows together.
    """
    import numpy as np

    if dataset.chunks is None or dataset.chunks[1:] == dataset.shape[1:] or start >= stop:
        return dataset[start:stop]
    rows = np.empty((stop - start, *dataset.shape[1:]), dataset.dtype)
    for part in dataset.iter_chunks((slice(start, stop), *(slice(0, length) for length in dataset.shape[1:]))):
        rows[slice(part[0].start - start, part[0].stop - start), *part[1:]] = dataset[part]
    return rows


def limit(max_bytes: int) -> None:
    """From here on: no more memory than this, no growing file, no image of a crash."""
    for kind, most in ((resource.RLIMIT_AS, max_bytes), (resource.RLIMIT_FSIZE, 0), (resource.RLIMIT_CORE, 0)):
        # Not every system knows every limit, nor allows what is above its own.
        with contextlib.suppress(OSError, ValueError):
            resource.setrlimit(kind, (most, most))


if __name__ == "__main__":
    try:
        import h5py  # noqa: F401 - before there are limits
    except ImportError:
        sys.exit(NO_H5PY)
    limit(int(sys.argv[1]))
    serve(sys.stdin.buffer, sys.stdout.buffer)
