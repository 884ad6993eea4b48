"""A repository on the Hub: what is pushed to it, and what is fetched from it."""

import contextlib
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypedDict

from unbraid._internal.version import __version__
from unbraid.errors import RunError, SpecError


class PushOptions(TypedDict, total=False):
    """Lists how a run or a study is pushed."""

    private: bool
    """Whether the repository is private, if it is made now. Default: False."""
    revision: str | None
    """The branch to push to, made if there is none. Default: main."""
    codes: bool
    """Whether the codes of the images are pushed. Default: True."""
    license: str | None
    """The license of the weights, as the Hub names it, such as "apache-2.0". Default: none is named."""
    data_license: str | None
    """The license of the data, as the card states it. Default: the published one."""


_NAME = re.compile(r"[\w.-]+/[\w.-]+")


def push(
    repo_id: str,
    contents: Mapping[str, bytes | Path],
    *,
    message: str,
    private: bool = False,
    revision: str | None = None,
) -> str:
    """Puts these contents, bytes or files by their paths, into a repository of models, which is made if there is none,
    and returns the address of the commit. It is one commit, however many files there are: a reader sees all or none.
    """
    check_name(repo_id)
    hub = installed()
    with _told(repo_id, "push to"):
        api = _client(hub)
        api.create_repo(repo_id, private=private, exist_ok=True)
        if revision is not None:
            api.create_branch(repo_id, branch=revision, exist_ok=True)
        operations = [
            hub.CommitOperationAdd(path, content if isinstance(content, bytes) else str(content))
            for path, content in contents.items()
        ]
        # Not upload_folder, which makes several commits of many files.
        commit = api.create_commit(repo_id, operations, commit_message=message, revision=revision)
    return str(commit.commit_url)


def fetch(repo_id: str, revision: str | None = None, patterns: Sequence[str] | None = None) -> Path:
    """Returns a folder with the files of a repository whose paths match, by default all. They are kept in the cache of
    the Hub, from which they are read where there is no network (`HF_HUB_OFFLINE=1`). `revision` is a branch, a tag or
    a commit. The name of the folder is that of the commit.
    """
    check_name(repo_id)
    hub = installed()
    with _told(repo_id, "fetch"):
        api = _client(hub)
        chosen = None if patterns is None else list(patterns)
        return Path(api.snapshot_download(repo_id, revision=revision, allow_patterns=chosen))


def check_name(repo_id: Any) -> None:
    """Refuses what is no name of a repository."""
    if not isinstance(repo_id, str) or not _NAME.fullmatch(repo_id):
        raise SpecError(f"A repository is {repo_id!r}; expected the name of its owner and its own, such as 'me/zoo'.")


def installed() -> Any:
    """Returns the package huggingface_hub, if it is installed."""
    try:
        import huggingface_hub
    except ImportError as error:
        raise SpecError(
            f"The Hub needs the package huggingface_hub ({error}). Install it: pip install 'unbraid[hub]'."
        ) from None
    return huggingface_hub


def _client(hub: Any) -> Any:
    """Returns a client of the Hub, or of the server that HF_ENDPOINT names now."""
    return hub.HfApi(endpoint=os.environ.get("HF_ENDPOINT"), library_name="unbraid", library_version=__version__)


@contextlib.contextmanager
def _told(repo_id: str, verb: str) -> Iterator[None]:
    """Turns an error of the client or of the network into one sentence, and shows no bars."""
    from huggingface_hub.utils import are_progress_bars_disabled, disable_progress_bars, enable_progress_bars

    were_disabled = are_progress_bars_disabled()
    if not were_disabled:
        disable_progress_bars()
    try:
        yield
    # Errors of the client, of its network library, of the disk: which, depends on its version.
    except Exception as error:
        raise RunError(
            f"To {verb} {repo_id} failed: {str(error).strip()}\nCheck its name and revision, that you are logged in "
            "where it is private or yours to write (`hf auth login`), and the network; what was fetched before is read "
            "without one (HF_HUB_OFFLINE=1)."
        ) from error
    finally:
        if not were_disabled:
            enable_progress_bars()
