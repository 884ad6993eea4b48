"""Runs on the Hugging Face Hub: pushed files, model cards, and fetched runs."""

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
from unbraid._internal.source import is_user_defined
from unbraid._internal.version import __version__
from unbraid.config import text_of
from unbraid.datasets.dataset import FactorDataset
from unbraid.datasets.published.converted import ConvertedDataset
from unbraid.errors import CodesError, RunError, UnbraidError
from unbraid.integrations.hub import PushOptions, Result, check_name, fetch, installed, model_card, push
from unbraid.metrics.score_rows import in_markdown, markdown_table, rows_of
from unbraid.training.runs.pictures import PICTURES
from unbraid.training.runs.run import Run
from unbraid.training.runs.run_folder import RunFolder, read_record, read_spec

log = logging.getLogger(__name__)

_WEIGHTS, _CODES = "weights.safetensors", "codes.safetensors"
_ON_THE_HUB = {
    "spec.json": "spec.json",
    "history.csv": "history.csv",
    "scores.json": "scores.json",
    "environment.json": "environment.json",
    _WEIGHTS: "model.safetensors",
    _CODES: _CODES,
    PICTURES: PICTURES,
    "finished.json": "finished.json",
}
"""File names of a run on the Hub. The weights have the standard name of the Hub."""
PATTERNS = ("config.json", *_ON_THE_HUB.values(), "source/*")
"""Path patterns of the files to fetch for a run. Other files of a repository are not fetched."""
_NAME = re.compile(r"(?!\.)[\w.-]{1,200}-seed[0-9]+")
_PICTURE = "traversal.png"
UNBRAID = "[unbraid](https://pypi.org/project/unbraid)"
PLAIN_FILES = (
    "The weights are safetensors, and all other files are JSON, CSV or Markdown. Nothing is pickled, and loading "
    "executes no code from this repository."
)


def push_run(run: Run, repo_id: str, options: PushOptions) -> str:
    """Pushes a finished run and its model card in one commit, and returns the URL of the commit."""
    check_name(repo_id)
    installed()
    run.check_finished(_WEIGHTS)
    if not run.named_scores() and _CODES not in run.removed_files:
        with contextlib.suppress(CodesError):  # no metric is defined for these codes
            run.score("mig", progress=False)
    contents, picture = contents_of(run, codes=options.get("codes", True)), traversal_picture(run)
    if picture is not None:
        contents[_PICTURE] = picture
    contents["README.md"] = _card(run, repo_id, options, has_picture=picture is not None)
    private, revision = options.get("private", False), options.get("revision")
    return push(repo_id, contents, message=f"Add {run.name}", private=private, revision=revision)


def contents_of(run: Run, *, codes: bool) -> dict[str, bytes | Path]:
    """Returns the files of a finished run by path on the Hub, after verifying the checksums."""
    run.check_finished(_WEIGHTS)
    left_out = {*run.removed_files} | (set() if codes else {_CODES})
    contents: dict[str, bytes | Path] = {"config.json": as_json(_facts(run))}
    for name, on_the_hub in _ON_THE_HUB.items():
        path = run.folder / name
        if name in left_out or not os.path.lexists(path):
            continue
        _check_inside(path, run.folder)
        if name in run.checksums:
            run.check(path)
        contents[on_the_hub] = path
    for path in sorted((run.folder / "source").glob("*.py")):
        _check_inside(path, run.folder)
        contents[f"source/{path.name}"] = path
    if left_out:
        record = read_record(run.folder / "finished.json")
        contents["finished.json"] = as_json({**record, "removed_files": sorted(left_out)})
    for named in _paths_in(run.spec.to_json()):
        log.warning("The pushed spec of %s contains a path on this machine: %s", run.name, named)
    return contents


def _check_inside(path: Path, folder: Path) -> None:
    """Raises an error for a link, because its target may be a secret file that does not belong to the run."""
    place = folder.resolve() / path.relative_to(folder)
    if place.resolve() != place or not path.is_file():
        raise RunError(
            f"{path} is a link, or not a regular file, and was not pushed; expected a file inside the folder of the "
            "run. Replace the link by the file, or remove the link."
        )


def _facts(run: Run) -> dict[str, Any]:
    """Returns facts about a run for its model card and for config.json, which other programs may read."""
    spec = run.spec
    return {
        "library_name": "unbraid",
        "unbraid_version": run.version,
        "name": run.name,
        "digest": run.digest,
        "seed": run.seed,
        "objective": text_of(spec.objective),
        "dataset": text_of(spec.dataset),
        "image_shape": list(spec.dataset.image_shape),
        "encoder": text_of(spec.model.encoder),
        "decoder": None if spec.model.decoder is None else text_of(spec.model.decoder),
        "latents": text_of(spec.model.latents),
        "likelihood": text_of(spec.model.likelihood),
        "num_latents": spec.model.latents.num_latents,
        "num_steps": spec.num_steps,
        "batch_size": spec.batch_size,
    }


def fetch_run(repo_id: str, revision: str | None, name: str | None, folder: Path | str | None) -> Path:
    """Fetches a run to `folder` or the cache of unbraid, unless it exists there. Returns the folder of the run."""
    prefix = "" if name is None else f"{name}/"
    snapshot = fetch(repo_id, revision, [prefix + pattern for pattern in PATTERNS])
    source = snapshot / prefix
    if not (source / "config.json").is_file():
        what = "has no run at its top level" if name is None else f"has no run {name!r}"
        raise RunError(
            f"{repo_id} {what} (there is no {prefix}config.json). For a zoo, pass the name of a run, "
            "Run.from_hub(..., name=...), or fetch all runs with Study.from_hub."
        )
    cache = files.cache_folder() / "hub" / repo_id.replace("/", "--") / snapshot.name[:12]
    return placed(source, cache if folder is None else files.folder_path(folder))


def placed(source: Path, parent: Path) -> Path:
    """Copies the fetched files in `source` to a folder of the run in `parent`, and returns this folder.

    An existing folder with the same run does not change.
    """
    name = read_record(source / "config.json").get("name")
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise RunError(f"{source / 'config.json'} has the run name {name!r}; expected a name. Push the run again.")
    target = parent / name
    if target.exists():
        if RunFolder(target).checksums != read_record(source / "finished.json").get("sha256"):
            raise RunError(f"{target} exists and has another run than the fetched run. Choose another folder.")
        return target
    unfinished = parent / f".{uuid.uuid4().hex}"
    try:
        for path in sorted((source / "source").glob("*.py")):
            files.write_bytes(unfinished / "source" / path.name, files.read_bytes(path))
        for file, on_the_hub in _ON_THE_HUB.items():
            if (source / on_the_hub).is_file():
                files.write_bytes(unfinished / file, files.read_bytes(source / on_the_hub))
        _check_fetched(unfinished, source)
        try:
            files.move_folder(unfinished, target)
        except OSError:  # another process may have created the folder
            if not target.exists():
                raise
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)
    return target


def _check_fetched(folder: Path, source: Path) -> None:
    """Checks the recorded checksums of fetched files, and that weights and codes are safetensors."""
    fetched = RunFolder(folder)
    try:
        read_spec(folder / "spec.json")
        fetched.check_finished(_WEIGHTS)
        names = {*fetched.checksums, *(path.name for path in folder.glob("*.safetensors"))}
        for name in names - {*fetched.removed_files}:
            fetched.check(folder / name)
            if name.endswith(".safetensors"):
                with safe_open(folder / name, framework="numpy"):  # reads the header of the file
                    pass
    except (RunError, SafetensorError) as error:
        raise RunError(
            f"The fetched run in {source} is damaged or was changed: "
            f"{str(error).replace(str(folder), folder.parent.name)} Fetch another revision, or ask the author to push "
            "the run again."
        ) from None


def _paths_in(content: Any) -> Iterator[str]:
    """Yields the absolute paths in a spec."""
    if isinstance(content, str) and Path(content).is_absolute():
        yield content
    elif isinstance(content, dict | list):
        for value in content.values() if isinstance(content, dict) else content:
            yield from _paths_in(value)


def as_json(content: Any) -> bytes:
    """Converts content to the bytes of a JSON file."""
    return (json.dumps(content, indent=2, allow_nan=False) + "\n").encode()


def _card(run: Run, repo_id: str, options: PushOptions, *, has_picture: bool) -> bytes:
    """Returns the model card of a run: settings, scores, data and loading instructions."""
    spec, scores = run.spec, run.named_scores()
    objective, dataset = kebab_case(type(spec.objective)), dataset_name(spec.dataset)
    how_to_load = (
        "```python\n"
        "from unbraid import Run  # pip install 'unbraid[hub]'\n\n"
        f'run = Run.from_hub("{repo_id}")\n'
        "model, codes = run.model(), run.codes()\n"
        'run.traverse().save("traversal.png")\n'
        "```\n\n"
        f"The run was pushed by unbraid {__version__}."
    )
    rows = [
        row
        for name, score in scores.items()
        for row in rows_of(name, score, higher_is_better=None)
        if row.quantity == "value"
    ]
    table = (
        markdown_table(rows) + "\n\nIntervals are over images, for this one model." if rows else "None were computed."
    )
    known = {name.replace("_", " "): value for name, value in _facts(run).items() if value is not None}
    facts = "\n".join(f"| {name} | {in_markdown(str(value))} |" for name, value in known.items())
    parts = [
        f"# {run.name}",
        f"A model of {UNBRAID}, trained by {objective} on {dataset}.",
        *([f"![Each row varies one latent and keeps all other latents constant.]({_PICTURE})"] if has_picture else []),
        f"## Usage\n\n{how_to_load}",
        f"## Scores\n\n{table}",
        f"## Data\n\n{license_text(spec.dataset, options.get('data_license'))}",
        f"## Training\n\n| | |\n|---|---|\n{facts}",
        PLAIN_FILES,
    ]
    results = [Result(dataset, name, score.value) for name, score in scores.items()]
    return model_card(run.name, [objective, dataset], results, "\n\n".join(parts), options.get("license"))


def traversal_picture(run: Run) -> bytes | None:
    """Returns the traversal picture of a model card, or None without codes or images."""
    with contextlib.suppress(UnbraidError):
        return run.traverse().png()
    return None


def dataset_name(dataset: FactorDataset) -> str:
    """Returns the name of the dataset in kebab case, as on the command line."""
    return kebab_case(type(dataset), FactorDataset)


def license_text(dataset: FactorDataset, data_license: str | None) -> str:
    """Describes the dataset and its license. `data_license` replaces the published license."""
    number = f"{dataset.num_images:,} images of {' x '.join(map(str, dataset.image_shape))}"
    named = f"`{dataset_name(dataset)}`, {number} (channels x height x width)."
    if data_license is not None:
        return f"{named} License of the data: {in_markdown(data_license)}"
    if isinstance(dataset, ConvertedDataset):
        publication = dataset.publication
        note = f" {publication.license_note}" if publication.license_note else ""
        return (
            f"{named} {in_markdown(publication.title)} ({publication.homepage}). License of the data: "
            f"{publication.license}.{note}"
        )
    if not is_user_defined(type(dataset)) and dataset.origin == "drawn":
        return f"{named} The images are drawn by unbraid. License of the data: Apache-2.0."
    return f"{named} The author of the run provided the images. License of the data: not stated."
