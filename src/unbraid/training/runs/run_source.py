"""Source of user classes: digests in spec.json, and text in the folder `source` of a run.

The stored source is compared and displayed, but never executed.
"""

import difflib
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any

from unbraid._internal import files
from unbraid._internal.source import UserSource, installed_version, module_on_disk
from unbraid.config import from_json
from unbraid.config.digest import user_source
from unbraid.errors import RunError
from unbraid.training.runs.spec import RunSpec

_MAX_DIFFERENCES = 40  # lines of a diff in a message
_MAX_NAME = 500  # characters
_MAX_TEXT = 1_000_000  # bytes of a compared module


def write_source(folder: Path, source: UserSource) -> None:
    """Writes the text of each module to a file with the name of the module."""
    for name, module in source.modules.items():
        if isinstance(module.text, str):
            files.write_text(folder / (f"{name}.__init__.py" if module.is_package else f"{name}.py"), module.text)


def read_spec_of(
    content: dict[str, Any], path: Path, packages: Collection[str], missing: dict[str, str] | None = None
) -> RunSpec:
    """Converts the content of the spec.json at `path` to a spec, with stand-ins for missing classes."""
    _recorded(content, path)
    spec: RunSpec = from_json(content.get("spec"), RunSpec, packages=packages, where=f"{path}: spec", missing=missing)
    return spec


def source_changes(content: dict[str, Any], spec: RunSpec, path: Path) -> list[str]:
    """Returns the user modules and packages that differ from the record in the content of a spec.json."""
    then, now = _recorded(content, path), user_source(spec).identity
    packages = now["packages"] | {name: found for name in then["packages"] if (found := installed_version(name))}
    return _differing(then["modules"], now["modules"]) + [
        f"{name} ({then['packages'].get(name, 'not used')}, now {packages.get(name, 'not used')})"
        for name in _differing(then["packages"], packages)
    ]


def changes_text(changes: Collection[str]) -> str:
    """Joins the names of changed modules to text."""
    return f"{'modules' if len(changes) > 1 else 'the module'} {', '.join(changes)}"


def source_warning(folder: Path, changes: Collection[str], missing: Mapping[str, str]) -> str:
    """Returns a warning about missing classes or changed modules of a run, and its stored source."""
    kept = f" The source is stored in {folder / 'source'}." if (folder / "source").is_dir() else ""
    if missing:
        reasons = " ".join(dict.fromkeys(missing.values()))
        return (
            f"{folder} was trained with {', '.join(missing)}, which cannot be imported. Codes, scores, history and "
            f"report can be read, but the model cannot be built. {reasons}{kept}"
        )
    lines = [line for name in changes for line in _difference(folder / "source", name)]
    more = [f"... {len(lines) - _MAX_DIFFERENCES} more lines"] if len(lines) > _MAX_DIFFERENCES else []
    text = (
        f"{folder} was trained with another version of {changes_text(changes)}. Codes and scores are from that "
        f"version; models are built with the current version.{kept}"
    )
    return "\n".join([text, *lines[:_MAX_DIFFERENCES], *more])


def _difference(source: Path, name: str) -> Iterator[str]:
    """Yields the lines of a diff between the stored text of a module and its current file."""
    now = module_on_disk(name) if name != "__main__" else None
    for path in (source / f"{name}.py", source / f"{name}.__init__.py"):
        if now is None or not isinstance(now.text, str) or not path.is_file() or path.stat().st_size > _MAX_TEXT:
            continue
        before = files.read_bytes(path).decode(errors="replace").splitlines()
        yield from difflib.unified_diff(before, now.text.splitlines(), str(path), now.file or name, n=0, lineterm="")


def _recorded(content: dict[str, Any], path: Path) -> dict[str, dict[str, str]]:
    """Returns the recorded digests of modules and versions of packages in the content of a spec.json."""
    record = content.get("source") or {}
    kinds: list[Any] = [record.get(kind, {}) if isinstance(record, dict) else None for kind in ("modules", "packages")]
    if not all(isinstance(each, dict) and all(map(_is_entry, each.items())) for each in kinds):
        raise RunError(
            f"{path}: source is {str(record)[:60]}; expected strings by module and by package. Restore the file."
        )
    return {"modules": kinds[0], "packages": kinds[1]}


def _is_entry(entry: tuple[str, Any]) -> bool:
    name, value = entry
    return len(name) < _MAX_NAME and all(map(str.isidentifier, name.split("."))) and isinstance(value, str)


def _differing(before: Mapping[str, str], after: Mapping[str, str]) -> list[str]:
    return [name for name in sorted(before.keys() | after.keys()) if before.get(name) != after.get(name)]
