"""What the commands of the Hub do."""

from pathlib import Path

from unbraid import files
from unbraid.cli.options import Trusted
from unbraid.errors import RunError
from unbraid.hub.repository import fetch
from unbraid.runs.run import Run
from unbraid.studies.study import Study
from unbraid.studies.zoo import STUDY, zoo_contents


def pull_into(out: Path, repository: str, name: str | None, revision: str | None, trusted: Trusted) -> str:
    """Puts a run, or all runs of a zoo, below a folder, and returns what to say of it."""
    is_zoo = name is None and (fetch(repository, revision, [STUDY, "config.json"]) / STUDY).is_file()
    if not is_zoo:
        run = Run.from_hub(repository, revision=revision, name=name, folder=out, **trusted)
        return f"The run is in {run.folder}"
    packages = ["unbraid", *trusted["packages"]]
    study = Study.from_hub(repository, out, revision=revision, packages=packages)
    path = out / f"{study.name}.json"
    if path.exists() and Study.load(path, packages=packages) != study:
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
    licence: str | None,
    data_licence: str | None,
) -> None:
    """Writes a zoo into a new folder, as it would be pushed."""
    if target.exists():
        raise RunError(f"{target} exists. Name a new folder with --to.")
    contents = zoo_contents(study, out, repository, codes=codes, licence=licence, data_licence=data_licence)
    for path, content in contents.items():
        files.write_bytes(target / path, content if isinstance(content, bytes) else files.read_bytes(content))
