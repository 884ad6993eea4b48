"""Cells and verdicts are rules: of values that are made up, they are known."""

import math
from dataclasses import replace

import pytest

from benchmarks.audit.agreement import Agreement
from benchmarks.audit.design import MIDDLE, NOTHING, PERFECT
from benchmarks.audit.experiments import EXPERIMENTS
from benchmarks.audit.findings import Audit, AuditedMetric, Measurement
from benchmarks.audit.table import HEADS, is_clear, rows_of
from benchmarks.audit.training_cell import later_is_better
from tests.benchmarks.audit.made_audits import made
from unbraid.metrics import DCI, JEMMIG, MIG, SEPIN, AttributeVector, ELBODecomposition, Informativeness, Lemma2Gap


def test_what_is_noticed_and_ignored_makes_the_verdict():
    audit = made({"turned": 0.5, "copied": 0.95, "dropped": 0.85, "noise": 1.05, "unused": 0.5}, refused=["measured"])
    [row] = rows_of(audit)
    assert row.cells["turned"].mark == "good"
    assert row.use == [
        "differences down to 0.2 % of its range",
        "alignment of latents with factors",
        "codes that hold more than the factors",
    ]
    assert row.avoid == [
        "compactness (one latent for each factor)",
        "codes with different numbers of latents",
        "continuous factors (it refuses them)",
    ]
    assert row.verdict.startswith("Use it for differences down to")
    assert [row.cells["dropped"].mark, row.cells["width"].text] == ["between", "–"]
    assert list(row.cells) == list(HEADS)


def test_a_metric_that_prefers_noise_has_no_shares():
    [row] = rows_of(made({"turned": 0.5}, JEMMIG()))  # lower is better, and perfect codes have 1
    assert not is_clear(made({}, JEMMIG()), AuditedMetric(JEMMIG(), "all"))
    assert row.cells["turned"].text == "–"
    assert row.avoid[0].startswith("whether a code holds the factors (noise scores as well")


def test_a_metric_that_reads_no_factors_is_told_so():
    [row] = rows_of(made({}, SEPIN()))
    assert row.use == ["codes without labels: WSEPIN"]
    assert row.avoid == ["whether a code holds the factors (it reads none)"]
    [row] = rows_of(made({}, SEPIN(), refused=["dropped"]))  # as metrics of pairs do, where one latent is left
    assert (row.cells["dropped"].text, row.cells["dropped"].mark) == ("–", "none")


def test_noise_is_told_as_a_share_of_the_range():
    [row] = rows_of(made({}, middle=(0.4, 0.6)))  # a standard deviation of 0.11
    assert (row.cells["redrawn"].text, row.cells["redrawn"].mark) == ("± 11 %", "bad")
    assert any("30 %" in each for each in row.avoid)
    [few] = rows_of(made({}, middle=(0.4, 0.6), times=1))
    assert (few.cells["redrawn"].mark, few.cells["redrawn"].meaning[-38:]) == (
        "none",
        "say little: 4 draws or more are needed",
    )
    assert not any("differences" in each for each in (*few.use, *few.avoid))
    [lost] = rows_of(made({}, middle=(0.0, 0.9)))
    assert lost.cells["range"].mark == "bad"  # a range of 1 is not four standard deviations


def test_a_metric_at_its_limit_is_not_praised_for_being_quiet():
    [row] = rows_of(made({}, middle=(1.0, 1.0)))
    assert (row.cells["redrawn"].mark, row.cells["redrawn"].use) == ("none", "")
    assert "at its limit" in row.cells["redrawn"].meaning


@pytest.mark.parametrize(
    ("middle", "unturned", "says"),
    [
        ((0.678, 0.678), 0.7, "the same value each time"),  # a plateau, as of a count of votes
        ((0.665, 0.666), 0.666, "like those without their turn and width"),
    ],
)
def test_a_metric_on_a_plateau_is_not_praised_for_being_quiet(middle, unturned, says):
    name = AuditedMetric(MIG(), "all").name
    settings = Measurement("settings", MIDDLE.words, 0, of=name, values={"mig:quantized": middle[0] + 0.01})
    [row] = rows_of(made({}, middle=middle, unturned=unturned, others=[settings]))
    assert (row.cells["redrawn"].mark, says in row.cells["redrawn"].meaning) == ("none", True)
    assert row.cells["settings"].mark == ("none" if unturned == 0.666 else "good")
    assert not any("differences" in use for use in row.use)
    [row] = rows_of(made({}, middle=(0.56, 0.76), unturned=0.66))  # what is loud there is loud
    assert row.cells["redrawn"].mark == "bad"


def test_a_share_has_the_zero_of_its_own_experiment():
    folded = EXPERIMENTS["folded"]
    audit = made({"folded": 0.5, "merged": 0.95})
    chance = Measurement("drawn", folded.nothing.words, 0, values={"mig": 0.5})  # guessing one of two values
    drawn = [each for each in audit.measurements if each.codes != folded.nothing.words]
    [row] = rows_of(replace(audit, measurements=(*drawn, chance)))
    assert (row.cells["folded"].text, row.cells["folded"].mark) == ("0 %", "bad")
    assert row.cells["merged"].avoid == "whether each latent holds one factor only"
    [row] = rows_of(replace(audit, measurements=tuple(drawn)))
    assert row.cells["folded"].text == "–"  # an audit that never drew it


def test_settings_that_were_left_out_are_named():
    settings = Measurement("settings", MIDDLE.words, 0, of="dci", values={"dci:forest": 0.9})
    [few] = rows_of(made({}, DCI(), others=[settings]))
    [many] = rows_of(made({}, DCI(), others=[settings], num_images=10_000))
    assert "boosted_trees" not in few.cells["settings"].meaning
    assert "without dci:boosted_trees" in many.cells["settings"].meaning


def test_seeds_and_settings_of_a_metric_are_cells():
    name = AuditedMetric(MIG(), "all").name
    seeds = [Measurement("own seed", MIDDLE.words, n, values={name: 0.5 + n / 100}) for n in (1, 2)]
    settings = Measurement("settings", MIDDLE.words, 0, of=name, values={"mig:quantized": 0.9})
    [row] = rows_of(made({}, others=(*seeds, settings)))
    assert (row.cells["own seed"].text, row.cells["settings"].text) == ("± 1 %", "40 %")
    assert any("papers" in each for each in row.avoid)
    loud = [Measurement("own seed", MIDDLE.words, n, values={name: 0.5 + n / 5}) for n in (1, 2)]
    idle = Measurement("settings", MIDDLE.words, 0, of=name, values={"mig:quantized": 0.5})
    [row] = rows_of(made({}, others=(*loud, idle)))
    assert any("single seed" in each for each in row.avoid)
    assert (row.cells["settings"].text, row.cells["settings"].mark) == (
        "0 %",
        "none",
    )  # no praise for what does nothing


def test_own_seeds_decide_nothing_in_a_quick_audit():
    name = AuditedMetric(MIG(), "all").name
    loud = [Measurement("own seed", MIDDLE.words, n, values={name: 0.5 + n / 5}) for n in (1, 2)]
    [row] = rows_of(made({}, others=loud, times=1))
    assert (row.cells["own seed"].mark, row.cells["redrawn"].mark) == ("none", "none")
    assert not any("single seed" in each for each in row.avoid)


def test_a_part_has_a_row_of_its_own():
    dci = AuditedMetric(DCI(), "all")
    assert [one.name for one in dci.with_parts] == ["dci", "dci completeness", "dci test error"]
    assert [one.higher_is_better for one in dci.with_parts] == [True, True, False]
    _, part, _ = dci.with_parts
    tried = {"dci:forest": 0.1, "dci:forest completeness": 0.2, "dci:forest test error": 0.3}
    audit = Audit(dci.with_parts, (Measurement("settings", MIDDLE.words, 0, of="dci", values=tried),), {}, "0", "")
    assert audit.settings(dci) == {"dci:forest": 0.1}
    assert audit.settings(part) == {"dci:forest": 0.2}
    assert AuditedMetric(DCI(), "", "No.").with_parts == (AuditedMetric(DCI(), "", "No."),)


def test_later_snapshots_win_by_pairs():
    assert later_is_better({"a": {1: 0.1, 2: 0.2}, "b": {1: 0.1, 2: 0.3}}) == 1.0
    assert later_is_better({"a": {1: 0.1, 2: 0.2}, "b": {1: 0.15, 2: 0.12}}) == 0.75
    assert later_is_better({"a": {1: 0.1, 2: 0.2}}, higher_is_better=False) == 0.0
    assert later_is_better({"a": {1: 0.1, 2: 0.1}}) == 0.5
    assert math.isnan(later_is_better({"a": {1: 0.1}}))
    apart = {"vae-1-seed0": {1: 0.8, 2: 0.9}, "vae-2-seed0": {1: 0.1, 2: 0.2}}  # of two settings, the first is better
    assert later_is_better(apart) == 1.0
    steps = [Measurement("training", "run", 0, step=step, values={"mig": step / 10}) for step in range(1, 7)]
    [row] = rows_of(made({}, others=steps))
    assert (row.cells["training"].text, "following training" in row.use) == ("100 %", True)
    [row] = rows_of(made({}, others=steps[:2]))  # one pair
    assert (row.cells["training"].text, row.cells["training"].mark, row.use[1:]) == ("100 %", "none", [])
    assert "in 1 pair;" in row.cells["training"].meaning
    assert rows_of(made({}))[0].cells["training"].text == "not measured"
    [row] = rows_of(made({}, others=[Measurement("training", "run", 0, step=1, refused={"mig": "No factors."})]))
    assert (row.cells["training"].text, row.cells["training"].meaning[-11:]) == ("refuses", "No factors.")
    [row] = rows_of(made({}, others=[Measurement("training", "run", 0, step=1, values={"sap": 0.5})]))
    assert row.cells["training"].text == "not measured"  # another metric was
    assert rows_of(made({}, others=steps[:1]))[0].cells["training"].text == "–"  # one snapshot, no pair


def test_what_is_neither_good_nor_bad_follows_training_if_it_falls():
    steps = [Measurement("training", "run", 0, step=step, values={"informativeness": -step}) for step in range(6)]
    [row] = rows_of(made({}, Informativeness(), others=steps))
    assert (row.cells["training"].text, row.cells["training"].mark) == ("100 %, falling", "good")


def test_the_same_numbers_of_opposite_sign_follow_training_alike():
    def cell(metric, sign):
        name = AuditedMetric(metric, "all").name
        steps = [Measurement("training", "run", 0, step=step, values={name: sign * step}) for step in range(6)]
        return rows_of(made({}, metric, others=steps))[0].cells["training"]

    one, other = cell(ELBODecomposition(), 1), cell(Lemma2Gap(), -1)  # of the first, lower is called better
    assert (one.mark, one.text, other.mark, other.text) == ("good", "100 %, rising", "good", "100 %, falling")
    assert one.use == other.use == "following training"


def test_agreement_follows_ranks_and_directions():
    both = (AuditedMetric(MIG(), "all"), AuditedMetric(JEMMIG(), "all"))
    values = [{"mig": 0.1, "jemmig": 0.9}, {"mig": 0.2, "jemmig": 0.5}, {"mig": 0.3, "jemmig": 0.4}]
    drawn = tuple(Measurement("drawn", "x", seed, values=each) for seed, each in enumerate(values))
    agreement = Agreement.of(Audit(both, drawn, {}, "0", ""))
    assert agreement.others("mig") == {"jemmig": pytest.approx(1.0)}  # of which lower is better
    assert math.isnan(Agreement.of(Audit(both, drawn[:2], {}, "0", "")).median("mig"))


def test_metrics_that_take_two_values_alone_are_compared_on_the_same_codes():
    both = (AuditedMetric(MIG(), "all"), AuditedMetric(AttributeVector(), "halves"))
    words = {one.name: [one.dressed(design).words for design in (PERFECT, NOTHING, MIDDLE)] for one in both}
    drawn = [
        Measurement("drawn", code, 0, values={name: value})
        for name, codes in words.items()
        for code, value in zip(codes, (0.9, 0.1, 0.5), strict=True)
    ]
    assert Agreement.of(Audit(both, tuple(drawn), {}, "0", "")).median("mig") == pytest.approx(1.0)
