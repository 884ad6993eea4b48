"""Items on data that only a user can have: with the files they run, without them they say what is missing."""

from pathlib import Path

import pytest

from tests.papers.official_files import put_cars, put_chairs, put_faces
from unbraid.data import Cars3D, CelebA, Chairs3D
from unbraid.data.dataset import FactorDataset
from unbraid.errors import DataError
from unbraid.papers.registry import items, papers
from unbraid.papers.running import run_item
from unbraid.studies import StudyOptions

OPTIONS = StudyOptions(device="cpu", num_scorers=0, progress=False)


@pytest.mark.parametrize(
    "name", ["split2020/figure6", "kumar2017/table1-celeba", "kumar2017/appendixB-celeba", "kumar2017/text-chairs"]
)
def test_without_the_files_it_says_which_are_needed_and_offers_the_stand_in(name, tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("UNBRAID_DATA", str(tmp_path))
    monkeypatch.setenv("UNBRAID_CACHE", str(tmp_path / "cache"))
    item = items()[name]
    with pytest.raises(DataError) as caught:
        run_item(item, "smoke", tmp_path, OPTIONS)
    assert item.needs in str(caught.value)
    assert item.stand_in in str(caught.value)


# Of very many items on the same models, those that ask for different things; all run on what stands in for their data.
_DIFFERENT = {"do2020": ("figure10", "table5", "figure12", "figure26")}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("paper", "dataset", "put"),
    [
        ("split2020", Cars3D, put_cars),
        ("kumar2017", CelebA, put_faces),
        ("kumar2017", Chairs3D, put_chairs),
        ("chen2018", CelebA, put_faces),
        ("do2020", CelebA, put_faces),
        ("esmaeili2018", CelebA, put_faces),
        ("chen2018", Chairs3D, put_chairs),
    ],
)
def test_with_the_files_every_item_runs(
    paper: str, dataset: type[FactorDataset], put, tmp_path: Path, monkeypatch
) -> None:
    monkeypatch.setenv("UNBRAID_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("UNBRAID_CACHE", str(tmp_path / "cache"))
    put(tmp_path / "data")
    chosen = [item for item in papers()[paper].items if any(map(_is_of(dataset), item.at("smoke").datasets()))]
    chosen = [item for item in chosen if item.name in _DIFFERENT.get(paper, (item.name,))]
    assert chosen
    for item in chosen:
        found = run_item(item, "smoke", tmp_path / "runs", OPTIONS)
        assert not found.progress.failures, (item.id, found.progress.failures)
        assert found.judgement.num_runs == item.at("smoke").num_runs, item.id
        assert item.pictures is None or isinstance(item.pictures(item.at("smoke"), tmp_path / "runs"), dict), item.id


def _is_of(kind: type[FactorDataset]):
    return lambda dataset: isinstance(dataset, kind)
