"""Evidence: numbers that were carried over, verdicts that follow from it, and files that are refused."""

import hashlib
import json
from pathlib import Path

import pytest

from reproductions.catalogue import items
from reproductions.evidence import FOLDER, file_of, find, find_all, keep
from unbraid._internal import files
from unbraid.errors import UnbraidError
from unbraid.studies import Evidence

EARLIER = json.loads(Path(__file__).with_name("evidence_numbers.json").read_text())
ALL = [found for item in items().values() for key in item.on for found in find_all(item, key)]
FOUND = {(found.item.id, found.data): found for found in ALL if found.scale != "laptop"}


@pytest.mark.parametrize("name", EARLIER)
def test_every_number_is_what_it_was_before_evidence_was_carried_over(name):
    content = json.loads((FOLDER / name).read_text())
    numbers = [
        json.dumps([run["setting"], run["seed"], value])
        for run in content["runs"]
        for by_part in run["numbers"].values()
        for value in by_part.values()
    ]
    digest = hashlib.sha256("\n".join(sorted(numbers)).encode()).hexdigest()
    assert [len(numbers), digest] == EARLIER[name]


def test_all_evidence_belongs_to_an_item():
    names = {path.relative_to(FOLDER).as_posix() for path in FOLDER.glob("*/*.json") if path.parent.name != "studies"}
    known = {file_of(f.item, f.data, f.scale, FOLDER).relative_to(FOLDER).as_posix() for f in ALL}
    assert names == known


@pytest.mark.parametrize(
    ("name", "data", "verdict"),
    [
        ("chen2018/figure5a", "tables", "checked definition"),
        ("chen2018/table2", "counted", "checked definition"),
        ("chen2018/table1", "codes", "in part"),
        ("chen2018/figure2a", "dsprites", "undecided"),
        ("do2020/table1", "none", "in part"),
        ("do2020/table8", "dsprites", "undecided"),
        ("kumar2017/appendixB", "dsprites", "checked definition"),
        ("kumar2017/table4", "faces", "not reproduced"),
        ("do2020/table3", "none", "checked definition"),
        ("do2020/table4", "none", "checked definition"),
        ("esmaeili2018/table1", "none", "checked definition"),
        ("esmaeili2018/table3", "none", "checked definition"),
        ("esmaeili2018/figure3", "mnist", "undecided"),
        ("do2020/figure2", "dsprites", "undecided"),
        ("split2020/lemmas", "dsprites", "in part"),
    ],
)
def test_verdicts_say_what_was_tested(name, data, verdict):
    assert FOUND[name, data].judged.verdict == verdict


def test_a_stand_in_is_named_in_the_verdict():
    assert "stand-in (attribute faces (drawn))" in FOUND["kumar2017/table4", "faces"].verdict


def test_claims_that_were_changed_after_scores_were_known_are_marked(tmp_path):
    found = FOUND["chen2018/table2", "counted"]
    assert found.claims_changed
    keep(found.item, found.data, found.scale, found.scores, tmp_path, seconds=1.0)
    [again] = [find(found.item, found.data, found.scale, tmp_path)]
    assert not again.claims_changed
    assert again.judged.verdict == found.judged.verdict


def test_evidence_of_another_definition_is_refused(tmp_path):
    found = FOUND["chen2018/table2", "counted"]
    path = file_of(found.item, found.data, found.scale, tmp_path)
    path.parent.mkdir(parents=True)
    Evidence(found.item.id, found.scores, {"measured": "another"}).save(path)
    with pytest.raises(UnbraidError, match="another definition of chen2018/table2"):
        find(found.item, found.data, found.scale, tmp_path)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("settings", ["VAE"]),
        ("settings", [[1, "VAE"]]),
        ("settings", [["another", "VAE"]]),
        ("metrics", {"mig": True}),
        ("metrics", []),
        ("made_by", "someone"),
    ],
)
def test_odd_evidence_is_refused_with_its_file_and_field(field, value, tmp_path):
    found = FOUND["chen2018/table2", "counted"]
    path = keep(found.item, found.data, found.scale, found.scores, tmp_path, seconds=1.0)
    content = json.loads(path.read_text()) | {field: value}
    content.pop("sha256")
    path.write_text(json.dumps({**content, "sha256": files.seal(content)}))
    with pytest.raises(UnbraidError, match=f"{path.name} .*the field '(setting|numbers|{field})'"):
        find(found.item, found.data, found.scale, tmp_path)
