"""What the commands of the Hub do."""

from collections.abc import Sequence
from pathlib import Path

from unbraid._internal import files
from unbraid.errors import RunError
from unbraid.integrations.hub import PushOptions, fetch
from unbraid.studies.study import Study
from unbraid.studies.zoo import STUDY, zoo_contents
from unbraid.training.runs.run import Run


def pull_into(out: Path, repository: str, name: str | None, revision: str | None, packages: Sequence[str]) -> str:
    """Puts a run, or all runs of a zoo, below a folder, and returns a message about it."""
    is_zoo = name is None and (fetch(repository, revision, [STUDY, "config.json"]) / STUDY).is_file()
    if not is_zoo:
        run = Run.from_hub(repository, revision=revision, name=name, folder=out, packages=packages)
        return f"The run is in {run.folder}"
    imported = ["unbraid", *packages]
    study = Study.from_hub(repository, out, revision=revision, packages=imported)
    path = out / f"{study.name}.json"
    if path.exists() and Study.load(path, packages=imported) != study:
        raise RunError(f"{path} is another study of that name, and is kept. The runs are in {out}; name another --out.")
    study.save(path)
    num_finished = sum(each.run.status == "finished" for each in study.runs(out))
    return f"{num_finished} runs of the study {study.name} are in {out}, and the study is in {path}"


def write_zoo(
    target: Path,
    study: Study,
    out: Path,
    repository: str,
    *,
    codes: bool,
    weights_license: str | None,
    data_license: str | None,
) -> None:
    """Writes a zoo into a new folder, as it would be pushed."""
    if target.exists():
        raise RunError(f"{target} exists. Name a new folder with --to.")
    options = PushOptions(codes=codes, license=weights_license, data_license=data_license)
    contents = zoo_contents(study, out, repository, options)
    for path, content in contents.items():
        files.write_bytes(target / path, content if isinstance(content, bytes) else files.read_bytes(content))
