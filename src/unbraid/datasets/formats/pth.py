"""Safe reading of one tensor from a file written by `torch.save`.

Such a file is a pickle, and unpickling can call any function. No other module reads pickles. The pickle instructions
are first checked without execution. A call of a function that a tensor does not need raises an error. Then torch's
weights-only unpickler reads the file.
"""

import io
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO

import torch
from torch import Tensor

from unbraid._internal import files
from unbraid.errors import DataError

_ZIP_MAGIC = b"PK\x03\x04"
# Magic number of files of torch before 1.6: the first of five pickles, before the version, the system, the tensor and
# its storages.
_LEGACY_MAGIC = b"\x80\x02\x8a\nl\xfc\x9cF\xf9 j\xa8P\x19."
_NUM_LEGACY_PICKLES = 5
# Size limit of the pickle of a tensor, which has a few hundred bytes. The values are stored outside of the pickle.
_MAX_PICKLE_BYTES = 2**16
_STORAGES = ("Byte", "Char", "Short", "Int", "Long", "Half", "BFloat16", "Float", "Double", "Bool")
_NEEDED_FUNCTIONS = {
    "torch._utils._rebuild_tensor",  # torch before 0.4
    "torch._utils._rebuild_tensor_v2",
    "collections.OrderedDict",
    *(f"torch.{name}Storage" for name in _STORAGES),
}
# Instructions in the pickle of a tensor, with the number of bytes of their argument, or the size of an integer with
# this number. Only "c" loads a function. Unlike pickletools, this parser does not warn about odd strings.
_FIXED = {
    **dict.fromkeys(b"R(t\x85\x86\x87)}]aesuN\x88\x89Q", 0),
    **dict.fromkeys(b"Kqh", 1),
    **dict.fromkeys(b"M", 2),
    **dict.fromkeys(b"Jrj", 4),
}
_COUNTED = {ord("X"): 4, ord("U"): 1, 0x8A: 1}
_FUNCTION, _PROTOCOL, _STOP = ord("c"), 0x80, ord(".")


def read_tensor(path: Path) -> Tensor:
    """Reads the tensor in a file to the CPU, memory-mapped if torch 1.6 or later wrote the file."""
    try:
        with files.opened(path) as stream:
            is_zip = stream.read(len(_ZIP_MAGIC)) == _ZIP_MAGIC
            stream.seek(0)
            for pickled in _zipped_pickles(stream) if is_zip else _legacy_pickles(stream):
                _check_harmless(pickled)
    except FileNotFoundError:
        raise DataError(f"There is no file {path}. Check the path.") from None
    except Exception as error:  # damaged files raise many types of errors
        raise DataError(
            f"{path} cannot be read as a tensor ({str(error)[:160]!a}). Download the damaged or truncated file again."
        ) from error
    try:
        # Weights only: see the top of this module.
        content = torch.load(str(path), map_location="cpu", weights_only=True, mmap=is_zip)  # noqa: TID251
    except Exception as error:
        # Without torch's message, which suggests weights_only=False.
        raise DataError(
            f"{path} cannot be read as a tensor ({type(error).__name__} in torch.load). Download the truncated file "
            "again."
        ) from error
    if type(content) is not Tensor:
        raise DataError(
            f"{path} contains a {type(content).__name__}; expected one tensor. Save it with torch.save(tensor, path)."
        )
    return content.detach()


def _zipped_pickles(stream: IO[bytes]) -> Iterator[io.BytesIO]:
    """Yields the pickle in a file of torch 1.6 or later: FOLDER/data.pkl in an uncompressed zip."""
    with zipfile.ZipFile(stream) as archive:
        members = {info.filename: info for info in archive.infolist()}
        for name, info in members.items():
            # Checked before reading: a compressed member may decompress to a thousand times its size.
            if info.compress_type != zipfile.ZIP_STORED or info.file_size != info.compress_size:
                raise ValueError(f"{name} is compressed; torch.save compresses nothing")
        folder = next(iter(members), "").partition("/")[0]
        if f"{folder}/constants.pkl" in members:
            raise ValueError("the file contains a TorchScript program")
        if (pickled := members.get(f"{folder}/data.pkl")) is None:
            raise ValueError("the zip has no data.pkl")
        if pickled.file_size > _MAX_PICKLE_BYTES:
            raise ValueError(f"data.pkl has {pickled.file_size} bytes; expected fewer for one tensor")
        yield io.BytesIO(archive.read(pickled))


def _legacy_pickles(stream: IO[bytes]) -> Iterator[io.BytesIO]:
    """Yields the five pickles at the start of a file written by torch before 1.6."""
    content = stream.read(_MAX_PICKLE_BYTES)
    if not content.startswith(_LEGACY_MAGIC):
        raise ValueError("the file does not start with the magic number of torch.save")
    beginning = io.BytesIO(content)
    for _ in range(_NUM_LEGACY_PICKLES):
        yield beginning


def _check_harmless(pickled: io.BytesIO) -> None:
    """Checks the instructions of a pickle without execution. Raises a ValueError for instructions that may run code."""
    while (instruction := _exactly(pickled, 1)[0]) != _STOP:
        if instruction == _FUNCTION:
            module, name = pickled.readline(), pickled.readline()
            function = f"{module.decode().strip()}.{name.decode().strip()}"
            if function not in _NEEDED_FUNCTIONS:
                raise ValueError(
                    f"the pickle calls {function[:80]}, which is not needed for a tensor and might run code"
                )
        elif instruction == _PROTOCOL:
            if (protocol := _exactly(pickled, 1)[0]) != 2:
                raise ValueError(f"the pickle has protocol {protocol}; torch.save uses 2")
        elif instruction in _COUNTED:
            _exactly(pickled, int.from_bytes(_exactly(pickled, _COUNTED[instruction]), "little"))
        elif instruction in _FIXED:
            _exactly(pickled, _FIXED[instruction])
        else:
            raise ValueError(f"the pickle has the instruction {instruction:#04x}, which is not needed for a tensor")


def _exactly(stream: io.BytesIO, num_bytes: int) -> bytes:
    if len(content := stream.read(num_bytes)) < num_bytes:
        raise EOFError("the pickle ends too early, or the file contains more than one tensor")
    return content
