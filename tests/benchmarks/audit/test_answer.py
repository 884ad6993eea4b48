"""What to report is computed from the marks: of marks that are made up, it is known."""

import pytest

from benchmarks.audit import rows_of
from benchmarks.audit.answer import answers, passes
from tests.benchmarks.audit.made_audits import SEEN, UNMOVED, made, together
from unbraid.metrics import DCIMIG, MED, MIG, SEPIN, MIGSup

BLIND = {"turned": 1.0, "copied": 1.0, "merged": 1.0, "dropped": 1.0, "width": 1.0}


def one(metric, notices, **moved):
    """An audit of a metric that notices these faults; something else may move it."""
    return made(BLIND | {fault: SEEN[fault] for fault in notices} | UNMOVED | moved, metric)


def answered(*audits):
    """The metrics that are named in each case."""
    return [list(answer.notices) for answer in answers(rows_of(together(*audits)))]


def test_one_metric_that_notices_everything_is_enough():
    assert answered(one(MIGSup(), ["turned"]), one(MIG(), SEEN))[:4] == [["mig"]] * 4


def test_two_that_complete_each_other_are_named_and_others_are_not():
    first, second = one(MIG(), ["turned", "copied", "dropped"]), one(MIGSup(), ["turned", "merged"])
    plain, *_ = answers(rows_of(together(first, second, one(MED(), ["turned"]))))
    assert list(plain.notices) == ["mig", "mig-sup"]
    assert plain.notices["mig-sup"] == [
        "alignment of latents with factors",
        "whether each latent holds one factor only",
    ]
    assert plain.unnoticed == []
    assert plain.instead == {"mig": [], "mig-sup": []}


def test_of_equals_the_one_with_fewer_crosses_is_named_and_the_other_may_take_its_place():
    crossed, clean = one(DCIMIG(), SEEN, noise=0.3), one(MIG(), SEEN)
    plain, *_ = answers(rows_of(together(crossed, clean)))
    assert (list(plain.notices), plain.instead) == (["mig"], {"mig": ["dcimig"]})


def test_a_case_takes_metrics_that_are_fit_for_it_alone():
    found = answered(one(MIG(), SEEN, dependent=0.5, measured=0.5), one(MIGSup(), ["turned"]))
    assert found[:4] == [["mig"], ["mig-sup"], ["mig-sup"], ["mig"]]


def test_whether_a_factor_is_held_at_all_is_told_by_what_turned_axes_leave_alone():
    *_, held = answered(one(MIG(), ["turned", "dropped"]), one(MED(), ["dropped"]))
    assert held == ["med"]


def test_what_no_metric_notices_is_said():
    plain, *_, held = answers(rows_of(one(MIG(), ["turned", "copied"])))
    assert plain.unnoticed == ["whether each latent holds one factor only", "lost factors"]
    assert (held.notices, held.unnoticed) == ({}, ["lost factors"])


@pytest.mark.parametrize("audit", [made(SEEN | UNMOVED, middle=(0.4, 0.6)), made(SEEN | UNMOVED, SEPIN())])
def test_loud_metrics_and_those_without_factors_are_left_out(audit):
    assert answered(audit) == [[]] * 5


def test_questions_are_passed_or_not():
    found = passes(rows_of(together(one(MIG(), ["turned"]), one(MED(), ["copied"]))))
    assert found["Does it notice turned axes?"] == (["mig"], ["med"])
    assert found["Is it unmoved by unused latents?"] == (["mig", "med"], [])
