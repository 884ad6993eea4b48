"""Items are run, judged and kept; evidence travels, unites, and belongs to one definition."""

import json
from dataclasses import replace

import pytest

from tests.papers.made_items import FIGURE1, TABLE1, doubles, study, tuned
from unbraid.errors import DataError, SpecError, UnbraidError
from unbraid.papers import Item, Paper, StudyWork
from unbraid.papers.evidence_files import best_evidence, find_evidence, judge_anew, keep_evidence, united
from unbraid.papers.judgement import judge
from unbraid.papers.running import run_item
from unbraid.papers.work import digest_of
from unbraid.studies import Higher, StudyOptions, Within
from unbraid.studies.evidence import Evidence

OPTIONS = StudyOptions(device="cpu", num_scorers=0, packages=("tests",), progress=False)


@pytest.fixture(scope="module")
def ran(tmp_path_factory):
    """The figure at "quick", run once."""
    folder = tmp_path_factory.mktemp("papers")
    return folder, run_item(FIGURE1, "quick", folder, OPTIONS)


def test_an_item_is_trained_scored_judged_and_kept(ran) -> None:
    folder, first = ran
    assert (first.progress.num_trained, first.progress.num_scored, first.judgement.num_runs) == (4, 4, 4)
    assert first.evidence == folder / "evidence" / "made2000" / "figure1-quick.json"
    made_by = json.loads(first.evidence.read_text())["made_by"]
    assert made_by["command"] == "unbraid papers run made2000/figure1 --scale quick"
    assert {"commit", "date", "machine", "torch", "seconds", "definition"} <= set(made_by)


def test_a_second_call_trains_nothing_and_says_the_same(ran) -> None:
    folder, first = ran
    again = run_item(FIGURE1, "quick", folder, OPTIONS)
    assert (again.progress.num_trained, again.progress.num_scored) == (0, 0)
    assert again.judgement.decisions == first.judgement.decisions


def test_what_another_item_asks_of_the_same_runs_is_scored_before_they_are_let_go(tmp_path) -> None:
    other = replace(study("made2000-figure2-quick", seeds=(1,)), metrics=("mig", "sap"), claims=())
    figure2 = replace(FIGURE1, id="made2000/figure2", work={**FIGURE1.work, "quick": lambda: StudyWork(other)})
    run_item(FIGURE1, "quick", tmp_path, OPTIONS, beside=(TABLE1, FIGURE1, figure2))
    after = run_item(figure2, "quick", tmp_path, OPTIONS)
    assert (after.progress.num_trained, after.judgement.num_runs) == (0, 2)


def test_what_is_asked_together_is_scored_at_once(tmp_path) -> None:
    work = StudyWork(replace(study("made2000-figure2-quick", seeds=(1,)), metrics=("mig", "sap"), claims=()))
    figure2 = replace(FIGURE1, id="made2000/figure2", work={**FIGURE1.work, "quick": lambda: work})
    run_item(FIGURE1, "quick", tmp_path, OPTIONS, keep="all", together=(figure2,))
    assert {number.metric for number in work.scores(tmp_path).numbers} == {"mig", "sap"}
    after = run_item(figure2, "quick", tmp_path, OPTIONS)
    assert (after.progress.num_scored, after.judgement.num_runs) == (0, 2)


def test_verdicts_come_from_the_kept_file_alone(ran, tmp_path) -> None:
    _, first = ran
    (tmp_path / "made2000").mkdir()
    (tmp_path / "made2000" / "figure1-quick.json").write_bytes(first.evidence.read_bytes())
    found = find_evidence(FIGURE1, "quick", tmp_path)
    assert found is not None
    assert found.judgement.verdict == first.judgement.verdict
    assert best_evidence(FIGURE1, tmp_path).scale == "quick"


def test_evidence_of_another_definition_is_refused(ran) -> None:
    folder, _ = ran
    other = replace(FIGURE1, work={**FIGURE1.work, "quick": lambda: StudyWork(study(seeds=(0, 1, 2)))})
    with pytest.raises(UnbraidError, match="another definition of made2000/figure1"):
        find_evidence(other, "quick", folder / "evidence")


def test_a_claim_may_be_worded_anew_but_not_changed() -> None:
    claim = study().claims[0]
    reworded = replace(study(), claims=(replace(claim, sentence="Put otherwise."),))
    changed = replace(study(), claims=(replace(claim, level=0.1),))
    assert digest_of(StudyWork(reworded)) == digest_of(StudyWork(study())) != digest_of(StudyWork(changed))


def test_evidence_can_be_judged_by_other_claims_and_says_so(ran, tmp_path) -> None:
    keep_evidence(FIGURE1, "quick", ran[1].judgement.scores, tmp_path, seconds=1.0)
    lower = replace(study(), claims=(Higher("Less beta, more MIG.", "mig", "beta 1", "beta 4"),))
    changed = replace(FIGURE1, work={**FIGURE1.work, "quick": lambda: StudyWork(lower)})
    with pytest.raises(UnbraidError, match="if only claims have changed, `unbraid papers judge"):
        find_evidence(changed, "quick", tmp_path)
    assert len(judge_anew(changed, "quick", tmp_path, "beta was the wrong way round")) == 1
    assert judge_anew(changed, "quick", tmp_path, "it is the same") == []
    path = tmp_path / "made2000" / "figure1-quick.json"
    kept = Evidence.load(path)
    older = {name: value for name, value in kept.made_by.items() if name != "measured"}
    Evidence(kept.study, kept.scores, older).save(path)
    assert judge_anew(changed, "quick", tmp_path, "it is the same") == []
    with pytest.raises(UnbraidError, match="does not say what was measured"):
        judge_anew(FIGURE1, "quick", tmp_path, "it is not")
    kept.save(path)
    found = find_evidence(changed, "quick", tmp_path)
    assert [claim.sentence for claim in found.judgement.claims] == ["Less beta, more MIG."]
    assert found.made_by[0]["note"].endswith("changed when the scores were known: beta was the wrong way round")
    other = replace(FIGURE1, work={**FIGURE1.work, "quick": lambda: StudyWork(study(seeds=(0, 2)))})
    with pytest.raises(UnbraidError, match="was measured otherwise"):
        judge_anew(other, "quick", tmp_path, "other seeds")


def test_a_control_is_shown_and_does_not_count(ran) -> None:
    claims = (
        Within("MIG is between 0 and 1.", "mig", ("beta 1", "beta 4"), 0, 1),
        Within("MIG is above 2.", "mig", ("beta 1", "beta 4"), low=2, is_control=True),
    )
    work = StudyWork(replace(study(), claims=claims))
    item = replace(FIGURE1, work={**FIGURE1.work, "quick": lambda: work})
    judged = judge(item, "quick", ran[1].judgement.scores)
    assert [decision.verdict for decision in judged.decisions] == ["reproduced", "not reproduced"]
    assert (judged.verdict, judged.claims[1].told) == ("reproduced", "Control: MIG is above 2.")
    assert digest_of(work) != digest_of(
        StudyWork(replace(study(), claims=(claims[0], replace(claims[1], is_control=False))))
    )


def test_parts_of_evidence_unite(ran) -> None:
    scores = ran[1].judgement.scores
    part = [
        replace(
            scores,
            runs=tuple(run for run in scores.runs if run.seed == seed),
            numbers=tuple(number for number in scores.numbers if number.seed == seed),
        )
        for seed in (0, 1)
    ]
    both = united(part)
    assert sorted(run.run for run in both.runs) == sorted(run.run for run in scores.runs)
    assert sorted(map(str, both.numbers)) == sorted(map(str, scores.numbers))
    assert united([*part, part[0]]) == both


def test_a_partial_file_is_added_to_and_says_so(ran, tmp_path) -> None:
    scores = ran[1].judgement.scores
    first = replace(
        scores, runs=scores.runs[:1], numbers=tuple(n for n in scores.numbers if n.run == scores.runs[0].run)
    )
    keep_evidence(FIGURE1, "quick", first, tmp_path, seconds=1.0)
    assert find_evidence(FIGURE1, "quick", tmp_path).judgement.is_partial
    keep_evidence(FIGURE1, "quick", scores, tmp_path, seconds=2.0)
    found = find_evidence(FIGURE1, "quick", tmp_path)
    assert (found.judgement.num_runs, found.seconds) == (4, 3.0)


def test_some_settings_are_run_alone_and_evidence_of_the_others_unites_with_theirs(tmp_path) -> None:
    def ran(label, place):
        return run_item(FIGURE1, "quick", tmp_path / place, replace(OPTIONS, settings=(label,)), evidence=tmp_path)

    first = ran("beta 1", "here")
    assert (first.progress.num_trained, first.judgement.num_runs, first.judgement.num_asked) == (2, 2, 4)
    command = json.loads(first.evidence.read_text())["made_by"]["command"]
    assert command == "unbraid papers run made2000/figure1 --scale quick --setting 'beta 1'"
    assert ran("beta 4", "elsewhere").judgement.num_runs == 4  # of the file, not of this folder alone
    found = find_evidence(FIGURE1, "quick", tmp_path)
    assert found.judgement.num_runs == 4
    assert [made["command"].partition("quick ")[2] for made in found.made_by] == [
        "--setting 'beta 4'",
        "--setting 'beta 1'",
    ]
    [registered] = (tmp_path / "elsewhere" / ".studies").glob("*.json")
    assert "beta 1" in registered.read_text()  # what the study asks of other settings is known


def test_a_setting_that_is_none_is_told_with_those_that_are(tmp_path) -> None:
    with pytest.raises(SpecError, match=r"has no setting 'beta 2'. Its settings are 'beta 1', 'beta 4'\."):
        run_item(FIGURE1, "quick", tmp_path, replace(OPTIONS, settings=("beta 2",)))
    with pytest.raises(SpecError, match=r"has no setting 'b'. Its settings are 'a'\."):
        run_item(TABLE1, "paper", tmp_path, replace(OPTIONS, settings=("b",)))


def test_runs_that_are_trained_but_not_scored_are_not_counted(ran, tmp_path) -> None:
    scores = ran[1].judgement.scores
    of_one = tuple(number for number in scores.numbers if number.run == scores.runs[0].run)
    keep_evidence(FIGURE1, "quick", replace(scores, numbers=of_one), tmp_path, seconds=1.0)
    assert find_evidence(FIGURE1, "quick", tmp_path).judgement.num_runs == 1


def test_what_was_scored_before_ctrl_c_is_kept(ran, tmp_path, monkeypatch) -> None:
    def stopped(work, folder, options):
        raise KeyboardInterrupt

    monkeypatch.setattr(StudyWork, "run", stopped)
    with pytest.raises(KeyboardInterrupt):
        run_item(FIGURE1, "quick", ran[0], OPTIONS, evidence=tmp_path)
    assert find_evidence(FIGURE1, "quick", tmp_path).judgement.num_runs == 4


def test_smoke_is_never_kept(tmp_path) -> None:
    done = run_item(TABLE1, "smoke", tmp_path, OPTIONS)
    assert done.evidence is None
    assert not (tmp_path / "evidence").exists()
    with pytest.raises(UnbraidError, match="never kept"):
        keep_evidence(TABLE1, "smoke", doubles().empty(), tmp_path, seconds=0.0)


def test_a_setting_is_tuned_on_other_seeds_than_it_is_tested_on(tmp_path) -> None:
    work = tuned()
    done = work.run(tmp_path, OPTIONS)
    assert (done.num_trained, work.num_runs) == (8, 8)
    scores = work.scores(tmp_path)
    assert set(scores.values("chosen", "mig")) == {0, 1}
    assert set(scores.values("tried 2", "mig")) == {7}
    assert set(work.empty().settings) == set(scores.settings)
    asked = replace(OPTIONS, settings=("beta 1", "tried 2"))
    assert work.run(tmp_path / "some", asked).num_trained == 3
    assert {run.setting for run in work.scores(tmp_path / "some").runs if run.state == "finished"} == set(
        asked.settings
    )
    with pytest.raises(SpecError, match="tuned on the seed 0"):
        replace(work, seeds=(0, 7), candidates=(replace(work.candidates[0], seeds=(0,)),))


def test_missing_data_are_named_with_the_stand_in(tmp_path) -> None:
    from unbraid.data import Cars3D

    specs = study()
    cars = replace(specs.settings[0].spec, dataset=Cars3D(root=str(tmp_path)))
    work = StudyWork(replace(specs, settings=(replace(specs.settings[0], spec=cars),), claims=()))
    item = replace(
        FIGURE1,
        needs="the cars of Reed et al.",
        stand_in="made2000/table1",
        work={**FIGURE1.work, "quick": lambda: work},
    )
    with pytest.raises(
        DataError, match=r"(?s)needs the cars of Reed et al.*nips2015-analogy.*papers run made2000/table1"
    ):
        run_item(item, "quick", tmp_path, OPTIONS)


def test_an_item_that_cannot_be_is_refused() -> None:
    with pytest.raises(SpecError, match="PAPER/ITEM"):
        replace(TABLE1, id="table1")
    with pytest.raises(SpecError, match="no scale 'smoke'"):
        replace(TABLE1, work={"paper": doubles})
    with pytest.raises(SpecError, match="does not say what the scale 'paper' costs"):
        replace(TABLE1, seconds={})
    with pytest.raises(SpecError, match="has no scale 'long'; it has smoke, paper"):
        TABLE1.at("long")
    with pytest.raises(SpecError, match="listed twice"):
        Paper("made2000", "", "", "", (TABLE1, TABLE1))
    with pytest.raises(SpecError, match="which is no item of made2000"):
        Paper("made2000", "", "", "", (replace(TABLE1, stand_in="made2000/other"),))
    assert isinstance(TABLE1, Item)
