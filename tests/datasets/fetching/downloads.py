"""A file to download, for the tests of downloads."""

import hashlib

import numpy as np

from tests.datasets.flaky_server import Answer
from unbraid.datasets.fetching.verification import PublishedFile

CONTENT = np.random.default_rng(5).bytes(200_000)


MD5 = f"md5:{hashlib.md5(CONTENT).hexdigest()}"


PUBLISHED = PublishedFile("a.bin", None, checksum=MD5)


UNPUBLISHED = PublishedFile("a.bin", None)


def cut(after, **answer):
    return Answer(cut_after=after, **answer)
