"""`unbraid papers judge`."""


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
