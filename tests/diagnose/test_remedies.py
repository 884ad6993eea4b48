"""A list of advice does not contradict itself, and says a thing once."""

from itertools import combinations

import pytest

from unbraid.diagnose.diagnosis import Aim, Diagnosis, Finding, Remedy, kept_aims

WEIGHING: tuple[Aim, ...] = ("lower price", "use latents", "less rate", "more rate")


def advice(*aims: Aim) -> tuple[str, ...]:
    findings = [Finding(aim, "look", "", {}, (Remedy(aim, aim),)) for aim in aims]
    return Diagnosis.from_findings("a model", findings).advice


@pytest.mark.parametrize(("first", "second"), list(combinations(WEIGHING, 2)))
def test_the_rate_is_weighed_in_one_direction_and_told_once(first, second):
    assert kept_aims([first, second]) == kept_aims([second, first]) == {first}


def test_independence_is_not_asked_of_a_code_that_has_collapsed():
    assert kept_aims(["independence", "use latents"]) == {"use latents"}
    assert kept_aims(["independence", "less rate", "more rate"]) == {"independence"}
    assert kept_aims(["less rate", "more rate"]) == {"less rate"}


def test_a_likelihood_is_calibrated_before_the_rate_is_weighed_anew():
    assert kept_aims(["calibrate", *WEIGHING]) == {"calibrate"}


def test_what_training_longer_may_mend_waits():
    assert kept_aims(["train longer", "less rate", "use latents"]) == {"train longer", "use latents"}


def test_the_most_urgent_comes_first_whatever_found_it():
    assert advice("look", "use latents", "train longer", "calibrate") == ("calibrate", "train longer", "look")


def test_one_weight_is_moved_once_and_looks_are_told_each():
    findings = [
        Finding("a", "look", "", {}, (Remedy("independence", "first"), Remedy("look", "here"))),
        Finding(
            "b", "look", "", {}, (Remedy("independence", "second"), Remedy("look", "there"), Remedy("look", "here"))
        ),
    ]
    found = Diagnosis.from_findings("a model", findings)
    assert found.advice == ("first", "here", "there")
    assert [finding.advice for finding in found.findings] == [("first", "here"), ("there",)]
    assert found.content()["findings"][1]["advice"] == ["there"]
    assert (list(found), len(found), found["b"], found.get("c")) == (["a", "b"], 2, found.findings[1], None)


def test_the_heading_has_the_folder_and_numbers_stay_with_their_percent_sign():
    long = "x" * 93  # the line is full after 72
    found = Diagnosis("vae, seed 0", (Finding("check", "look", f"{long} 72 % of it"),), "runs/one")
    assert str(found).startswith("runs/one (vae, seed 0): 1 of 1 checks found a problem.")
    assert str(found).splitlines()[3] == "       72 % of it"
    assert found.content()["folder"] == "runs/one"
