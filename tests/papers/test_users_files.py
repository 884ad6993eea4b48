"""Items on data that only a user can have: with the files they run, without them they say what is missing."""

from pathlib import Path

import pytest

from tests.papers.official_files import put_cars, put_faces
from unbraid.data import Cars3D, CelebA
from unbraid.errors import DataError
from unbraid.papers.registry import items
from unbraid.papers.running import run_item
from unbraid.studies import StudyOptions

OPTIONS = StudyOptions(device="cpu", num_scorers=0, progress=False)
NEEDY = [item for item in items().values() if item.needs and item.paper in ("kumar2017", "split2020")]


@pytest.mark.parametrize("name", ["split2020/figure6", "kumar2017/table1-celeba", "kumar2017/appendixB-celeba"])
def test_without_the_files_it_says_which_are_needed_and_offers_the_stand_in(name, tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("UNBRAID_DATA", str(tmp_path))
    monkeypatch.setenv("UNBRAID_CACHE", str(tmp_path / "cache"))
    item = items()[name]
    with pytest.raises(DataError) as caught:
        run_item(item, "smoke", tmp_path, OPTIONS)
    assert item.needs in str(caught.value)
    assert item.stand_in in str(caught.value)


@pytest.mark.slow
@pytest.mark.parametrize(("dataset", "put"), [(Cars3D, put_cars), (CelebA, put_faces)])
def test_with_the_files_every_item_runs(dataset, put, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setenv("UNBRAID_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("UNBRAID_CACHE", str(tmp_path / "cache"))
    put(tmp_path / "data")
    ran = 0
    for item in NEEDY:
        if dataset.__name__ not in item.data:
            continue
        found = run_item(item, "smoke", tmp_path / "runs", OPTIONS)
        assert not found.progress.failures, (item.id, found.progress.failures)
        assert found.judgement.num_runs == item.at("smoke").num_runs, item.id
        ran += 1
    assert ran >= 3
