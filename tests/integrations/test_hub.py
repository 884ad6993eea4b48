"""A repository on the Hub, through the real client and a stand-in for its server."""

import sys

import pytest

from tests.integrations.hub_stand_in import hub, offline, quiet_client  # noqa: F401 - fixtures
from unbraid.errors import RunError, SpecError
from unbraid.integrations.hub import fetch, push

pytestmark = quiet_client


def test_what_is_pushed_is_one_commit_and_is_fetched_to_the_bit(hub, tmp_path):  # noqa: F811
    (tmp_path / "large.safetensors").write_bytes(b"tensors" * 1000)
    contents = {"README.md": b"---\ntags: []\n---\n", "a/large.safetensors": tmp_path / "large.safetensors"}
    contents |= {f"runs/{number}.json": str(number).encode() for number in range(300)}
    address = push("me/model", contents, message="Add all")
    made = hub.repositories["me/model"]
    assert made.messages == ["initial commit", "Add all"]
    assert address == f"{hub.url}/me/model/commit/{made.branches['main']}"
    assert len(hub.objects) == 1  # the tensors, as an LFS object
    folder = fetch("me/model")
    assert folder.name == made.branches["main"]
    assert (folder / "a" / "large.safetensors").read_bytes() == b"tensors" * 1000
    assert (folder / "runs" / "299.json").read_bytes() == b"299"


def test_a_revision_is_a_branch_or_a_commit_and_only_what_matches_is_fetched(hub):  # noqa: F811
    push("me/model", {"a.json": b"1", "b.json": b"1"}, message="first")
    first = hub.repositories["me/model"].branches["main"]
    push("me/model", {"a.json": b"2"}, message="second", revision="next")
    chosen = fetch("me/model", first, ["b.json"])
    assert chosen.name == first
    assert [path.name for path in chosen.iterdir()] == ["b.json"]
    assert (fetch("me/model") / "a.json").read_bytes() == b"1"
    assert (fetch("me/model", "next") / "a.json").read_bytes() == b"2"
    with pytest.raises(RunError, match="fetch me/model"):
        fetch("me/model", "nowhere")


def test_what_was_fetched_is_read_without_a_network(hub, offline):  # noqa: F811
    push("me/model", {"a.json": b"1"}, message="first")
    folder = fetch("me/model")
    offline()
    asked = len(hub.requests)
    assert fetch("me/model") == folder
    assert len(hub.requests) == asked
    with pytest.raises(RunError, match="(?s)fetch me/other.*HF_HUB_OFFLINE"):
        fetch("me/other")


def test_a_server_that_is_down_or_a_repository_that_is_not_there_is_told_in_a_sentence(hub):  # noqa: F811
    with pytest.raises(RunError, match="(?s)fetch me/nothing.*hf auth login"):
        fetch("me/nothing")
    hub.is_down = True
    with pytest.raises(RunError, match="(?s)me/model.*the network"):
        push("me/model", {"a.json": b"1"}, message="first")


@pytest.mark.parametrize("name", ["model", "a/b/c", "", None, "me/mo del"])
def test_a_name_without_an_owner_is_refused(name):
    with pytest.raises(SpecError, match="'me/zoo'"):
        push(name, {}, message="")


def test_without_the_package_the_error_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    with pytest.raises(SpecError, match=r"install 'unbraid\[hub\]'"):
        fetch("me/model")
