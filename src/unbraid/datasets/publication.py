"""What the owner of a data set publishes: which files, where, under which license, and what they must hash to."""

from dataclasses import dataclass
from typing import final


@final
@dataclass(frozen=True)
class PublishedFile:
    """Is one file, under the name that its owner gave it.

    `url` is None where the owner allows no direct download. `checksum` is "md5:..." or "sha256:...", and
    `checksum_source` says who published it; where none is published, the SHA-256 of the first file seen is recorded and
    later ones are compared with it.
    """

    name: str
    url: str | None
    num_bytes: int | None = None
    checksum: str | None = None
    checksum_source: str = ""


@final
@dataclass(frozen=True)
class Publication:
    """A data set as its owner gives it out.

    `license` is a word or two, `license_note` what a user must know before downloading. The files are looked for in
    `subfolders` of a folder that the user names, then in that folder itself; a fetch puts them into the first.
    `how_to_get` tells the way where there is no direct download.
    """

    title: str
    homepage: str
    license: str
    files: tuple[PublishedFile, ...]
    subfolders: tuple[str, ...]
    license_note: str = ""
    how_to_get: str = ""

    def file(self, name: str) -> PublishedFile | None:
        return next((file for file in self.files if file.name == name), None)
