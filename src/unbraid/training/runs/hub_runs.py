"""Runs on the Hub: which files of a run are pushed, and how they become the folder of a run again."""

import contextlib
import json
import logging
import os
import re
import shutil
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from safetensors import SafetensorError, safe_open

from unbraid._internal import files
from unbraid._internal.names import kebab_case
from unbraid.config import text_of
from unbraid.errors import CodesError, RunError
from unbraid.integrations.hub.repository import check_name, fetch, installed, push
from unbraid.training.runs.pictures import PICTURES
from unbraid.training.runs.records import read_record, read_spec
from unbraid.training.runs.run import Run
from unbraid.training.runs.run_card import PICTURE, run_card, traversal_picture
from unbraid.training.runs.run_files import RunFiles

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
    PICTURES: PICTURES,
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
    license: str | None = None,
    data_license: str | None = None,
) -> str:
    """Pushes a finished run with its card, in one commit, and returns the address of that."""
    check_name(repo_id)
    installed()
    RunFiles(run.folder).check_finished(_WEIGHTS)
    if not run.named_scores() and _CODES not in run.removed_files:
        with contextlib.suppress(CodesError):  # none of them is defined for these codes
            run.score("mig", progress=False)
    contents, picture = contents_of(run, codes=codes), traversal_picture(run)
    if picture is not None:
        contents[PICTURE] = picture
    card = run_card(run, repo_id, has_picture=picture is not None, license=license, data_license=data_license)
    contents["README.md"] = card.content()
    return push(repo_id, contents, message=f"Add {run.name}", private=private, revision=revision)


def contents_of(run: Run, *, codes: bool) -> dict[str, bytes | Path]:
    """Returns the files of a finished run by their paths on the Hub, checked, with a config."""
    kept = RunFiles(run.folder)
    kept.check_finished(_WEIGHTS)
    left_out = {*kept.removed_files} | (set() if codes else {_CODES})
    found: dict[str, bytes | Path] = {"config.json": as_json(config_of(run))}
    for name, on_the_hub in ON_THE_HUB.items():
        path = run.folder / name
        if name in left_out or not os.path.lexists(path):
            continue
        _check_own(path, run.folder)
        if name in kept.checksums:
            kept.check(path)
        found[on_the_hub] = path
    for path in sorted((run.folder / "source").glob("*.py")):
        _check_own(path, run.folder)
        found[f"source/{path.name}"] = path
    if left_out:
        found["finished.json"] = as_json(
            {**read_record(run.folder / "finished.json"), "removed_files": sorted(left_out)}
        )
    for named in _paths_in(run.spec.to_json()):
        log.warning("The spec of %s, which is pushed with it, names a path on this machine: %s", run.name, named)
    return found


def _check_own(path: Path, folder: Path) -> None:
    """Refuses a link instead of a file of a run: its target was not written by the run, and may be a secret."""
    place = folder.resolve() / path.relative_to(folder)
    if place.resolve() != place or not path.is_file():
        raise RunError(
            f"{path} is a link, or not a regular file, and was not pushed. Expected a file inside the folder of the "
            "run. Put the file itself there, or remove the link."
        )


def config_of(run: Run) -> dict[str, Any]:
    """Returns the facts about a run that other programs may read."""
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
    try:
        for path, where in _files_in(source):
            files.write_bytes(begun / where, files.read_bytes(path))
        _check_fetched(begun, source)
        try:
            begun.rename(target)
        except OSError:  # another process was faster
            if not target.exists():
                raise
    finally:
        shutil.rmtree(begun, ignore_errors=True)
    return target


def _check_fetched(folder: Path, source: Path) -> None:
    """Refuses files that are not what the record of the run has checksums of, and weights or codes that are not
    safetensors, whatever their checksum.
    """
    fetched = RunFiles(folder)
    try:
        read_spec(folder / "spec.json")
        fetched.check_finished(_WEIGHTS)
        for name in {*fetched.checksums, *(path.name for path in folder.glob("*.safetensors"))} - {
            *fetched.removed_files
        }:
            fetched.check(folder / name)
            if name.endswith(".safetensors"):
                with safe_open(folder / name, framework="numpy"):  # which reads its header
                    pass
    except (RunError, SafetensorError) as error:
        raise RunError(
            f"The run in {source} was fetched damaged, or is not what it claims to be: "
            f"{str(error).replace(str(folder), folder.parent.name)} Fetch another revision, or ask its author to push "
            "it again."
        ) from None


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
