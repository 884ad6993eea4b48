"""A study as a zoo on the Hub."""

import csv
import io
from dataclasses import replace

import pytest
import yaml

from tests.integrations.hub_stand_in import hub, offline, quiet_client  # noqa: F401 - fixtures
from tests.training.runs.finished_runs import SPEC, finish
from tests.training.squares import PACKAGES
from unbraid.errors import RunError
from unbraid.objectives import VAE
from unbraid.studies import Setting, Study, collect
from unbraid.training.runs import Run

pytestmark = quiet_client

STUDY = Study(
    name="squares-zoo",
    question="Which is best?",
    settings=(
        Setting("tc", SPEC, seeds=(0, 1, 2)),
        Setting("plain", replace(SPEC, objective=VAE()), seeds=(0, 1)),
    ),
    metrics=("mig", "sap"),
)


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """All runs of the study but one, with weights that were never trained, and scored."""
    folder = tmp_path_factory.mktemp("study")
    for each in STUDY.runs(folder):
        if (each.setting.label, each.seed) != ("plain", 1):
            finish(each.run, seed=each.seed).score(["mig", "sap"], progress=False)
    return folder


@pytest.fixture
def pushed(runs, hub):  # noqa: F811
    STUDY.push_to_hub("me/zoo", runs, license="apache-2.0")
    repository = hub.repositories["me/zoo"]
    return repository, repository.commits[repository.branches["main"]]


def test_a_study_is_one_repository_with_a_folder_for_each_run_and_one_commit(pushed, runs):
    repository, content = pushed
    assert repository.messages == ["initial commit", "Add the study squares-zoo"]
    finished = [each.name for each in STUDY.runs(runs) if each.run.status == "finished"]
    assert len(finished) == 4
    assert {path.split("/")[0] for path in content if path.endswith("model.safetensors")} == set(finished)
    assert {path for path in content if "/" not in path} == {".gitattributes", "README.md", "study.json", "scores.csv"}


def test_the_scores_of_all_runs_are_one_table(pushed, runs):
    _, content = pushed
    rows = list(csv.DictReader(io.StringIO(content["scores.csv"].decode())))
    values = [row for row in rows if row["quantity"] == "value" and row["metric"] == "mig"]
    assert len(values) == 4
    scores = collect(STUDY, runs)
    for row in values:
        assert float(row["value"]) == scores.values(row["setting"], "mig")[int(row["seed"])]
        assert float(row["low"]) <= float(row["value"]) <= float(row["high"])
        assert f"{row['run']}/model.safetensors" in content


def test_the_card_has_medians_seeds_licenses_pictures_and_how_to_load(pushed):
    _, content = pushed
    _, front, text = content["README.md"].decode().split("---\n", 2)
    data = yaml.safe_load(front)
    assert data["license"] == "apache-2.0"
    assert {"zoo", "beta-tcvae", "vae", "squares"} <= set(data["tags"])
    assert [result["dataset"]["name"] for result in data["model-index"][0]["results"]] == [
        "squares, tc",
        "squares, plain",
    ]
    assert "4 of 5" in text
    assert "| setting |" in text
    assert "| tc |" in text
    assert "0, 1, 2" in text
    assert "data: not stated" in text
    assert 'Study.from_hub("me/zoo", "runs")' in text
    pictures = [path for path in content if path.startswith("traversals/")]
    assert len(pictures) == 2
    assert all(f"]({path})" in text for path in pictures)


def test_a_study_comes_back_with_its_runs_and_their_scores_without_a_network_too(pushed, runs, hub, offline, tmp_path):  # noqa: F811
    again = Study.from_hub("me/zoo", tmp_path / "one", packages=PACKAGES)
    assert again == STUDY
    assert collect(again, tmp_path / "one").numbers == collect(STUDY, runs).numbers
    offline()
    Study.from_hub("me/zoo", tmp_path / "two", packages=PACKAGES)
    run = next(each.run for each in again.runs(tmp_path / "two"))
    assert run.codes() == next(each.run for each in STUDY.runs(runs)).codes()


def test_one_run_of_a_zoo_is_fetched_alone(pushed, runs, hub):  # noqa: F811
    repository, _ = pushed
    wanted = next(each.run for each in STUDY.runs(runs))
    asked = len(hub.requests)
    fetched = Run.from_hub("me/zoo", name=wanted.name, revision=repository.branches["main"], packages=PACKAGES)
    assert fetched.codes() == wanted.codes()
    assert all(wanted.name in each for each in hub.requests[asked:] if "/resolve/" in each)
    with pytest.raises(RunError, match="has no run"):
        Run.from_hub("me/zoo")


def test_a_study_without_a_finished_run_and_a_repository_without_a_study_are_told(hub, finished_run, tmp_path):  # noqa: F811
    with pytest.raises(RunError, match="study 'squares-zoo'"):
        STUDY.push_to_hub("me/zoo", tmp_path / "empty")
    finished_run.push_to_hub("me/one", codes=False)
    with pytest.raises(RunError, match="study.json"):
        Study.from_hub("me/one", tmp_path / "none")


@pytest.fixture
def finished_run(runs):
    return next(each.run for each in STUDY.runs(runs))
