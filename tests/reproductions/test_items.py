"""Every item: what it is, what it asks for, and that its smallest scale runs."""

import ast
import contextlib
from pathlib import Path
from types import SimpleNamespace

import pytest

import reproductions
from docs.hooks.reference import pages as public_modules
from reproductions.catalogue import NAMES, find_items, items, paper
from reproductions.item import Code, Data, Item
from reproductions.pages import figure_of
from reproductions.rows import claims_of, controls_of
from reproductions.running import run_item
from reproductions.scales import SMOKE, experiment_of
from tests.test_exported_names import SOURCE, exports
from unbraid import MLP, Autoencoder, DSprites, RunSpec
from unbraid.errors import DataError, SpecError, UnbraidError
from unbraid.studies import StudyOptions, computed

pytestmark = pytest.mark.slow

FOLDER = Path(reproductions.__file__).parent
ALL = [(item, key) for item in items().values() for key in item.on]
COMPUTED = [(item, key) for item, key in ALL if item.code.compute is not None]
TRAINED = [(item, key) for item, key in ALL if (item, key) not in COMPUTED and not item.on[key].needs]
OPTIONS = StudyOptions(device="cpu", num_scorers=0, progress=False)


def ids(pairs):
    return [f"{item.id}-{key}" for item, key in pairs]


def test_no_table_or_figure_of_the_catalogue_is_lost():
    for wanted in (FOLDER / "catalogue_ids.txt").read_text().split():
        found = [name for name in items() if name == wanted or name.removeprefix(wanted) in ("a", "b", "c")]
        assert found, wanted


@pytest.mark.parametrize("name", NAMES)
def test_every_item_has_the_words_of_the_paper_and_their_place(name):
    for item in paper(name).items:
        assert item.place
        assert item.quote or item.is_ours or item.place == "no claim of the paper", item.id
        assert item.on
        for data in item.on.values():
            assert all(setting.count(" | ") == 2 for setting in data.settings), item.id


@pytest.mark.parametrize(("item", "key"), ALL, ids=ids(ALL))
def test_claims_are_about_settings_that_the_item_has(item, key):
    for scale in item.on[key].scales[1:]:
        experiment = experiment_of(item, key, scale)
        labels, claims = set(experiment.seeds), claims_of(item, key, scale)
        has_central = any(claim.central for claim in claims)
        assert has_central or all(isinstance(claim.quantity, computed) for claim in claims), "which claim is central?"
        for claim in (*claims, *controls_of(item, key, scale)):
            assert set(claim.quantity.settings_used) <= labels
        if experiment.settings:
            assert experiment.made_study("name").num_runs > 0


@pytest.mark.parametrize(("item", "key"), COMPUTED, ids=ids(COMPUTED))
def test_what_is_computed_runs_at_the_smallest_scale(item, key, tmp_path):
    if item.on[key].needs or item.id == "split2020/lemmas":
        pytest.skip("needs files, or trains models")
    ran = run_item(item, key, "smoke", tmp_path, OPTIONS)
    assert not ran.failures
    assert ran.evidence is None
    assert ran.found.num_runs == ran.found.num_asked
    again = run_item(item, key, "smoke", tmp_path, OPTIONS)
    assert repr(again.found.scores.numbers) == repr(ran.found.scores.numbers)


@pytest.mark.slow
def test_an_item_is_trained_scored_judged_and_nothing_is_trained_twice(tmp_path):
    item = items()["chen2018/figure3a"]
    ran = run_item(item, "dsprites", "smoke", tmp_path, OPTIONS)
    assert not ran.failures
    assert ran.found.num_runs == ran.found.num_asked == 22
    assert ran.found.numbers["FactorVAE"]["mig"].keys() == {0, 1}
    assert ran.found.judged.verdict == "undecided"  # two seeds decide nothing
    again = run_item(item, "dsprites", "smoke", tmp_path, OPTIONS)
    assert repr(again.found.scores.numbers) == repr(ran.found.scores.numbers)


@pytest.mark.slow
@pytest.mark.parametrize(("item", "key"), TRAINED, ids=ids(TRAINED))
def test_every_item_without_files_of_the_user_runs_at_the_smallest_scale(item, key, tmp_path):
    ran = run_item(item, key, "smoke", tmp_path, OPTIONS)
    assert not ran.failures
    assert ran.found.num_runs == ran.found.num_asked
    with contextlib.suppress(UnbraidError):  # metrics of the smallest scale may have other settings
        figure_of(ran.found)


def test_missing_files_are_named_with_the_stand_in(tmp_path, monkeypatch):
    monkeypatch.setenv("UNBRAID_DATA", str(tmp_path))
    with pytest.raises(DataError, match=r"chen2018/figure2b needs basel_face_renders(.|\n)*--data shaded-faces"):
        run_item(items()["chen2018/figure2b"], "basel-faces", "smoke", tmp_path, OPTIONS)


def test_an_unknown_item_is_refused():
    with pytest.raises(SpecError, match="'chen2018/figure99'"):
        find_items(["chen2018/figure99"])


def test_only_documented_names_of_the_package_are_imported():
    for path in FOLDER.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            assert not isinstance(node, ast.Import) or not any("unbraid" in alias.name for alias in node.names), path
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("unbraid"):
                folder = SOURCE.joinpath(*node.module.split(".")[1:], "__init__.py")
                # Names that a folder exports are in the reference, and so is all of the modules that are listed there.
                known = exports(folder) if folder.exists() else {}
                unknown = [a.name for a in node.names if a.name not in known and not folder.with_name(a.name).is_dir()]
                assert not unknown or node.module in public_modules(), (path, node.module, unknown)


def test_a_run_keeps_its_scores_and_pictures_as_evidence_and_judges_them(tmp_path):
    images = DSprites(resolution=32, shapes=("heart",), num_scales=1, num_orientations=1, num_positions=4)
    code = Code(
        lambda data, scale, label: RunSpec(images, Autoencoder(MLP((8,), (8,))), num_steps=2, batch_size=8),
        pictures=lambda experiment, study, folder: {"shown": b"a picture"},
    )
    hearts = Data("hearts", {"quick": 1.0}, models=["VAE"], seeds=2)
    claims = ({"text": "MIG is above 0.", "median": ["mig", "VAE"], "above": 0.0, "central": True},)
    item = Item(
        "chen2018/tiny", "", "words", "place", {"hearts": hearts}, code, SimpleNamespace(LAPTOP=SMOKE), claims=claims
    )
    ran = run_item(item, "hearts", "quick", tmp_path / "runs", OPTIONS, evidence=tmp_path / "kept")
    assert not ran.failures
    assert ran.evidence == tmp_path / "kept/chen2018/tiny-quick.json"
    assert [path.read_bytes() for path in ran.found.pictures] == [b"a picture"]
    assert ran.found.num_runs == 2
    assert ran.found.judged.verdict == "undecided"  # two seeds decide nothing
    [made] = ran.found.made_by
    assert made["command"].startswith("python -m reproductions run chen2018/tiny --data hearts --scale quick")
    assert not ran.found.claims_changed
