"""What the claims of Esmaeili et al. 2018 read: both scorings of table 2, and counts that include the category."""

import math
from dataclasses import replace

import pytest

from unbraid.papers.judgement import judge
from unbraid.papers.registry import items
from unbraid.runs.kept_scores import question_key
from unbraid.studies.study_scores import Number, ScoredRun

DISCRETE = ("HFVAE", "beta-SVAE")


def scores_of(name, values):
    """Returns three runs of each setting at the scale "quick", with `values(setting, metric, scoring)` and a little
    more for each seed. Metrics with a part are given as such.
    """
    work = items()[f"esmaeili2018/{name}"].at("quick")
    empty = work.empty()
    scorings = ["", *(question_key("", each.changes()).strip() for each in work.study.scorings[1:])]
    asked = dict.fromkeys([*empty.metrics, *(metric for claim in work.claims for metric in claim.subjects()[1])])
    runs, numbers = [], []
    for label in empty.settings:
        for seed in range(3):
            run = f"{label}-{seed}"
            runs.append(ScoredRun(label, seed, run, "finished", 1.0, 5))
            for full in asked:
                metric, of = (full, "") if full in empty.metrics else (full.rpartition(":")[0], full.rpartition(":")[2])
                for scoring in scorings:
                    if (value := values(label, full, scoring)) is not None:
                        ends = (math.nan, math.nan, run)
                        quantity = "part" if of else "value"
                        numbers.append(Number(label, seed, metric, scoring, quantity, of, value + 1e-3 * seed, *ends))
    return replace(empty, runs=tuple(runs), numbers=tuple(numbers))


def judged(name, values):
    found = judge(items()[f"esmaeili2018/{name}"], "quick", scores_of(name, values))
    return found, {claim.told: decision for claim, decision in zip(found.claims, found.decisions, strict=True)}


def test_table_2_is_decided_with_the_category_and_without_it():
    """Models without a category have scores in the first scoring alone, as runs keep them."""

    def values(label, metric, scoring):
        if scoring and label not in DISCRETE:
            return None
        return 0.5 if label not in DISCRETE else {"HFVAE": 0.8, "beta-SVAE": 0.2}[label] * (0.1 if scoring else 1)

    found, decisions = judged("table2", values)
    assert not any("Scores are missing" in each.reason or "No run has" in each.reason for each in found.decisions)
    shift = "HFVAE has a higher FactorVAE score than VAE."
    assert decisions[shift].numbers["shift"] == pytest.approx(0.3)
    assert decisions[f"Control: Without the category: {shift}"].numbers["shift"] == pytest.approx(0.08 - 0.5)
    assert sum(claim.is_control for claim in found.claims) == len(found.claims) / 2


@pytest.mark.parametrize(("count", "verdict"), [(8.0, "reproduced"), (11.0, "in part")])
def test_figure_6_counts_the_category(count, verdict):
    """Seven latents of the style and the category are eight; eleven are all ten and the category."""
    ours = "HFVAE (4, 3)"
    found, decisions = judged(
        "figure6", lambda label, metric, scoring: count if label == ours else 10.0 if count < 10 else 11.0
    )
    kept = decisions["HFVAE keeps 7 of its 10 latents, 8 with the category."]
    pruned = decisions["It prunes at least one of the 10 in every seed."]
    assert (kept.verdict == "reproduced") == (verdict == "reproduced")
    assert (pruned.verdict == "reproduced") == (verdict == "reproduced")
    assert all(claim.is_control for claim in found.claims if "The category says" in claim.sentence)


@pytest.mark.parametrize(("count", "verdict"), [(8.0, "reproduced"), (5.0, "in part"), (2.0, "not reproduced")])
def test_figure_11_is_in_part_where_some_latents_speak(count, verdict):
    found, _ = judged("figure11", lambda label, metric, scoring: count)
    assert found.verdict == verdict


@pytest.mark.parametrize("panel", ["figure9a", "figure9b"])
@pytest.mark.parametrize(("ratio", "verdict"), [(1.05, "reproduced"), (1.15, "undecided"), (1.4, "not reproduced")])
def test_figure_9_is_the_hfvae_s_and_a_vae_is_a_control(panel, ratio, verdict):
    def values(label, metric, scoring):
        return 100.0 * (ratio if label == "HFVAE, without them" else 2.0 if label == "VAE, without them" else 1.0)

    found, _ = judged(panel, values)
    assert found.verdict == verdict
    assert [claim.is_control for claim in found.claims] == [False, True]
