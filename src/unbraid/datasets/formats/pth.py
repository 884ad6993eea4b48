"""Safe reading of one tensor from a file of `torch.save`.

Such a file is a pickle, and unpickling can call any function. No other module reads pickles. The instructions are
checked first without executing them, and any function that a tensor does not need raises an error. Then torch's
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
# The number with which files of torch before 1.6 begin, as the first of five pickles: the others are a version, the
# system, the tensor, its storages.
_LEGACY_MAGIC = b"\x80\x02\x8a\nl\xfc\x9cF\xf9 j\xa8P\x19."
_NUM_LEGACY_PICKLES = 5
# The pickle of a tensor takes a few hundred bytes; its values lie outside of it.
_MAX_PICKLE_BYTES = 2**16
_STORAGES = ("Byte", "Char", "Short", "Int", "Long", "Half", "BFloat16", "Float", "Double", "Bool")
_NEEDED_FUNCTIONS = {
    "torch._utils._rebuild_tensor",  # torch before 0.4
    "torch._utils._rebuild_tensor_v2",
    "collections.OrderedDict",
    *(f"torch.{name}Storage" for name in _STORAGES),
}
# The instructions in the pickle of a tensor, with the number of bytes that follow, or the size of the integer that is
# this number. Only "c" names a function. pickletools reads them too, but warns about odd texts.
_FIXED = {
    **dict.fromkeys(b"R(t\x85\x86\x87)}]aesuN\x88\x89Q", 0),
    **dict.fromkeys(b"Kqh", 1),
    **dict.fromkeys(b"M", 2),
    **dict.fromkeys(b"Jrj", 4),
}
_COUNTED = {ord("X"): 4, ord("U"): 1, 0x8A: 1}
_FUNCTION, _PROTOCOL, _STOP = ord("c"), 0x80, ord(".")


def read_tensor(path: Path) -> Tensor:
    """Returns the tensor in the file, on the CPU; memory-mapped if torch 1.6 or later wrote the file."""
    try:
        with files.opened(path) as stream:
            is_zip = stream.read(len(_ZIP_MAGIC)) == _ZIP_MAGIC
            stream.seek(0)
            for pickled in _zipped_pickles(stream) if is_zip else _legacy_pickles(stream):
                _check_harmless(pickled)
    except FileNotFoundError:
        raise DataError(f"There is no file {path}. Check the path.") from None
    except Exception as error:  # of any type: it depends on the file
        raise DataError(
            f"{path} cannot be read as a tensor ({str(error)[:160]!a}). It may be cut short or damaged: get it again."
        ) from error
    try:
        # Weights only: see the top of this module.
        content = torch.load(str(path), map_location="cpu", weights_only=True, mmap=is_zip)  # noqa: TID251
    except Exception as error:
        # Without torch's message, which advises to load it anyway.
        raise DataError(
            f"{path} cannot be read as a tensor ({type(error).__name__} in torch.load). It may be cut short: get it "
            "again."
        ) from error
    if type(content) is not Tensor:
        raise DataError(
            f"{path} holds a {type(content).__name__}; expected one tensor, as torch.save(tensor, path) writes it."
        )
    return content.detach()


def _zipped_pickles(stream: IO[bytes]) -> Iterator[io.BytesIO]:
    """Yields the pickle in a file of torch 1.6 or later: an uncompressed zip with FOLDER/data.pkl and FOLDER/data/0."""
    with zipfile.ZipFile(stream) as archive:
        members = {info.filename: info for info in archive.infolist()}
        for name, info in members.items():
            # Before anything is read: a compressed member may unpack to a thousand times its size.
            if info.compress_type != zipfile.ZIP_STORED or info.file_size != info.compress_size:
                raise ValueError(f"{name} in it is compressed, which torch.save never does")
        folder = next(iter(members), "").partition("/")[0]
        if f"{folder}/constants.pkl" in members:
            raise ValueError("it holds a TorchScript program")
        if (pickled := members.get(f"{folder}/data.pkl")) is None:
            raise ValueError("it is a zip without data.pkl")
        if pickled.file_size > _MAX_PICKLE_BYTES:
            raise ValueError(f"data.pkl in it has {pickled.file_size} bytes, more than one tensor needs")
        yield io.BytesIO(archive.read(pickled))


def _legacy_pickles(stream: IO[bytes]) -> Iterator[io.BytesIO]:
    """Yields the five pickles at the start of a file written by torch before 1.6."""
    content = stream.read(_MAX_PICKLE_BYTES)
    if not content.startswith(_LEGACY_MAGIC):
        raise ValueError("it does not begin as files of torch.save do")
    beginning = io.BytesIO(content)
    for _ in range(_NUM_LEGACY_PICKLES):
        yield beginning


def _check_harmless(pickled: io.BytesIO) -> None:
    """Checks the instructions of one pickle without executing them."""
    while (instruction := _exactly(pickled, 1)[0]) != _STOP:
        if instruction == _FUNCTION:
            module, name = pickled.readline(), pickled.readline()
            function = f"{module.decode().strip()}.{name.decode().strip()}"
            if function not in _NEEDED_FUNCTIONS:
                raise ValueError(
                    f"it calls {function[:80]}, which a tensor of plain numbers does not need: it might run code"
                )
        elif instruction == _PROTOCOL:
            if (protocol := _exactly(pickled, 1)[0]) != 2:
                raise ValueError(f"it is pickled in protocol {protocol}; torch.save uses 2")
        elif instruction in _COUNTED:
            _exactly(pickled, int.from_bytes(_exactly(pickled, _COUNTED[instruction]), "little"))
        elif instruction in _FIXED:
            _exactly(pickled, _FIXED[instruction])
        else:
            raise ValueError(
                f"it is pickled with the instruction {instruction:#04x}, which a tensor of plain numbers does not need"
            )


def _exactly(stream: io.BytesIO, num_bytes: int) -> bytes:
    if len(content := stream.read(num_bytes)) < num_bytes:
        raise EOFError("it ends too early, or holds more than one tensor")
    return content
