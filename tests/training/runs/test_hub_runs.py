"""Runs on the Hub: pushed with a card, fetched with what they are."""

import hashlib
import json
import pickle
import shutil
from pathlib import Path

import pytest
import torch
import yaml
from safetensors.torch import load_file

from tests.integrations.hub_stand_in import hub, offline, quiet_client  # noqa: F401 - fixtures
from tests.told import warned
from tests.training.runs.finished_runs import SPEC, finish
from tests.training.squares import PACKAGES
from unbraid._internal import files
from unbraid.errors import RunError
from unbraid.metrics import MIG
from unbraid.training.runs import Run
from unbraid.training.runs.hub_runs import contents_of, placed

pytestmark = quiet_client

PLAIN = (".json", ".csv", ".md", ".png", ".safetensors", ".py", ".gitattributes")


@pytest.fixture
def pushed(finished, hub):  # noqa: F811
    """A run with a score, and what its repository holds."""
    finished.score([MIG()], progress=False)
    finished.push_to_hub("me/squares")
    repository = hub.repositories["me/squares"]
    return finished, repository, repository.commits[repository.branches["main"]]


def test_a_run_comes_back_as_it_was(pushed, tmp_path):
    run, _, _ = pushed
    again = Run.from_hub("me/squares", folder=tmp_path / "elsewhere", packages=PACKAGES)
    assert again.folder == tmp_path / "elsewhere" / run.name
    assert (again.spec, again.seed, again.digest, again.status) == (run.spec, run.seed, run.digest, "finished")
    assert again.codes() == run.codes()
    assert again.scores() == run.scores()
    for name, tensor in run.model().state_dict().items():
        assert torch.equal(again.model().state_dict()[name], tensor)


def test_it_is_one_commit_of_plain_files_and_the_weights_are_safetensors(pushed, tmp_path):
    run, repository, content = pushed
    assert repository.messages == ["initial commit", f"Add {run.name}"]
    assert {path for path in content if not path.endswith(PLAIN)} == set()
    (tmp_path / "model.safetensors").write_bytes(content["model.safetensors"])
    assert load_file(tmp_path / "model.safetensors").keys() == run.model().state_dict().keys()
    config = json.loads(content["config.json"])
    assert (config["library_name"], config["seed"], config["image_shape"]) == ("unbraid", 3, [1, 8, 8])


def test_the_card_says_what_people_and_the_hub_ask_for(pushed):
    run, _, content = pushed
    _, front, text = content["README.md"].decode().split("---\n", 2)
    data = yaml.safe_load(front)
    assert data["library_name"] == "unbraid"
    assert {"disentanglement", "beta-tcvae", "squares"} <= set(data["tags"])
    (result,) = data["model-index"][0]["results"]
    assert result["metrics"][0]["type"] == "mig"
    assert result["metrics"][0]["value"] == pytest.approx(run.score([MIG()], progress=False).scores[0].value)
    low, _ = run.named_scores()["mig"].interval
    assert f"{low:.3f}" in text
    for needed in ('Run.from_hub("me/squares")', "| seed | 3 |", "License of the data: not stated", "(traversal.png)"):
        assert needed in text
    assert content["traversal.png"].startswith(b"\x89PNG")


def test_a_run_without_scores_is_scored_first(finished, hub):  # noqa: F811
    finished.push_to_hub("me/squares", license="apache-2.0", data_license="CC0, by me")
    repository = hub.repositories["me/squares"]
    text = repository.commits[repository.branches["main"]]["README.md"].decode()
    assert "| mig |" in text
    assert "license: apache-2.0" in text
    assert "data: CC0" in text


def test_a_revision_is_pushed_and_fetched_by_name_or_commit(pushed, hub):  # noqa: F811
    run, repository, _ = pushed
    first = repository.branches["main"]
    run.push_to_hub("me/squares", revision="second", codes=False)
    assert Run.from_hub("me/squares", revision=first, packages=PACKAGES).codes() == run.codes()
    without = Run.from_hub("me/squares", revision="second", packages=PACKAGES)
    assert without.removed_files == ("codes.safetensors",)
    assert torch.allclose(without.codes().mean, run.codes().mean)
    assert without.score(["mig"], progress=False)["mig"].value == pytest.approx(run.score(["mig"])["mig"].value)
    assert torch.equal(without.model().decode(torch.zeros(1, 3)), run.model().decode(torch.zeros(1, 3)))


def test_it_is_read_again_without_a_network(pushed, hub, offline):  # noqa: F811
    run, *_ = pushed
    first = Run.from_hub("me/squares", packages=PACKAGES)
    offline()
    asked = len(hub.requests)
    again = Run.from_hub("me/squares", packages=PACKAGES)
    assert again.folder == first.folder
    assert again.codes() == run.codes()
    assert len(hub.requests) == asked


def test_what_was_changed_on_the_way_is_refused_where_it_is_read(pushed, hub, tmp_path):  # noqa: F811
    _, repository, content = pushed
    repository.commits[repository.branches["main"]] = content | {"model.safetensors": b"other"}
    with pytest.raises(RunError, match="weights.safetensors"):
        Run.from_hub("me/squares", folder=tmp_path / "elsewhere", packages=PACKAGES)
    assert list((tmp_path / "elsewhere").iterdir()) == []


def test_a_pickle_in_place_of_weights_is_refused_even_with_its_checksum(pushed, hub, tmp_path):  # noqa: F811
    _, repository, content = pushed
    weights = pickle.dumps({"weights": [1.0]})
    record = json.loads(content["finished.json"])
    record["sha256"]["weights.safetensors"] = hashlib.sha256(weights).hexdigest()
    forged = {"model.safetensors": weights, "finished.json": json.dumps(record).encode()}
    repository.commits[repository.branches["main"]] = content | forged
    with pytest.raises(RunError, match="damaged or was changed"):
        Run.from_hub("me/squares", folder=tmp_path / "elsewhere", packages=PACKAGES)


@pytest.mark.parametrize("name", ["scores.json", "environment.json", "source/mine.py", "source"])
def test_a_link_to_a_secret_is_not_pushed(finished, tmp_path, name):
    secret = tmp_path / "secret"
    secret.mkdir()
    (secret / "mine.py").write_text("password")
    link = finished.folder / name
    shutil.rmtree(link, ignore_errors=True)
    link.unlink(missing_ok=True)
    link.parent.mkdir(exist_ok=True)
    link.symlink_to(secret if name == "source" else secret / "mine.py")
    with pytest.raises(RunError, match="is a link"):
        contents_of(finished, codes=True)


def test_a_fetch_that_fails_leaves_no_folder_behind(pushed, tmp_path, monkeypatch):
    _, _, content = pushed
    source, elsewhere = tmp_path / "fetched", tmp_path / "elsewhere"
    for name, each in content.items():
        files.write_bytes(source / name, each)
    elsewhere.mkdir()
    monkeypatch.setattr(Path, "rename", lambda *_: (_ for _ in ()).throw(OSError("no room")))
    with pytest.raises(OSError, match="no room"):
        placed(source, elsewhere)
    assert list(elsewhere.iterdir()) == []


def test_nothing_is_fetched_but_the_files_of_a_run_and_no_name_leads_out_of_the_folder(pushed, hub, tmp_path):  # noqa: F811
    _, repository, content = pushed
    branch, others = repository.branches["main"], {"evil.py": b"", "pytorch_model.bin": b"\x80\x04"}
    repository.commits[branch] = content | others
    fetched = Run.from_hub("me/squares", folder=tmp_path / "elsewhere", packages=PACKAGES)
    assert not list(tmp_path.rglob("evil.py"))
    assert not list(tmp_path.rglob("*.bin"))
    repository.commits["0" * 40] = content | {"source/../../x.py": b""}
    with pytest.raises(RunError, match="'..' path"):  # the client sees to that
        Run.from_hub("me/squares", revision="0" * 40, folder=tmp_path / "third", packages=PACKAGES)
    assert not list(tmp_path.rglob("x.py"))
    assert {path.name for path in fetched.folder.iterdir()} >= {"spec.json", "weights.safetensors"}
    source = tmp_path / "source"
    files.write_json(source / "config.json", {"name": "../escaped-seed0"})
    with pytest.raises(RunError, match="run name"):
        placed(source, tmp_path / "elsewhere")


def test_a_folder_that_holds_another_run_of_that_name_is_left_alone(pushed, tmp_path):
    run, *_ = pushed
    other = finish(Run.place(tmp_path / "elsewhere", SPEC, 3), seed=8)
    assert other.name == run.name
    with pytest.raises(RunError, match="exists"):
        Run.from_hub("me/squares", folder=tmp_path / "elsewhere", packages=PACKAGES)
    assert Run.from_hub("me/squares", folder=run.folder.parent, packages=PACKAGES).folder == run.folder


def test_what_is_not_a_run_is_told(pushed, hub, tmp_path):  # noqa: F811
    with pytest.raises(RunError, match="run 'other-seed0'"):
        Run.from_hub("me/squares", name="other-seed0")
    with pytest.raises(RunError, match="new"):
        contents_of(Run.place(tmp_path, SPEC, 99), codes=True)


def test_a_path_on_this_machine_in_the_spec_is_named(finished, monkeypatch):
    monkeypatch.setattr(type(finished.spec), "to_json", lambda spec: {"dataset": {"root": "/home/me/data"}})
    with warned("machine: /home/me/data"):
        contents_of(finished, codes=True)
