"""Runs on the Hub: which files of a run are pushed, and how they become the folder of a run again."""

import contextlib
import json
import logging
import re
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from unbraid import files
from unbraid.errors import CodesError, RunError
from unbraid.hub.repository import check_name, fetch, installed, push
from unbraid.names import kebab_case
from unbraid.recipes import text_of
from unbraid.runs.records import read_record
from unbraid.runs.run import Run
from unbraid.runs.run_card import PICTURE, run_card, traversal_picture
from unbraid.runs.run_files import RunFiles

log = logging.getLogger(__name__)

_WEIGHTS, _CODES = "weights.safetensors", "codes.safetensors"
ON_THE_HUB = {
    "spec.json": "spec.json",
    "history.csv": "history.csv",
    "scores.json": "scores.json",
    "environment.json": "environment.json",
    "exports.json": "exports.json",
    _WEIGHTS: "model.safetensors",
    _CODES: _CODES,
    "finished.json": "finished.json",
}
"""What files of a run are called on the Hub, where weights have a name that every library knows."""
PATTERNS = ("config.json", *ON_THE_HUB.values(), "source/*")
"""The paths that are fetched of a run: nothing else in a repository is."""
_NAME = re.compile(r"(?!\.)[\w.-]{1,200}-seed[0-9]+")


def push_run(
    run: Run,
    repo_id: str,
    *,
    private: bool = False,
    revision: str | None = None,
    codes: bool = True,
    licence: str | None = None,
    data_licence: str | None = None,
) -> str:
    """Pushes a finished run with its card, in one commit, and returns the address of that."""
    check_name(repo_id)
    installed()
    RunFiles(run.folder).check_finished(_WEIGHTS)
    if not run.named_scores() and _CODES not in run.let_go:
        with contextlib.suppress(CodesError):  # none of them is defined for these codes
            run.score("mig", progress=False)
    contents, picture = contents_of(run, codes=codes), traversal_picture(run)
    if picture is not None:
        contents[PICTURE] = picture
    card = run_card(run, repo_id, has_picture=picture is not None, licence=licence, data_licence=data_licence)
    contents["README.md"] = card.content()
    return push(repo_id, contents, message=f"Add {run.name}", private=private, revision=revision)


def contents_of(run: Run, *, codes: bool) -> dict[str, bytes | Path]:
    """Returns the files of a finished run by their paths on the Hub, checked, with a config."""
    kept = RunFiles(run.folder)
    kept.check_finished(_WEIGHTS)
    left_out = {*kept.let_go} | (set() if codes else {_CODES})
    found: dict[str, bytes | Path] = {"config.json": as_json(config_of(run))}
    for name, on_the_hub in ON_THE_HUB.items():
        path = run.folder / name
        if name in left_out or not path.exists():
            continue
        if name in kept.checksums:
            kept.check(path)
        found[on_the_hub] = path
    found |= {f"source/{path.name}": path for path in sorted((run.folder / "source").glob("*.py"))}
    if left_out:
        found["finished.json"] = as_json({**read_record(run.folder / "finished.json"), "let_go": sorted(left_out)})
    for named in _paths_in(run.spec.to_json()):
        log.warning("The spec of %s, which is pushed with it, names a path on this machine: %s", run.name, named)
    return found


def config_of(run: Run) -> dict[str, Any]:
    """Returns what a program that is not unbraid may want to know of a run."""
    spec = run.spec
    return {
        "library_name": "unbraid",
        "unbraid_version": run.version,
        "name": run.name,
        "digest": run.digest,
        "seed": run.seed,
        "objective": kebab_case(type(spec.objective)),
        "dataset": text_of(spec.dataset),
        "image_shape": list(spec.dataset.image_shape),
        "encoder": text_of(spec.model.encoder),
        "latents": text_of(spec.model.latents),
        "likelihood": text_of(spec.model.likelihood),
        "num_latents": spec.model.latents.num_latents,
        "num_steps": spec.num_steps,
    }


def fetch_run(repo_id: str, revision: str | None, name: str | None, folder: Path | str | None) -> Path:
    """Returns the folder of a run that is fetched, or was before: under `folder`, by default in unbraid's cache."""
    prefix = "" if name is None else f"{name}/"
    snapshot = fetch(repo_id, revision, [prefix + pattern for pattern in PATTERNS])
    source = snapshot / prefix
    if not (source / "config.json").is_file():
        what = "holds no run at its top" if name is None else f"has no run {name!r}"
        raise RunError(
            f"{repo_id} {what} (there is no {prefix}config.json). Of a zoo, name one of its runs, Run.from_hub(..., "
            "name=...), or take all: Study.from_hub."
        )
    cache = files.cache_folder() / "hub" / repo_id.replace("/", "--") / snapshot.name[:12]
    return placed(source, cache if folder is None else files.folder_path(folder))


def placed(source: Path, parent: Path) -> Path:
    """Returns the folder of a run below `parent`, made of what was fetched into `source`. One that is there already is
    kept, if it is the same run.
    """
    name = read_record(source / "config.json").get("name")
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise RunError(f"{source / 'config.json'} names no run ({name!r}). Push the run again.")
    target = parent / name
    if target.exists():
        if RunFiles(target).checksums != _checksums(source):
            raise RunError(f"{target} exists, and is not the run that was fetched. Name another folder.")
        return target
    begun = parent / f".{uuid.uuid4().hex}"
    for path, where in _files_in(source):
        files.write_bytes(begun / where, files.read_bytes(path))
    try:
        begun.rename(target)
    except OSError:  # another process was faster
        if not target.exists():
            raise
    return target


def _files_in(source: Path) -> Iterator[tuple[Path, str]]:
    """Yields the files of a run that were fetched, each with its place in the folder of a run."""
    for path in sorted((source / "source").glob("*.py")):
        yield path, f"source/{path.name}"
    for name, on_the_hub in ON_THE_HUB.items():
        if (source / on_the_hub).is_file():
            yield source / on_the_hub, name


def _checksums(source: Path) -> Any:
    return read_record(source / "finished.json").get("sha256")


def _paths_in(content: Any) -> Iterator[str]:
    """Yields the texts in a spec that are absolute paths."""
    if isinstance(content, str) and Path(content).is_absolute():
        yield content
    elif isinstance(content, dict | list):
        for value in content.values() if isinstance(content, dict) else content:
            yield from _paths_in(value)


def as_json(content: Any) -> bytes:
    """Returns content as the bytes of a JSON file."""
    return (json.dumps(content, indent=2, allow_nan=False) + "\n").encode()
