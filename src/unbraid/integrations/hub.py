"""Repositories on the Hugging Face Hub: upload, download, and model cards."""

import contextlib
import math
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypedDict, final

from unbraid._internal.version import __version__
from unbraid.errors import RunError, SpecError


class PushOptions(TypedDict, total=False):
    """Options of `push_to_hub` of a run or a study."""

    private: bool
    """Whether a new repository is private. Default: False."""
    revision: str | None
    """The target branch. A missing branch is created. Default: main."""
    codes: bool
    """Whether the codes of the images are pushed. Default: True."""
    license: str | None
    """The license of the weights by its Hub identifier, such as "apache-2.0". Default: none."""
    data_license: str | None
    """The license of the data on the model card. Default: the published license of the dataset."""


_NAME = re.compile(r"[\w.-]+/[\w.-]+")


def push(
    repo_id: str,
    contents: Mapping[str, bytes | Path],
    *,
    message: str,
    private: bool = False,
    revision: str | None = None,
) -> str:
    """Pushes files to a repository in one commit. Returns the URL of the commit.

    `contents` has the content (or a local file) of each path in the repository. A missing repository is created.
    """
    check_name(repo_id)
    hub = installed()
    with _readable_errors(repo_id, "push to"):
        api = _client(hub)
        api.create_repo(repo_id, private=private, exist_ok=True)
        if revision is not None:
            api.create_branch(repo_id, branch=revision, exist_ok=True)
        operations = [
            hub.CommitOperationAdd(path, content if isinstance(content, bytes) else str(content))
            for path, content in contents.items()
        ]
        # upload_folder would make several commits for many files.
        commit = api.create_commit(repo_id, operations, commit_message=message, revision=revision)
    return str(commit.commit_url)


def fetch(repo_id: str, revision: str | None = None, patterns: Sequence[str] | None = None) -> Path:
    """Downloads the files of a repository to the cache of the Hub. Returns the folder, which is named by the commit.

    Cached files can be read without a network (`HF_HUB_OFFLINE=1`).

    Args:
        repo_id: The repository, such as "owner/name".
        revision: A branch, a tag or a commit.
        patterns: The patterns of paths to fetch. Default: all paths.
    """
    check_name(repo_id)
    hub = installed()
    with _readable_errors(repo_id, "fetch"):
        chosen = None if patterns is None else list(patterns)
        return Path(_client(hub).snapshot_download(repo_id, revision=revision, allow_patterns=chosen))


def check_name(repo_id: Any) -> None:
    """Raises SpecError if `repo_id` is not a valid repository name, such as "me/zoo"."""
    if not isinstance(repo_id, str) or not _NAME.fullmatch(repo_id):
        raise SpecError(f"Expected a repository as 'owner/name', got {repo_id!r}. Pass for example 'me/zoo'.")


def installed() -> Any:
    """Imports and returns huggingface_hub. Raises SpecError if the package is not installed."""
    try:
        import huggingface_hub
    except ImportError as error:
        raise SpecError(
            f"The Hub requires the package huggingface_hub ({error}). Install it: pip install 'unbraid[hub]'."
        ) from None
    return huggingface_hub


def _client(hub: Any) -> Any:
    """Returns a client of the Hub, or of the server in the environment variable HF_ENDPOINT."""
    return hub.HfApi(endpoint=os.environ.get("HF_ENDPOINT"), library_name="unbraid", library_version=__version__)


@contextlib.contextmanager
def _readable_errors(repo_id: str, verb: str) -> Iterator[None]:
    """Converts errors of the client to a RunError with advice, and hides progress bars, inside the block."""
    from huggingface_hub.utils import are_progress_bars_disabled, disable_progress_bars, enable_progress_bars

    were_disabled = are_progress_bars_disabled()
    if not were_disabled:
        disable_progress_bars()
    try:
        yield
    # The classes of errors depend on the version of the client.
    except Exception as error:
        raise RunError(
            f"Could not {verb} {repo_id}: {str(error).strip()}\nCheck the name, the revision and the network. For a "
            "private repository or a push, log in with `hf auth login`. To read cached files without a network, set "
            "HF_HUB_OFFLINE=1."
        ) from error
    finally:
        if not were_disabled:
            enable_progress_bars()


@final
@dataclass(frozen=True)
class Result:
    """A score in the metadata of a model card. `setting` is empty for a single run."""

    dataset: str
    metric: str
    value: float
    setting: str = ""


def model_card(
    name: str, tags: Sequence[str], results: Sequence[Result], text: str, license_id: str | None = None
) -> bytes:
    """Returns the content of README.md: metadata for the Hub, and a text in Markdown.

    Results that are not finite are left out of the metadata.
    """
    hub = installed()
    finite = [
        hub.EvalResult(
            task_type="feature-extraction",
            task_name="Disentanglement",
            dataset_type=result.dataset,
            dataset_config=result.setting or None,  # distinguishes results on one dataset
            dataset_name=f"{result.dataset}, {result.setting}" if result.setting else result.dataset,
            metric_type=result.metric,
            metric_value=result.value,
        )
        for result in results
        if math.isfinite(result.value)
    ]
    data = hub.ModelCardData(
        library_name="unbraid",
        license=license_id,
        tags=["unbraid", "disentanglement", "representation-learning", *tags],
        model_name=name,
        eval_results=finite or None,
        ignore_metadata_errors=False,
    )
    return f"---\n{data.to_yaml()}\n---\n\n{text.strip()}\n".encode()
