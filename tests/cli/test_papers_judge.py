"""`unbraid papers judge`."""

from unbraid.studies.evidence import Evidence


def test_evidence_of_the_claims_of_today_is_left_alone(unbraid, tmp_path) -> None:
    unbraid("papers", "run", "chen2018/table2", "--out", tmp_path)
    asked = ("papers", "judge", "chen2018/table2", "--because", "nothing", "--evidence", tmp_path / "evidence")
    assert "is judged by them already." in unbraid(*asked).out
    assert "is no folder" in unbraid(*asked[:-1], tmp_path / "nowhere").err
    assert "No reason was given" in unbraid(*asked[:4], " ", *asked[5:]).err


def test_a_reason_is_needed(unbraid) -> None:
    outcome = unbraid("papers", "judge", "chen2018/table2")
    assert outcome.code == 2
    assert "--because" in outcome.err


def test_evidence_that_was_measured_otherwise_does_not_stop_the_others(unbraid, tmp_path) -> None:
    evidence = tmp_path / "evidence" / "chen2018"
    for item in ("table2", "figure5a"):
        unbraid("papers", "run", f"chen2018/{item}", "--out", tmp_path)
    for path in sorted(evidence.glob("*.json")):
        loaded = Evidence.load(path)
        changed = {"definition": "of another day"} | ({"measured": "otherwise"} if "figure5a" in path.name else {})
        Evidence(loaded.study, loaded.scores, {**loaded.made_by, **changed}).save(path)
    ids = ("chen2018/figure5a", "chen2018/table2")
    outcome = unbraid("papers", "judge", *ids, "--because", "a test", "--evidence", tmp_path / "evidence")
    assert outcome.code == 2
    assert "figure5a-paper.json was measured otherwise" in outcome.err
    assert "table2-paper.json is judged by the claims of today." in outcome.out + outcome.err
