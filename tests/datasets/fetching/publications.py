"""Sets of published files, for the tests of fetching them."""

import hashlib

import numpy as np

from unbraid.datasets.fetching.verification import Publication, PublishedFile

CONTENT = np.random.default_rng(6).bytes(1_000_000)


SHA256 = hashlib.sha256(CONTENT).hexdigest()


def publication(*published, **fields):
    return Publication("A set", "https://example.org/set", "CC0", published, ("a-set", "A"), **fields)


def one_file(server, **fields):
    """A set of one file, whose checksum is published."""
    return publication(
        PublishedFile("a.bin", server.url, **{"checksum": f"sha256:{SHA256}", "checksum_source": "its owner"} | fields)
    )


def names(folder):
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())
