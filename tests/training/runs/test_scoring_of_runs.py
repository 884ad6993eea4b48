"""A run is scored on the images that it was trained on, on those that it held out, or on all; over some factors, under
other weights; and no two of these are mixed up.
"""

from dataclasses import replace

import numpy as np
import pytest
import torch

from tests.training.runs.finished_runs import SPEC, finish
from tests.training.squares import PACKAGES
from unbraid import evaluate
from unbraid.datasets.subsets import RandomSplit, Rows
from unbraid.datasets.weights import ChenDesign, Correlated, UniformJoint, image_weights
from unbraid.errors import CodesError, DataError, RunError, SpecError
from unbraid.metrics import DCI, MIG
from unbraid.metrics.estimators import Quantized
from unbraid.metrics.scoring import Scoring
from unbraid.models import encode
from unbraid.models.distributions import DeterministicLatents
from unbraid.models.trained.elbo import CodedImages
from unbraid.objectives import AAE
from unbraid.studies import Setting, Study, collect
from unbraid.training.runs import Run

CORRELATED = Correlated(("row", "column"), 0.3)
SPLIT = replace(SPEC, subset=RandomSplit(0.75, seed=2))


@pytest.fixture(scope="module")
def split(tmp_path_factory):
    """A run that was trained on three quarters of the images."""
    return finish(Run.place(tmp_path_factory.mktemp("split"), SPLIT, 3), seed=7)


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A run that was trained on all of them."""
    return finish(Run.place(tmp_path_factory.mktemp("whole"), SPEC, 3), seed=7)


def places(codes):
    row, column = (labels.values for labels in codes.factors)
    return (6 * row + column).tolist()


# ---- parts


def test_the_parts_are_complements(split):
    trained, held_out, everything = (places(split.codes(part)) for part in ("train", "test", "all"))
    assert (len(trained), len(held_out)) == (27, 9)
    assert sorted(trained + held_out) == everything == list(range(36))
    assert split.codes() == split.codes("train")


def test_a_run_that_was_trained_on_the_other_part_holds_out_the_first(tmp_path, split):
    other = replace(SPLIT, subset=RandomSplit(0.75, seed=2, part="test"))
    run = finish(Run.place(tmp_path, other, 3), seed=7)
    assert places(run.codes("train")) == places(split.codes("test"))
    assert places(run.codes("test")) == places(split.codes("train"))


def test_codes_of_another_part_are_those_of_the_trained_model(split):
    everything = encode(split.model(), SPEC.dataset.load())
    assert torch.equal(split.codes("all").mean, everything.mean)
    assert torch.equal(split.codes("test").mean, everything.mean[places(split.codes("test"))])


def test_the_held_out_part_of_a_run_without_one_is_refused_in_a_sentence(whole):
    with pytest.raises(RunError, match=r"dataset\. Train"):
        whole.codes("test")
    with pytest.raises(RunError, match="part is 'test'"):
        whole.score("mig", Scoring(part="test"))


def test_without_a_held_out_part_all_is_what_was_trained_on(whole):
    assert whole.codes("all") == whole.codes()
    assert whole.score("mig", Scoring(part="all")).scoring == Scoring()


def test_a_score_is_that_of_the_codes_of_its_part(split):
    for part in ("train", "test", "all"):
        card = split.score("mig:quantized", Scoring(part=part))
        assert card.scores[0].value == MIG(Quantized())(split.codes(part)).value
        assert card.num_images == len(split.codes(part))


# ---- other weights


def test_images_can_be_weighted_as_they_were_not_in_training(whole):
    card = whole.score("mig:quantized", Scoring(sampling=CORRELATED))
    images = SPEC.dataset.load()
    weights = image_weights(CORRELATED, images.factor_table, images.values)
    assert card.scores[0].value == MIG(Quantized())(replace(whole.codes(), weights=weights.float())).value
    assert card.scores[0].value != whole.score("mig:quantized").scores[0].value


def test_a_run_trained_on_correlated_factors_can_be_scored_as_the_data_are(tmp_path, whole):
    run = finish(Run.place(tmp_path, replace(SPEC, sampling=CORRELATED), 3), seed=7)
    assert run.codes().weights is not None
    as_the_data = run.score("mig:quantized", Scoring(sampling="data"))
    assert (
        as_the_data.scores[0].value
        == whole.score("mig:quantized").scores[0].value
        != run.score("mig:quantized").scores[0].value
    )
    assert run.score("mig:quantized", Scoring(sampling=CORRELATED)).scoring == Scoring()  # that is how it was trained


def test_a_run_trained_under_a_design_of_chen_is_scored_under_it_and_under_uniform(tmp_path):
    """The correlation of latents, by numpy: weighted by the table of design D, and unweighted."""
    design = ChenDesign("D", ("row", "column"))
    run = finish(Run.place(tmp_path, replace(SPEC, sampling=design), 3), seed=7)
    mean = run.codes().mean.double().numpy()
    by_table = design.table((6, 6)).flatten().numpy()[places(run.codes())]
    expected = {None: np.cov(mean, rowvar=False, aweights=by_table), "data": np.cov(mean, rowvar=False)}
    expected[UniformJoint(("row", "column"))] = expected["data"]
    for sampling, covariance in expected.items():
        score = run.score("correlations", Scoring(sampling=sampling)).scores[0]
        correlation = covariance / np.sqrt(np.outer(covariance.diagonal(), covariance.diagonal()))
        np.testing.assert_allclose(score.tables["deterministic"], correlation, atol=1e-6)
    # A study asks for both: numbers of the second scoring have a name of their own.
    study = Study(
        "design",
        (Setting("D", run.spec, (3,)),),
        metrics=("correlations",),
        scorings=(Scoring(), Scoring(sampling="data")),
    )
    values = [
        collect(study, tmp_path).values("D", "correlations", scoring=told) for told in ("", '{"sampling": "data"}')
    ]
    assert values == [
        {3: run.score("correlations", Scoring(sampling=sampling)).scores[0].value} for sampling in (None, "data")
    ]
    assert values[0] != values[1]


# ---- kept scores


def test_no_two_askings_collide(tmp_path):
    run = finish(Run.place(tmp_path, SPLIT, 3), seed=7)
    whole, uniform = Scoring(), UniformJoint(("row",))
    asked = [
        whole,
        *(replace(whole, part=part) for part in ("test", "all")),
        replace(whole, factors=("row",)),
        replace(whole, sampling=uniform),
        replace(whole, fraction=0.9),
        Scoring("test", ("column",), uniform, None, 0.9),
    ]
    cards = [run.score("mig:quantized", scoring) for scoring in asked]
    read = Run.open(run.folder, packages=PACKAGES)
    assert len(read.scores()) == len(asked)
    for scoring, card in zip(asked, cards, strict=True):
        [kept] = read.scores(scoring)
        assert kept == card.scores[0]
        assert Scoring.from_changes(kept.scoring) == scoring == card.scoring


def test_one_question_in_other_words_is_kept_once(tmp_path):
    run = finish(Run.place(tmp_path, SPEC, 3), seed=7)
    for words in ({}, {"part": "all"}, {"factors": ("column", "row")}, {"sampling": "data"}, {"discrete": "columns"}):
        run.score("mig:quantized", Scoring(**words))
    assert [score.scoring for score in run.scores()] == [{}]
    assert len(run.scores(Scoring(part="all", factors=("row", "column")))) == 1


def test_scores_over_some_factors_are_those_of_codes_with_these_alone(whole):
    card = whole.score("mig:quantized", Scoring(factors=("row",)))
    assert list(card.scores[0].per_factor) == ["row"]
    assert (
        card.scores[0].value == evaluate(whole.codes().with_factors(["row"]), metrics="mig:quantized").scores[0].value
    )
    with pytest.raises(SpecError, match="factor 'rows'"):
        whole.score("mig", Scoring(factors=("rows",)))


def test_a_fraction_of_the_images_is_drawn(whole):
    card = whole.score("mig:quantized", Scoring(fraction=0.5))
    assert card.num_images == 18
    assert "18 images" in card.headline
    with pytest.raises(CodesError):
        whole.codes()[[]]


# ---- scores of the model


def test_scores_of_the_model_are_kept_beside_those_of_codes(tmp_path):
    run = finish(Run.place(tmp_path, SPLIT, 3), seed=7)
    for part in ("train", "test", "all"):
        card = run.score("mig:quantized,elbo,reconstruction-error:absolute", Scoring(part=part))
        assert card.names == ("mig:quantized", "elbo", "reconstruction-error:absolute")
        assert [run.scores(Scoring(part=part))[place] for place in (1, 2)] == [card["elbo"], card.scores[2]]
    assert len(run.scores()) == 9
    held_out, trained, everything = (
        next(score for score in run.scores(Scoring(part=part)) if score.metric == "ELBO").value
        for part in ("test", "train", "all")
    )
    # The parts are complements; an image's draw depends on its row, so this holds up to the noise of single draws.
    assert everything == pytest.approx((9 * held_out + 27 * trained) / 36, abs=0.5)


def test_the_whole_of_the_model_scores_alone(whole):
    card = whole.score("model")
    assert card.higher_is_better == {
        "distortion": False,
        "elbo": True,
        "importance-weighted-bound": True,
        "rate": None,
        "reconstruction-error": False,
        "reconstruction-error:absolute": False,
        "reconstruction-error:cross_entropy": False,
    }
    assert card["elbo"].value == pytest.approx(-card["distortion"].value - card["rate"].value)
    # Of a Bernoulli likelihood the cross-entropy is the distortion by pixel, at the mean code in place of a draw.
    by_pixel = 64 * card["reconstruction-error:cross_entropy"].value
    assert by_pixel == pytest.approx(card["distortion"].value, rel=0.01)


def test_scores_of_the_model_see_weights_and_a_fraction_too(whole):
    some = whole.score("rate", Scoring(fraction=0.5))
    assert some.num_images == 18
    weighted = whole.score("rate", Scoring(sampling=CORRELATED))
    assert len({some.scores[0].value, weighted.scores[0].value, whole.score("rate").scores[0].value}) == 3


def test_images_that_are_not_there_are_told_before_any_work(whole, monkeypatch):
    def refuse(self, verify=False):
        raise DataError("There is no file.")

    monkeypatch.setattr(type(SPEC.dataset), "open", refuse)
    done = []
    with pytest.raises(DataError, match="file"):
        whole.score("mig:quantized,elbo", watch=done.append)
    assert not any(event.about == "scoring" for event in done)


def test_codes_alone_have_no_such_score(whole):
    card = evaluate(whole.codes(), metrics=["mig:quantized", "elbo"])
    assert "Score the run" in card.refused["elbo"]
    with pytest.raises(CodesError, match="needs the model"):
        evaluate(whole.codes(), metrics="elbo,rate")


def test_deterministic_codes_have_a_distortion_and_no_bound(tmp_path):
    spec = replace(SPEC, model=replace(SPEC.model, latents=DeterministicLatents(3)), objective=AAE())
    card = finish(Run.place(tmp_path, spec, 3), seed=7).score("distortion,elbo")
    assert card.names == ("distortion",)
    assert "density" in card.refused["elbo"]


# ---- predictors


def test_predictors_can_be_fitted_on_what_was_trained_on_and_tested_on_what_was_not(split):
    dci = DCI(num_refits=2)
    [score] = split.score([dci], Scoring(part="test", fit="train")).scores
    assert score == evaluate(split.codes(), metrics=[dci], test=split.codes("test")).scores[0]
    assert split.scores(Scoring(part="test", fit="train")) == [score]
    with pytest.raises(SpecError, match="part is 'all'"):
        split.score([dci], Scoring(part="all", fit="train"))


# ---- chosen images


def test_chosen_images_are_scored_whether_they_were_trained_on_or_not(split, whole):
    rows = [0, 7, 8, 21, 35]
    chosen = Scoring(part="all", subset=Rows.from_array(rows))
    for run in (split, whole):
        images = SPEC.dataset.load().select(torch.tensor(rows))
        coded = CodedImages(run.model(), images, torch.arange(5))
        with torch.no_grad():
            expected = -float(coded.log_likelihood(0).mean())
        card = run.score("distortion,mig:quantized", chosen)
        assert card["distortion"].value == pytest.approx(expected)
        assert card["mig:quantized"].value == MIG(Quantized())(run.codes("all")[torch.tensor(rows)]).value
        assert {score.metric for score in run.scores(chosen)} == {"Distortion", "MIG"}
        assert "subset rows" in chosen.phrases[0]


def test_a_subset_chooses_among_all_images():
    with pytest.raises(SpecError, match="part='all'"):
        Scoring(subset=RandomSplit())
