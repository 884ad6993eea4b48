"""The source of classes of the user's own: modules with their text, and versions of packages."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import final

from unbraid.errors import SpecError
from unbraid.source.syntax import short_digest, syntax_digest


@final
@dataclass(frozen=True)
class OwnModule:
    """Holds one module: its text, or the bytes of a compiled one; whether it is a package; and the file it is from."""

    text: str | bytes
    is_package: bool = False
    file: str | None = None
    digest: str = field(init=False)

    def __post_init__(self) -> None:
        digest = short_digest(self.text) if isinstance(self.text, bytes) else syntax_digest(self.text)
        object.__setattr__(self, "digest", digest)


@final
@dataclass(frozen=True)
class OwnSource:
    """Holds the modules of the user's own by name, and the versions of the installed packages that they import."""

    modules: Mapping[str, OwnModule] = field(default_factory=dict)
    versions: Mapping[str, str] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.modules or self.versions)

    @cached_property
    def identity(self) -> dict[str, dict[str, str]]:
        """Returns what tells this source from others: a digest for each module, and a version for each package."""
        digests = {name: module.digest for name, module in sorted(self.modules.items())}
        return {"modules": digests, "packages": dict(sorted(self.versions.items()))}

    def __or__(self, other: "OwnSource") -> "OwnSource":
        """Returns both together. Two states of one module do not go together."""
        for name in self.modules.keys() & other.modules.keys():
            if self.modules[name].digest != other.modules[name].digest:
                raise SpecError(
                    f"This spec holds classes of {name} in two states: one of a run that was opened with "
                    'trust="source", and one that was imported. Take all of them from one.'
                )
        return OwnSource({**self.modules, **other.modules}, {**self.versions, **other.versions})
