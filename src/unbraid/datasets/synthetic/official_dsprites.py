"""The file of dSprites that its authors published, converted once to bits.

It is an `.npz` of 27 MB whose images take 3 GB when unpacked, so they are unpacked in blocks. It also holds a pickled
`metadata`, which is never touched.
"""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
from jaxtyping import UInt64

from unbraid._internal import files
from unbraid._internal.npz import Npz
from unbraid.datasets import file_stamps
from unbraid.datasets.dataset import Factor, FactorImages, grid_rows
from unbraid.datasets.fetching import verification
from unbraid.datasets.fetching.verification import Publication, PublishedFile
from unbraid.datasets.image_store import ImageStore, Plan
from unbraid.datasets.pixels import packed
from unbraid.errors import DataError

OFFICIAL_FILE = "dsprites_ndarray_co1sh3sc6or40x32y32_64x64.npz"
PUBLICATION = Publication(
    title="dSprites: Disentanglement testing Sprites dataset",
    homepage="https://github.com/google-deepmind/dsprites-dataset",
    license="Apache-2.0",
    license_note="The images are drawn here without the file; it is read where root names it.",
    files=(
        PublishedFile(
            OFFICIAL_FILE,
            f"https://github.com/google-deepmind/dsprites-dataset/raw/master/{OFFICIAL_FILE}",
            checksum="md5:7da33b31b13a06f4b04a70402ce90c2e",
            checksum_source="latte-metrics and other libraries that fetch it",
        ),
    ),
    subfolders=("dsprites",),
)

# Part of the name of a cached file. Raise it when a change here changes a bit.
_CONVERTER_VERSION = 1
_IMAGES_PER_BLOCK = 4096
_FETCH = (
    f"Fetch {OFFICIAL_FILE} again from github.com/google-deepmind/dsprites-dataset, or leave root out to have the "
    "images drawn."
)


def official_path(root: str) -> Path:
    """Returns the file, where `root` is it, or the folder that holds it, or the one above."""
    for path in (
        Path(root),
        Path(root) / OFFICIAL_FILE,
        *(Path(root) / folder / OFFICIAL_FILE for folder in PUBLICATION.subfolders),
    ):
        if path.is_file():
            return path
    raise DataError(
        f"DSprites(root={root!r}): there is no file {Path(root) / OFFICIAL_FILE}. Name the folder that holds "
        f"{OFFICIAL_FILE}, or leave root out."
    )


def open_official(
    root: str, image_shape: tuple[int, int, int], factors: tuple[Factor, ...], *, verify: bool
) -> FactorImages:
    """Returns its images as bits, kept in the cache under the checksum of the file: what is found there was made from
    what is there now.
    """
    path = official_path(root)
    try:
        stamp, sha256 = file_stamps.stamp(path), files.sha256(path)
    except OSError as error:
        raise DataError(
            f"{path} cannot be read ({error.strerror or error}). Make it a file that you may read. {_FETCH}"
        ) from error

    def plan() -> Plan:
        verification.check_file(path, PUBLICATION.files[0])
        return Plan(image_shape, factors, grid_rows(factors), blocks, "bits")

    def blocks(start: int) -> Iterator[UInt64[np.ndarray, "block row"]]:
        for images in Npz(path).blocks("imgs", _IMAGES_PER_BLOCK, start):
            yield packed(images)
        file_stamps.check_unchanged([path], [stamp])

    store = ImageStore(files.cache_folder() / "dsprites" / f"official-{sha256[:16]}_v{_CONVERTER_VERSION}")
    return store.ensure(plan, "converting dSprites", verify=verify)
