"""The source of the user's own classes, as spec.json names it and the folder `source` of a run keeps it."""

from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any

from unbraid import files
from unbraid.errors import RunError, SpecError, UntrustedError
from unbraid.recipes import from_json
from unbraid.recipes.own_recipes import own_source
from unbraid.runs.spec import RunSpec
from unbraid.source import MAIN, OwnModule, OwnSource, installed_version, keep, module_on_disk


def write_source(folder: Path, source: OwnSource) -> None:
    """Keeps the text of each module in a file of its name. It is read by people, and by `trust="source"`."""
    for name, module in source.modules.items():
        if isinstance(module.text, str):
            files.write_text(folder / _file_name(name, is_package=module.is_package), module.text)


def read_spec_of(content: dict[str, Any], path: Path, packages: Collection[str], trust: str | None) -> RunSpec:
    """Returns the spec that a spec.json at this path holds. Classes of other packages than unbraid are imported only if
    these are named, or made of the source that the run keeps if that is trusted.
    """
    if trust not in (None, "source"):
        raise SpecError(f"trust is {trust!r}; expected 'source', to execute the source that the run keeps, or None.")
    kept = keep(_read_source(path.parent / "source", content)) if trust and content.get("source") else ""
    try:
        spec: RunSpec = from_json(content.get("spec"), RunSpec, packages=packages, kept=kept, where=f"{path}: spec")
    except UntrustedError as error:
        if not content.get("source"):
            raise
        kept = f'the source in {path.parent / "source"}, and have it executed: Run.open(folder, trust="source"), or '
        if error.package == MAIN:
            raise UntrustedError(
                f"{path}: the spec names a class of a script or a notebook. Read {kept}--trust-source. In the script "
                'or notebook that defines the class: Run.open(folder, packages=["__main__"]).',
                MAIN,
            ) from None
        raise UntrustedError(f"{error} Or read {kept}--trust-source.", error.package) from None
    return spec


def source_changes(content: dict[str, Any], spec: RunSpec) -> list[str]:
    """Returns the modules of the user's own that are not what they were when a run was begun, and the packages whose
    version is another.
    """
    then, now = content.get("source") or {}, own_source(spec).identity
    return [*_differing(then, now, "modules"), *_differing(then, _installed(then, now), "packages")]


def changed_source(which: str, changes: Collection[str]) -> str:
    """Returns a sentence about runs, "it was" or "they were", whose source has changed."""
    return (
        f"{which} trained with another state of {in_words(changes)} than there is now. Codes and scores are of that "
        "state; a model is built from what is there now. To build it from the source that the run keeps: Run.open("
        'folder, trust="source"), or --trust-source.'
    )


def in_words(changes: Collection[str]) -> str:
    return f"{'modules' if len(changes) > 1 else 'the module'} {', '.join(changes)}"


def _installed(then: dict[str, Any], now: dict[str, Any]) -> dict[str, Any]:
    """Returns the versions of packages that are installed now: those of kept source are what they were."""
    versions = {name: installed_version(name) for name in then.get("packages", {})}
    return {"packages": now.get("packages", {}) | {name: version for name, version in versions.items() if version}}


def _differing(then: dict[str, Any], now: dict[str, Any], which: str) -> Iterator[str]:
    before, after = then.get(which, {}), now.get(which, {})
    for name in sorted(before.keys() | after.keys()):
        if before.get(name) != after.get(name):
            versions = f" ({before.get(name, 'not used')}, now {after.get(name, 'not used')})"
            yield name + (versions if which == "packages" else "")


def _read_source(folder: Path, content: dict[str, Any]) -> OwnSource:
    """Returns the source that a run keeps, if it is what spec.json says it is."""
    record, modules = content["source"], {}
    for name, digest in record["modules"].items():
        module = _read_module(folder, name)
        if module is None or module.digest != digest:
            raise RunError(
                f"{folder / _file_name(name, is_package=False)} is missing or was changed since the run was begun. "
                "Restore it, or open the run with what can be imported: packages=[...]."
            )
        modules[name] = module
    return OwnSource(modules, record["packages"])


def _read_module(folder: Path, name: str) -> OwnModule | None:
    for is_package in (False, True):
        path = folder / _file_name(name, is_package=is_package)
        if path.is_file():
            try:
                return OwnModule(files.read_bytes(path).decode(), is_package, str(path))
            except (SyntaxError, ValueError):
                return None
    compiled = module_on_disk(name)
    return compiled if compiled is not None and isinstance(compiled.text, bytes) else None  # which has no text to keep


def _file_name(name: str, *, is_package: bool) -> str:
    return f"{name}.__init__.py" if is_package else f"{name}.py"
