"""One call for every score."""

import io
import math
import sys
from dataclasses import replace

import numpy as np
import pytest
import torch

from tests.metrics.fakes import CountFactors, Spread
from tests.told import warned
from unbraid import Codes, evaluate
from unbraid._internal.version import __version__
from unbraid.codes import Labels
from unbraid.errors import CodesError, SpecError
from unbraid.metrics import MIG
from unbraid.metrics.estimators import MeansHistogram, Quantized, Sampled
from unbraid.metrics.reductions.statistics import Statistics
from unbraid.metrics.scoring import Scoring


def make_codes(**factors) -> Codes:
    rng = np.random.default_rng(0)
    hue = np.arange(60) % 3
    mean = np.stack([hue - 1.0, rng.normal(size=60)], axis=1)
    return Codes.from_arrays(mean, np.full((60, 2), 0.3), factors={"hue": hue, "size": np.arange(60) // 30} | factors)


CODES = make_codes()


def test_each_score_is_that_of_its_metric():
    card = evaluate(CODES, metrics=["mig", MIG(Quantized()), CountFactors()])
    assert card.names == ("mig", "mig:quantized", "count-factors")
    assert card["mig"].value == MIG()(CODES).value
    assert card["mig:quantized"].value == MIG(Quantized())(CODES).value
    assert card["count-factors"].value == 2


def test_the_card_says_what_was_scored():
    card = evaluate(CODES, metrics=["mig"])
    assert (card.num_images, card.num_latents, card.factor_names, card.device, card.seed) == (
        60,
        2,
        ("hue", "size"),
        "cpu",
        None,
    )
    assert card.version == __version__
    assert card.higher_is_better == {"mig": True}


def test_the_same_codes_give_the_same_card():
    asked = ["mig", "mig:sampled:num_samples=100", Spread()]
    assert evaluate(CODES, metrics=asked, seed=3) == evaluate(CODES, metrics=asked, seed=3)
    assert evaluate(CODES, metrics=asked, seed=3) != evaluate(CODES, metrics=asked, seed=4)


def test_a_seed_is_recorded_with_each_score():
    card = evaluate(CODES, metrics=[Spread(), MIG()], seed=5)
    assert card.seed == 5
    assert card["spread"].settings["seed"] == 5


def test_what_metrics_share_is_computed_once(monkeypatch):
    computed = []
    once = Statistics.once

    def counted(self, key, compute):
        return once(self, key, lambda: computed.append(key) or compute())

    monkeypatch.setattr(Statistics, "once", counted)
    codes = make_codes(angle=np.linspace(0, 1, 60))
    evaluate(codes, metrics=[MIG(Sampled(num_samples=50)), Spread(), Spread(scale=2.0), "mig"])
    assert computed.count(("draws", 50, 0)) == 1
    assert len(computed) == len(set(computed))


def test_without_factors_the_rest_is_named():
    card = evaluate(replace(CODES, factors=()), metrics=[MIG(), CountFactors(), Spread()])
    assert card.names == ("spread",)
    assert set(card.left_out) == {"mig", "count-factors"}
    assert "needs factors" in card.left_out["mig"]


def test_singular_covariances_leave_the_metrics_without_densities():
    """Latents that are one and the same given the image have no joint density; what reads each alone goes on."""
    singular = replace(CODES, std=None, covariance=torch.ones(60, 2, 2, dtype=torch.float64))
    asked = ["sepin", "indin", "separability", "informativeness", "elbo-decomposition", "lemma2-gap"]
    card = evaluate(singular, metrics=[*asked, "mig", "rmig", "misjed", "gaussian-total-correlation"])
    assert card.names == ("mig", "rmig", "misjed", "gaussian-total-correlation")
    assert set(card.refused) == set(asked)
    assert all("positive definite" in reason for reason in card.refused.values())
    assert card["mig"].value == MIG()(replace(CODES, std=torch.ones(60, 2, dtype=torch.float64))).value


def test_if_nothing_is_left_without_factors_that_is_an_error():
    with pytest.raises(CodesError, match="mig: needs factors"):
        evaluate(replace(CODES, factors=()), metrics=["mig"])


def test_factors_that_a_metric_does_not_take_are_left_out_and_named():
    half = torch.arange(60) < 30
    codes = make_codes(angle=np.linspace(0, 1, 60))
    codes = replace(codes, factors=(*codes.factors, Labels("seen", torch.arange(60) % 2, known=half)))
    card = evaluate(codes, metrics=[CountFactors(), "mig", Spread()])
    assert list(card["count-factors"].per_factor) == ["hue", "size", "seen"]
    assert list(card["mig"].per_factor) == ["hue", "size", "seen"]
    assert "angle (continuous factors)." in card["mig"].notes[-1]
    assert not any("left out" in note for note in card["spread"].notes)


def test_a_metric_that_takes_none_of_the_factors_says_so_and_the_others_go_on():
    only_continuous = replace(CODES, factors=(Labels("angle", torch.linspace(0, 1, 60)),))
    card = evaluate(only_continuous, metrics=["mig", Spread()])
    assert card.names == ("spread",)
    assert "MIG" in card.refused["mig"]


def test_codes_that_a_metric_refuses_do_not_stop_the_others():
    weighted = replace(CODES, weights=torch.ones(60))
    card = evaluate(weighted, metrics=["mig", Spread()])
    assert card.names == ("mig",)
    assert "weights" in card.refused["spread"]
    card = evaluate(CODES, metrics=[Spread(), Spread(strict=True)])
    assert card.refused == {"spread:strict=true": "Spread: too strict for these codes. Be lenient."}


def test_a_single_refusal_is_the_error_itself():
    with pytest.raises(CodesError, match="^Spread: too strict"):
        evaluate(CODES, metrics=[Spread(strict=True)])
    with pytest.raises(CodesError, match="mig:sampled, spread: "):
        evaluate(replace(CODES, std=None), metrics=["mig:sampled", Spread()])


def test_a_refusal_of_all_metrics_is_said_once():
    huge = replace(CODES, mean=CODES.mean * 1e300)
    with pytest.raises(CodesError) as refused:
        evaluate(huge, metrics=["mig", "mig:quantized", CountFactors()])
    assert str(refused.value).startswith("The largest mean is ")
    assert str(refused.value).count("Divide the latents by a constant.") == 1


def test_metrics_that_share_a_refusal_are_named_together():
    card = evaluate(replace(CODES, std=None), metrics=["rmig:sampled", "mig:means_histogram", "mig:sampled"])
    assert len(card.refused) == 2
    [together] = card.remarks["not defined"]
    assert together.startswith("rmig:sampled, mig:sampled: does not support means without std.")


@pytest.mark.parametrize("std", [None, torch.zeros_like(CODES.mean)])
def test_deterministic_codes_are_scored_by_a_histogram_of_their_means(std):
    codes = replace(CODES, std=std)
    card = evaluate(codes, metrics=["mig", "modularity", "info-mec", "sap"])
    assert card.names[0] == "mig:means-histogram"
    assert card.names[-1] == "sap"
    assert card["mig"] == card["mig:means-histogram"] == evaluate(codes, metrics=MIG(MeansHistogram())).scores[0]
    assert card["mig"].settings["estimator"] == "means_histogram"
    assert "mig:means-histogram" in str(card)
    assert "deterministic" in card.left_out["mig"]
    # RMIG's own bins take a std of 0, so that it is not replaced there.
    assert evaluate(codes, metrics="rmig").names == (("rmig:means-histogram",) if std is None else ("rmig",))


def test_a_chosen_estimator_is_not_replaced():
    with pytest.raises(CodesError, match="means without std"):
        evaluate(replace(CODES, std=None), metrics="mig:quantized")


def test_codes_with_a_width_keep_their_estimator():
    partly = CODES.std.clone()
    partly[:, 0] = 0
    with pytest.raises(CodesError):
        evaluate(replace(CODES, std=partly), metrics="mig")
    assert evaluate(CODES, metrics="mig").names == ("mig",)


def test_two_arrays_are_means_and_factors():
    mean, hues = CODES.mean.numpy(), CODES.factors[0].values.numpy()
    expected = evaluate(Codes.from_arrays(mean, factors={"hue": hues}), metrics=["mig", "sap"])
    assert evaluate(mean, {"hue": hues}, metrics=["mig", "sap"]) == expected
    assert evaluate(mean, factors={"hue": hues}, metrics=["mig", "sap"]) == expected
    assert evaluate(mean, hues[:, None], metrics="mig")["mig"].value == expected["mig"].value
    assert evaluate(mean, metrics="correlations").names == ("correlations",)


@pytest.mark.parametrize("factors", ["mig", [0] * 60])
def test_factors_beside_codes_are_refused(factors):
    with pytest.raises(SpecError, match=type(factors).__name__):
        evaluate(CODES, factors=factors)


def break_spread(monkeypatch):
    def broken(self, statistics):
        raise ZeroDivisionError("by nothing")

    monkeypatch.setattr(Spread, "measure", broken)


def test_a_bug_in_one_metric_costs_its_score_alone_and_is_told(monkeypatch):
    whole = evaluate(CODES, metrics=["mig", CountFactors()])
    break_spread(monkeypatch)
    with warned(r"failed \(ZeroDivisionError") as told:
        card = evaluate(CODES, metrics=["mig", Spread(), CountFactors()])
    assert len(told) == 1
    assert card.names == ("mig", "count-factors")
    assert card.scores == whole.scores
    assert list(card.failed) == ["spread"]
    assert card.failed["spread"].startswith("Traceback")
    assert "in broken" in card.failed["spread"]
    assert "failed:\n  spread: ZeroDivisionError: by nothing" in str(card)


def test_a_bug_that_leaves_no_score_is_raised_as_it_is(monkeypatch):
    break_spread(monkeypatch)
    with pytest.raises(ZeroDivisionError, match="by nothing"):
        evaluate(CODES, metrics=[Spread()])
    with pytest.raises(ZeroDivisionError, match="by nothing"):
        evaluate(CODES, metrics=[Spread(strict=True), Spread(scale=2.0)])


def test_constant_factors_are_told_once():
    codes = make_codes(nothing=np.zeros(60, dtype=int))
    with warned("nothing .constant") as told:
        card = evaluate(codes, metrics=["mig", "mig:quantized", CountFactors(), Spread()])
    assert len(told) == 1
    assert card.notes == tuple(told)
    assert math.isnan(card["mig"].per_factor["nothing"])
    assert str(card).count("constant in these codes") == 1


def test_if_none_varies_that_is_an_error_unless_nobody_looks():
    codes = replace(CODES, factors=(Labels("nothing", torch.zeros(60, dtype=torch.int64)),))
    with pytest.raises(CodesError, match="1 factors"):
        evaluate(codes, metrics=["mig", Spread()])
    with warned() as told:
        assert len(evaluate(codes, metrics=[Spread()])) == 1
    assert told == []


def test_progress_is_told_from_nothing_to_all():
    told = []
    evaluate(CODES, metrics=["mig", Spread()], watch=told.append)
    assert [event.text for event in told if not event.within] == ["mig", "spread", ""]
    assert [str(event) for event in told if event.about == "drawing"] == [
        "Scoring: 1 of 2 metrics, spread; Drawing: 1 of 2 draws"
    ]
    assert told[-1].is_over
    shares = [event.share for event in told]
    assert 0.75 in shares
    assert shares == sorted(shares)


def test_groups_that_are_not_there_are_told():
    with warned() as told:
        card = evaluate(CODES, metrics=["mig"], scoring=Scoring(groups="pca"))
    assert told == [card.notes[0]]
    assert told[0].startswith("groups is 'pca'")
    assert card["mig"].value == evaluate(CODES, metrics=["mig"])["mig"].value


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_a_terminal_shows_one_line_and_is_left_clean(monkeypatch):
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setattr("unbraid._internal.progress.SECONDS_BEFORE_A_BAR", -1.0)
    evaluate(CODES, metrics=["mig", Spread()])
    shown = terminal.getvalue()
    assert "Scoring" in shown
    assert "1 of 2" in shown
    assert shown.endswith("\x1b[2K")
    terminal.truncate(0)
    evaluate(CODES, metrics=["mig"], progress=False)
    assert terminal.getvalue() == ""


def test_elsewhere_nothing_is_said(capsys):
    evaluate(CODES, metrics=["mig", Spread()])
    assert capsys.readouterr() == ("", "")


def test_a_note_on_codes_is_logged_once_and_is_on_every_card():
    with warned("shade") as told:
        cards = [evaluate(make_codes(shade=np.zeros(60, dtype=int)), metrics=["mig"]) for _ in range(3)]
    assert len(told) == 1
    assert all("shade" in card.notes[0] for card in cards)
