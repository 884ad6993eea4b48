"""A small audit, whole: what it measures, its page and its file."""

import dataclasses
import json
import math
import re
from contextlib import closing
from dataclasses import replace

import pytest

from benchmarks.audit import SIZES, Audit, Size, audit, rows_of, write_audit_page
from benchmarks.audit.auditing import audited_metrics, coming
from benchmarks.audit.auditor import measure
from benchmarks.audit.contents import Contents
from benchmarks.audit.variations import left_out, variations
from tests.metrics.fakes import CountFactors
from tests.training.squares import MLP_SPEC
from unbraid._internal.worker_pool import WorkerPool
from unbraid.errors import SpecError, UnbraidError
from unbraid.metrics import DCI, MCC, MIG, Downstream
from unbraid.metrics.selection import registry
from unbraid.training import TrainingOptions, train

pytestmark = pytest.mark.slow

SMALL = Size(60, 1, 2, 2, 1, is_whole=False)


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    """An audit along two snapshots: of metrics that take attributes alone, take none of the codes, have a part."""
    [run] = train(
        replace(MLP_SPEC, num_steps=2),
        folder=tmp_path_factory.mktemp("runs"),
        options=TrainingOptions(snapshots=[1]),
        progress=False,
    )
    names = "mcc,sap:num_train=20,attribute-vector,cluster-accuracy,minimality"
    return audit(names, runs=[run], size=SMALL, num_processes=0, packages=["tests"], progress=False)


def test_known_truth_is_found(found):
    rows = {row.metric.name: row for row in rows_of(found)}
    mcc = rows["mcc"].cells
    assert mcc["range"].mark == "good"
    assert mcc["turned"].value == pytest.approx((1 + 2 * math.cos(math.radians(40))) / 3, abs=0.08)
    assert mcc["copied"].mark == "bad"  # a one-to-one assignment does not see copies
    assert mcc["unused"].value == pytest.approx(1.0, abs=1e-3)
    assert mcc["dropped"].value < 0.5
    assert (mcc["merged"].mark, mcc["merged"].text, mcc["folded"].mark) == ("none", "–", "bad")  # it reads lines alone
    assert mcc["own seed"].text == "none"
    assert mcc["training"].text.endswith("%")


def test_a_part_that_papers_report_is_audited(found):
    rows = {row.metric.name: row.cells for row in rows_of(found)}
    assert rows["minimality"]["dropped"].mark == "bad"  # what is left is of one factor each
    assert rows["minimality sufficiency"]["dropped"].value == pytest.approx(1 / 3, abs=0.1)
    assert rows["minimality sufficiency"]["measured"].text == "refuses"
    assert rows["minimality sufficiency"]["merged"].mark == "bad"  # a latent of two factors is sufficient for both
    assert rows["minimality"]["merged"].value == pytest.approx(0.5, abs=0.1)
    assert rows["minimality sufficiency"]["settings"].text != "none"


def test_metrics_are_shown_codes_that_they_take(found):
    dresses = {one.name: one.dress for one in found.metrics}
    assert dresses["attribute-vector"] == "halves"
    assert dresses["cluster-accuracy"] == ""
    assert "discrete latents" in next(one.refusal for one in found.metrics if not one.dress)


def test_the_page_has_the_figure_behind_each_cell(found, tmp_path):
    page = write_audit_page(found, tmp_path / "audit.html").read_text()
    anchors = set(re.findall(r'id="([^"]+)"', page))
    links = set(re.findall(r'href="#([^"]+)"', page))
    assert links <= anchors
    assert "mcc-turned" in links
    assert "<script" not in page
    assert "cluster-accuracy</b> (" in page
    assert "http" not in page.replace("http-equiv", "")


def test_an_audit_is_kept_and_read(found):
    again = Audit.from_json(found.to_json())
    assert again.to_json() == found.to_json()
    assert [row.verdict for row in rows_of(again)] == [row.verdict for row in rows_of(found)]
    with pytest.raises(UnbraidError, match="no audit"):
        Audit.from_json("{}")


def test_every_listed_metric_is_audited():
    assert {type(metric) for metric in audited_metrics(None).values()} == set(registry().values())
    with pytest.raises(SpecError, match="scores models"):
        audited_metrics("mig,elbo")


def test_settings_are_changed_one_at_a_time():
    names = set(variations(MIG(), 500))
    assert {"mig:quantized", "mig:uniform"} <= names
    assert "mig" not in names
    assert "mig:levels" not in names  # drawn codes have no value twice
    assert "dci:boosted_trees" in variations(DCI(), 500)
    assert "downstream:boosted_trees" in variations(Downstream(), 500)
    assert "dci:boosted_trees" not in variations(DCI(), 10_000)
    assert left_out(DCI(), 10_000) == ["dci:boosted_trees"]
    assert any(each.seed == DCI().seed for each in variations(DCI(), 500).values())
    assert MCC() not in variations(MCC(), 500).values()


def recorded(orders):
    """What to patch so that the orders of an audit are recorded."""
    return "benchmarks.audit.auditor.measure", lambda order, beat: orders.append(order) or measure(order, beat)


@pytest.mark.slow  # a process imports torch
def test_a_process_answers_and_says_what_went_wrong():
    with closing(WorkerPool("benchmarks.audit.auditor:measure", [{}])) as workers:
        workers.submit("x", {})
        [ended] = workers.wait(100)
    assert (ended.task_id, ended.how, ended.reason.startswith("KeyError")) == ("x", "raised", True)


def test_a_snapshot_that_cannot_be_read_is_told_before_the_rest_is_measured(tmp_path, monkeypatch):
    [run] = train(
        replace(MLP_SPEC, num_steps=2), folder=tmp_path, options=TrainingOptions(snapshots=[1]), progress=False
    )
    next(run.folder.glob("snapshots/*.safetensors")).write_bytes(b"")
    asked = []
    monkeypatch.setattr(*recorded(asked))
    with pytest.raises(UnbraidError, match="snapshot .* Restore"):
        audit("mcc", runs=[run], size=SMALL, num_processes=0, packages=["tests"], progress=False)
    assert asked[0]["codes"]["step"] == 1


def test_an_audit_goes_on_where_it_ended(found, monkeypatch):
    asked = []
    monkeypatch.setattr(*recorded(asked))
    kept = []
    more = audit("mcc,top-attributes", size=SMALL, num_processes=0, earlier=found, keep=kept.append, progress=False)
    assert not any("mcc" in order["metrics"] for order in asked)
    first, *_, second = rows_of(more)
    assert first.cells["turned"] == rows_of(found)[0].cells["turned"]
    assert second.cells["range"].mark == "good"
    assert kept[-1].to_json() == more.to_json()


def test_an_audit_of_another_size_or_version_is_refused_by_name(found):
    quick = replace(found, size=dataclasses.asdict(SIZES["quick"]))
    with pytest.raises(SpecError, match="quick, and full"):
        audit("mcc", num_processes=0, earlier=quick)
    with pytest.raises(SpecError, match=r"size Size\(num_images=60"):
        audit("mcc", size=replace(SMALL, num_images=70), num_processes=0, earlier=found)
    with pytest.raises(SpecError, match="unbraid 0.0.1"):
        audit("mcc", size=SMALL, num_processes=0, earlier=replace(found, version="0.0.1"))


@pytest.mark.parametrize("error", [KeyboardInterrupt, UnbraidError])
def test_what_was_measured_outlives_an_audit_that_is_stopped(error, monkeypatch):
    asked, kept = [], []

    def stopped(order, beat):
        asked.append(order)
        if len(asked) == 4:
            raise error
        return measure(order, beat)

    monkeypatch.setattr("benchmarks.audit.auditor.measure", stopped)
    with pytest.raises(error):
        audit("mcc", size=SMALL, num_processes=0, keep=kept.append, progress=False)
    assert [len(each.measurements) for each in kept] == [3]
    asked.clear()
    monkeypatch.setattr(*recorded(asked))
    undisturbed = audit("mcc", size=SMALL, num_processes=0, progress=False)
    num_asked = len(asked)
    # Another command with what was kept: the metric that was left unfinished is finished, and not begun again.
    more = audit("top-attributes", size=SMALL, num_processes=0, earlier=kept[0], progress=False)
    assert sum("MCC" in str(order["metrics"]) for order in asked[num_asked:]) == num_asked - 3
    assert rows_of(more)[0].cells["turned"] == rows_of(undisturbed)[0].cells["turned"]


def test_nothing_is_kept_of_an_audit_that_measured_nothing(monkeypatch):
    kept = []
    monkeypatch.setattr("benchmarks.audit.auditor.measure", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt):
        audit("mcc", size=SMALL, num_processes=0, keep=kept.append, progress=False)
    assert kept == []


def test_what_an_audit_will_hold_is_known_and_refused_before_it_begins(found):
    assert coming("mcc", [], SMALL, None).metrics == {"mcc"}
    assert coming("top-attributes", [], SMALL, found).metrics == {*Contents.of(found).metrics, "top-attributes"}
    assert coming(None, [], SMALL, found).snapshots == Contents.of(found).snapshots != frozenset()
    for metrics in ("", "mig,,sap", " ; "):
        with pytest.raises(SpecError, match="empty; expected names"):
            coming(metrics, [], SMALL, None)
    with pytest.raises(SpecError, match="'quick' or 'full'"):
        coming("mcc", [], "huge", None)
    with pytest.raises(SpecError, match="has size"):
        coming("mcc", [], "full", found)


def test_a_metric_of_ones_own_is_read_by_naming_its_package():
    kept = audit([CountFactors()], size=SMALL, num_processes=0, packages=["tests"], progress=False).to_json()
    assert [one.metric for one in Audit.from_json(kept, packages=["tests"]).metrics] == [CountFactors()]
    with pytest.raises(UnbraidError, match="elsewhere"):
        Audit.from_json(json.loads(json.dumps(kept).replace('"tests.', '"elsewhere.')))
