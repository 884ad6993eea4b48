"""Codes in a file, in the form that its suffix says. Nothing in it is ever run."""

from collections.abc import Sequence
from pathlib import Path

from unbraid.codes.checks import check_several_images
from unbraid.codes.codes import Codes
from unbraid.codes.csv_file import read_csv, write_csv
from unbraid.codes.npz_file import read_npz, write_npz
from unbraid.codes.safetensors_file import read_safetensors, write_safetensors
from unbraid.errors import CodesError, UnbraidError

_READERS = {".npz": read_npz, ".safetensors": read_safetensors, ".csv": read_csv}
_WRITERS = {".npz": write_npz, ".safetensors": write_safetensors, ".csv": write_csv}
SUFFIXES = tuple(_READERS)


def save_codes(codes: Codes, path: Path, file_names: Sequence[str] = ()) -> None:
    """Writes the codes, and the names of the pictures they are of where they are known."""
    if path.suffix.lower() not in SUFFIXES:
        raise CodesError(f"{path} is not a file that codes are saved to. Name one that ends in {', '.join(SUFFIXES)}.")
    _WRITERS[path.suffix.lower()](path, codes, file_names)


def load_codes(path: Path) -> Codes:
    """Reads a file, which errors name."""
    try:
        if path.is_dir():
            raise CodesError(f"{path} is a folder; expected a file of codes: {', '.join(SUFFIXES)}.")
        if path.suffix.lower() not in SUFFIXES:
            raise CodesError(
                f"{path} is not a file of codes that unbraid reads ({', '.join(SUFFIXES)}). Save it as one of these."
            )
        if not path.is_file():
            raise CodesError(f"There is no file {path}. Check the path.")
        if path.stat().st_size == 0:
            raise CodesError(f"{path} is empty. Write the codes again.")
        codes = _READERS[path.suffix.lower()](path)
        check_several_images(codes.mean)
    except UnbraidError as error:
        # Which of several files it was is the first thing to know.
        if str(path) in str(error):
            raise
        raise type(error)(f"{path}: {error}") from None
    except OSError as error:
        raise CodesError(
            f"{path} cannot be read ({error.strerror or error}). Check that it is a file you may read."
        ) from None
    return codes
