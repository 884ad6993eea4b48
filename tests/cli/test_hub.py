"""`unbraid push`, `unbraid pull` and `unbraid zoo`."""

import pytest

from tests.integrations.hub_stand_in import hub, quiet_client  # noqa: F401 - fixture
from unbraid.studies import Setting, Study
from unbraid.training.runs import Run

pytestmark = [pytest.mark.usefixtures("_few_metrics"), quiet_client]


def test_a_run_is_pushed_and_pulled(unbraid, trained, hub, tmp_path):  # noqa: F811
    run = Run.open(min(trained.iterdir()))
    run.score("mig", progress=False)
    outcome = unbraid("push", run.folder, "me/tiny", "--license", "apache-2.0")
    assert outcome.code == 0, outcome.err
    assert f"{hub.url}/me/tiny/commit/" in outcome.out
    outcome = unbraid("pull", "me/tiny", "--out", tmp_path / "elsewhere")
    assert outcome.code == 0, outcome.err
    assert str(tmp_path / "elsewhere" / run.name) in outcome.out
    assert Run.open(tmp_path / "elsewhere" / run.name).codes() == run.codes()


def test_a_study_becomes_a_zoo_with_one_command(unbraid, trained, hub, tmp_path):  # noqa: F811
    runs = [Run.open(folder) for folder in sorted(trained.iterdir())]
    for run in runs:
        run.score("mig", progress=False)
    study = Study("tiny", Setting.each({run.spec: None for run in runs}, (0, 1)), metrics=("mig",))
    file = study.save(tmp_path / "study.json")
    outcome = unbraid("zoo", file, "me/zoo", "--out", trained)
    assert outcome.code == 0, outcome.err
    repository = hub.repositories["me/zoo"]
    assert len(repository.messages) == 2
    content = repository.commits[repository.branches["main"]]
    assert sum(path.endswith("model.safetensors") for path in content) == 4
    assert "data: Apache-2.0" in content["README.md"].decode()

    outcome = unbraid("pull", "me/zoo", "--out", tmp_path / "pulled")
    assert outcome.code == 0, outcome.err
    assert "4 runs" in outcome.out
    assert Study.load(tmp_path / "pulled" / "tiny.json") == study
    assert {path.name for path in (tmp_path / "pulled").iterdir() if path.is_dir()} == {run.name for run in runs}
    outcome = unbraid("pull", "me/zoo", runs[0].name, "--out", tmp_path / "one")
    assert [path.name for path in (tmp_path / "one").iterdir()] == [runs[0].name]

    outcome = unbraid("zoo", file, "me/zoo", "--out", trained, "--to", tmp_path / "look", "--no-codes")
    assert outcome.code == 0, outcome.err
    assert (tmp_path / "look" / "README.md").is_file()
    assert not list((tmp_path / "look").rglob("codes.safetensors"))
    assert unbraid("zoo", file, "me/zoo", "--out", trained, "--to", tmp_path / "look").code == 2


def test_what_cannot_be_pushed_or_pulled_is_told(unbraid, trained, hub):  # noqa: F811
    run = min(trained.iterdir())
    assert "owner" in " ".join(unbraid("push", run, "tiny").err.split())
    outcome = unbraid("pull", "me/nothing")
    assert outcome.code == 2
    assert "fetch me/nothing" in outcome.err
