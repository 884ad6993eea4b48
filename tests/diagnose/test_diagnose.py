"""Codes and decoders made by hand, whose diagnosis is known."""

import json
import math
import re
import warnings
from dataclasses import replace

import pytest
import torch

from tests.training.runs.finished_runs import SPEC, fail, finish
from unbraid.codes import Codes, CodesOptions
from unbraid.diagnose import diagnose, diagnose_codes
from unbraid.diagnose.factor_checks import joint_accuracy
from unbraid.diagnose.jacobian import jacobian_angles
from unbraid.diagnose.latent_checks import explained_variance
from unbraid.errors import CodesError, SpecError
from unbraid.models.distributions import GaussianLikelihood
from unbraid.training.runs import History, Run
from unbraid.training.runs.run_writer import RunWriter

VALUES = torch.cartesian_prod(torch.arange(4), torch.arange(4), torch.arange(4))
PLACES = (VALUES.double() - 1.5) / math.sqrt(1.25)


def codes_of(*columns: torch.Tensor, std: float | None = 0.1) -> Codes:
    """Codes of the grid: a used latent for each column and one that is unused."""
    mean = torch.stack([*columns, torch.zeros(len(VALUES), dtype=torch.float64)], dim=1)
    widths = None if std is None else torch.full_like(mean, std)
    if widths is not None:
        widths[:, -1] = 1.0
    return Codes.from_arrays(mean, widths, factors=VALUES, options=CodesOptions(factor_names=("a", "b", "c")))


def one_each() -> Codes:
    return codes_of(*PLACES.unbind(dim=1))


def test_a_latent_for_each_factor_has_nothing_wrong():
    found = diagnose_codes(one_each(), lambda z: torch.cat([z[:, :3], z[:, 3:] * 0], dim=1))
    assert [finding.state for finding in found.findings] == ["fine"] * 6
    assert found["collapsed latents"].numbers["unused"] == [3]
    assert found["decoder's Jacobian"].numbers["mean"] == pytest.approx(0.0, abs=1e-12)
    assert found["factors without a latent"].numbers["best_latent"] == {"a": 0, "b": 1, "c": 2}
    assert "No problems were found" in str(found)
    with pytest.raises(KeyError, match="check 'beta'"):
        found["beta"]


@pytest.mark.parametrize("given", [-5, 1, "all", 2.5])
def test_a_number_of_images_below_two_is_refused(given):
    with pytest.raises(SpecError, match=rf"num_images.* {re.escape(repr(given))}"):
        diagnose_codes(one_each(), num_images=given)


def test_codes_that_say_nothing_have_collapsed():
    found = diagnose_codes(codes_of(torch.zeros(64, dtype=torch.float64), std=1.0))
    collapsed = found["collapsed latents"]
    assert (collapsed.state, collapsed.numbers["used"]) == ("look", [])
    assert "2 of 2" in collapsed.sentence
    assert ": a smaller weight of the rate" in found.advice[0]
    assert found["factors without a latent"].state == "look"
    assert found["factors without a latent"].sentence == "No latent is used, so no latent encodes a, b and c."


@pytest.mark.parametrize("check", ["factors of two latents", "latents of two factors"])
def test_nothing_is_shared_or_mixed_where_no_latent_is_used_or_holds_a_factor(check):
    collapsed = diagnose_codes(codes_of(torch.zeros(64, dtype=torch.float64), std=1.0))[check]
    assert (collapsed.state, collapsed.sentence) == ("unknown", "No latent is used.")
    noise = torch.randn(64, 2, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    unrelated = diagnose_codes(codes_of(*noise.unbind(dim=1), std=0.7))[check]
    assert (unrelated.state, unrelated.sentence) == ("unknown", "No latent encodes a factor.")


def test_one_latent_shares_nothing_and_needs_company():
    a, b, _ = PLACES.unbind(dim=1)
    codes = Codes.from_arrays((a + 0.4 * b)[:, None], torch.full((64, 1), 0.1), factors=VALUES[:, :2])
    found = diagnose_codes(codes)
    assert found["collapsed latents"].sentence == "The only latent is used, but the data have 2 factors."
    assert found["factors of two latents"].sentence == "Only one latent is used."
    nothing = diagnose_codes(Codes.from_arrays(torch.zeros(64, 1), torch.ones(64, 1), factors=VALUES))
    assert nothing["collapsed latents"].sentence == (
        "The only latent is unused (less than 0.01 nats about the image). The code has collapsed: no latent is used."
    )


def test_a_factor_in_a_mean_that_is_drowned_in_noise_is_not_called_spread():
    a = PLACES[:, 0].repeat(20)
    codes = Codes.from_arrays(a[:, None], torch.full((1280, 1), 3.0), factors={"a": VALUES[:, 0].repeat(20)})
    found = diagnose_codes(codes)["factors without a latent"]
    assert "0 predicts" in found.sentence
    assert "spread" not in found.sentence
    assert found.advice == ("To encode a: a smaller weight of the rate.",)


def test_discrete_latents_alone_raise_no_warning():
    tables = torch.softmax(torch.randn(64, 3, generator=torch.Generator().manual_seed(0)), dim=1)
    codes = Codes(torch.zeros(64, 0), torch.zeros(64, 0), probabilities=(tables,))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = diagnose_codes(codes, lambda z: z)
    assert found["decoder's Jacobian"].sentence == "Fewer than two continuous latents are used."


def test_too_few_latents_are_told_from_enough():
    a, b, c = PLACES.unbind(dim=1)
    assert "only 2 latents" in diagnose_codes(codes_of(a, b))["collapsed latents"].sentence
    full = Codes.from_arrays(torch.stack([a, b], dim=1), torch.full((64, 2), 0.1), factors=VALUES)
    assert "3 latents" in diagnose_codes(full)["collapsed latents"].advice[0]
    assert diagnose_codes(codes_of(a, b, c))["collapsed latents"].state == "fine"


def test_one_latent_is_enough_for_one_factor():
    a = PLACES[:, 0]
    alone = replace(codes_of(a), factors=codes_of(a).factors[:1])
    found = diagnose_codes(alone)["collapsed latents"]
    assert (found.state, found.sentence.endswith(": 1. Used latents: 1, factors: 1.")) == ("fine", True)
    assert "only latent 0" in diagnose_codes(codes_of(a))["collapsed latents"].sentence


def test_a_latent_that_is_the_square_of_another_is_redundant_one_way():
    x = torch.linspace(-1, 1, 1000, dtype=torch.float64)
    explained = explained_variance(torch.stack([x, x.square(), torch.sin(997 * x)], dim=1))
    assert explained[0, 1] > 0.97  # the groups of x are narrow
    assert explained[1, 0] < 0.01  # x^2 does not tell the sign
    assert explained[0, 2] < 0.05
    a, b, _ = PLACES.unbind(dim=1)
    found = diagnose_codes(codes_of(a, b, a + 0.01 * b))["redundant latents"]
    assert (found.state, found.numbers["pair"]) == ("look", [0, 2])
    assert "latent 0" in found.sentence


def test_the_three_worst_of_many_redundant_pairs_are_told_and_the_rest_counted():
    a, b, _ = PLACES.unbind(dim=1)
    found = diagnose_codes(codes_of(*(a + 0.02 * n * b for n in range(5))))["redundant latents"]
    assert found.sentence.count("of the variance of") == 3
    assert found.sentence.endswith("; likewise 7 more pairs of latents.")
    assert len(found.numbers["explained"]) == 10


def test_what_one_latent_explains_is_told_with_its_direction():
    x = torch.linspace(-1, 1, 1000, dtype=torch.float64)

    def told(*columns):
        codes = Codes.from_arrays(torch.stack(columns, dim=1), torch.full((1000, len(columns)), 0.1))
        return diagnose_codes(codes)["redundant latents"].sentence

    assert told(x, x.square()) == "Latent 0 explains 99 % of the variance of latent 1."
    assert told(x.square(), x) == "Latent 1 explains 99 % of the variance of latent 0."
    noisy = x.square() + 2 * torch.sin(997 * x)
    mild = "^No latent can be predicted from another.* [0-9]+ %, of latent 1 by latent 0"
    assert re.search(mild, told(x, noisy))
    assert re.search("[0-9]+ %, of latent 0 by latent 1", told(noisy, x))


def test_noise_explains_nothing():
    noise = torch.randn(400, 5, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    off = explained_variance(noise)[~torch.eye(5, dtype=torch.bool)]
    assert off.max() < 0.1  # 19 groups of 20 would explain 0.05 by chance


@pytest.mark.parametrize("degrees", [0, 20, 45])
def test_columns_of_a_shear_meet_at_its_angle(degrees):
    angle = math.radians(90 - degrees)
    matrix = torch.tensor([[1.0, math.cos(angle)], [0.0, math.sin(angle)]], dtype=torch.float64)
    z = torch.randn(5, 2, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    angles = jacobian_angles(lambda codes: codes @ matrix.T, z, (0, 1))
    assert angles.mean == pytest.approx(math.cos(angle), abs=1e-12)
    torch.testing.assert_close(angles.lengths, torch.ones(2, dtype=torch.float64))


def test_turned_latents_of_unlike_strength_have_larger_angles():
    # Columns of lengths 10 and 1, orthogonal: a turn by t has |cos| = 99 sin t cos t / sqrt(...) > 0.
    z = torch.randn(5, 2, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    stretch = torch.tensor([10.0, 1.0], dtype=torch.float64)
    angles = jacobian_angles(lambda codes: codes * stretch, z, (0, 1))
    assert angles.mean == pytest.approx(0.0, abs=1e-12)
    assert angles.turned > 0.7
    half = jacobian_angles(lambda codes: codes * torch.tensor([1.0, 0.0], dtype=torch.float64), z, (0, 1))
    assert math.isnan(half.mean)  # a latent that moves nothing has no angle
    with pytest.raises(CodesError, match="two or more"):
        jacobian_angles(lambda codes: codes, z, (0,))


def test_a_nonlinear_decoder_is_differentiated_at_its_codes():
    z = torch.tensor([[0.5, 2.0]], dtype=torch.float64)
    angles = jacobian_angles(lambda c: torch.stack([c[:, 0] * c[:, 1], c[:, 1]], dim=1), z, (0, 1))
    # The columns are (2, 0) and (0.5, 1).
    assert angles.mean == pytest.approx(0.5 / math.sqrt(1.25), abs=1e-12)


def test_latents_that_move_the_image_alike_are_looked_at():
    found = diagnose_codes(one_each(), lambda z: z[:, :1] + z[:, 1:2] + 1e-3 * z[:, :3])["decoder's Jacobian"]
    assert found.state == "look"
    assert found.numbers["pair"] == [0, 1]


def test_a_latent_that_the_decoder_ignores_is_named():
    found = diagnose_codes(one_each(), lambda z: z[:, [0, 2]])["decoder's Jacobian"]
    assert (found.state, found.numbers["moves_nothing"], found.numbers["pair"]) == ("look", [1], [0, 2])
    assert "does not depend on latent 1." in found.sentence
    assert "0.00" in found.sentence
    assert len(found.advice) == 1  # nothing of latents that are alike
    alone = diagnose_codes(one_each(), lambda z: z[:, :1])["decoder's Jacobian"]
    assert "1 and 2" in alone.sentence
    assert "nan" not in alone.sentence
    # Latent 0 moves images in which latent 2 is positive, latent 1 the others.
    switch = diagnose_codes(one_each(), lambda z: z[:, :2] * torch.stack([z[:, 2] > 0, z[:, 2] < 0], dim=1))
    assert "so there is no angle" in switch["decoder's Jacobian"].sentence
    broken = diagnose_codes(one_each(), lambda z: z[:, :3] * math.nan)["decoder's Jacobian"]
    assert broken.state == "unknown"


def test_a_factor_that_is_in_no_latent_is_spread_or_lost():
    a, b, _ = PLACES.unbind(dim=1)
    lost = diagnose_codes(codes_of(a, b))["factors without a latent"]
    assert (lost.state, lost.numbers["together"]) == ("look", {"c": 0.0})
    assert "c (largest share: 0" in lost.sentence
    # Parity needs both latents: neither alone says anything of it.
    parity = (VALUES[:, 0] + VALUES[:, 1]) % 2
    many = Codes.from_arrays(
        torch.stack([a, b], dim=1).repeat(20, 1),
        torch.full((1280, 2), 0.1),
        factors={"parity": parity.repeat(20), "a": VALUES[:, 0].repeat(20)},
    )
    spread = diagnose_codes(many)["factors without a latent"]
    assert "spread over several" in spread.sentence
    assert spread.numbers["together"]["parity"] == pytest.approx(1.0)
    assert joint_accuracy(many, many.factors[0], []) == 0.0


def test_factors_in_two_latents_and_latents_of_two_factors_are_named():
    a, b, c = PLACES.unbind(dim=1)
    twice = diagnose_codes(codes_of(a, b, c, a + 0.05 * b))
    assert "a (latent 0: " in twice["factors of two latents"].sentence
    assert twice["factors of two latents"].numbers["second_latent"] == {"a": 3}
    turned = diagnose_codes(codes_of(0.8 * a + 0.6 * b, 0.8 * b - 0.6 * a, c))
    mixed = turned["latents of two factors"]
    assert mixed.state == "look"
    assert set(mixed.numbers["shares"]) == {"0", "1"}
    assert re.search("latent 0", mixed.sentence)


@pytest.mark.slow
@pytest.mark.parametrize(("std", "state"), [(0.05, "look"), (0.001, "unknown")])
def test_few_images_of_noise_hold_no_factor(std, state):
    generator = torch.Generator().manual_seed(0)
    angle = torch.randint(0, 40, (500,), generator=generator)
    codes = Codes.from_arrays(
        torch.randn(500, 2, generator=generator), torch.full((500, 2), std), factors={"angle": angle}
    )
    found = diagnose_codes(codes)
    assert found["factors of two latents"].numbers["by_chance"]["angle"] > 0.2  # what shuffled labels have
    assert found["factors without a latent"].state == state
    assert found["factors of two latents"].state == "unknown"
    if state == "look":
        assert "latent encodes angle" in found["factors without a latent"].sentence
    else:
        assert "angle (9" in found["factors without a latent"].sentence


def test_what_is_not_known_is_said():
    means = diagnose_codes(replace(codes_of(*PLACES.unbind(dim=1), std=None), factors=()))
    assert means["factors without a latent"].state == "unknown"
    assert means["decoder's Jacobian"].sentence == "No decoder was given."
    assert means["collapsed latents"].numbers["unused"] == [3]  # from the spread of the means
    with pytest.raises(CodesError, match="got list"):
        diagnose_codes([[1.0]])
    with pytest.raises(CodesError, match="'decoder'"):
        diagnose_codes(one_each(), "decoder")


def test_weights_of_images_count():
    weights = torch.zeros(64, dtype=torch.float64)
    weights[VALUES[:, 2] == 0] = 1.0  # c never varies
    found = diagnose_codes(replace(one_each(), weights=weights))
    assert set(found["factors without a latent"].numbers["best_share"]) == {"a", "b"}
    assert found["collapsed latents"].numbers["unused"] == [2, 3]
    assert found["collapsed latents"].numbers["num_factors"] == 2  # so two latents are enough
    assert found["collapsed latents"].state == "fine"


def test_a_run_is_diagnosed_whole(tmp_path):
    spec = replace(SPEC, model=replace(SPEC.model, likelihood=GaussianLikelihood(std=30.0)))
    found = diagnose(finish(Run.place(tmp_path, spec, 3), seed=7), num_images=40)
    assert len(found.findings) == 8
    # The writer of the history wrote no rate, and the likelihood is far too wide.
    assert found["effective beta"].state == "look"
    assert found["effective beta"].sentence.startswith("The history of the run has no rate.")
    assert str(found).startswith(f"{tmp_path}/")
    content = json.loads(found.to_json())
    assert [finding["check"] for finding in content["findings"]] == [finding.check for finding in found.findings]
    assert content["advice"] == list(found.advice)


def test_a_run_that_failed_is_told_why_and_what_to_try(tmp_path):
    run = Run.place(tmp_path, replace(SPEC, num_steps=100), 3)
    writer = RunWriter(run)
    writer.begin()
    writer.write_history(
        History(("step", "loss", "distortion", "rate"), [(1.0, 120.0, 100.0, 10.0), (2.0, 150.0, 110.0, 20.0)])
    )
    fail(run, 3, "the loss was not finite")
    found = diagnose(run)
    assert found.asking == ("length of training",)
    assert found["length of training"].sentence == (
        "Training failed at step 3 of 100: the loss was not finite. The last logged loss was 150 nats per image, "
        "at step 2."
    )
    assert "beta" in found["effective beta"].numbers
    assert re.fullmatch(
        r"Train again with a smaller learning rate \(.* instead of .*\), or with max_gradient_norm=1.", found.advice[0]
    )


def test_a_decoder_whose_weights_are_still_trained_is_diagnosed_without_a_warning():
    codes = Codes.from_arrays(torch.randn(50, 2, generator=torch.Generator().manual_seed(0)).numpy())
    weights = torch.nn.Parameter(torch.tensor([[1.0, 0.5, 0.0], [0.0, 1.0, 2.0]]))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = diagnose_codes(codes, lambda z: z.float() @ weights)
    assert next(each for each in found.findings if each.check == "decoder's Jacobian").state in ("fine", "look")
