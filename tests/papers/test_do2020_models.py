"""What is asked of models of Do & Tran beyond their scores: known answers from made-up codes and scores."""

from dataclasses import dataclass

import numpy as np
import pytest
import torch

from tests.studies.made_scores import made_scores
from unbraid import Codes, evaluate
from unbraid.data import DSprites
from unbraid.figures.canvas import data_of
from unbraid.metrics import JEMMIG, MISJED, RMIG, Correlations, Separability
from unbraid.metrics.estimators import Quantised, Sampled
from unbraid.metrics.metric import Score
from unbraid.metrics.reductions.statistics import Statistics
from unbraid.papers.do2020.estimators import joint_entropies
from unbraid.papers.do2020.face_models import RESIDUAL, TOLD, distance_to_data, gaps
from unbraid.papers.do2020.fashion import rescaled
from unbraid.papers.do2020.latent_pairs import EXCESS, GROUPS, excess_of_means, misjed_of_groups
from unbraid.papers.do2020.num_latents import others_less_joint
from unbraid.papers.do2020.pictures import BY_INFORMATION, about, in_file_name, some_rows, sprite
from unbraid.papers.do2020.repeated_runs import COUNT, WIDTH, agreement, spread_of_means
from unbraid.papers.do2020.runs import BINS, STATED_OPTIMISER, curves, spec, sprite_setting
from unbraid.papers.do2020.sprites_shown import LARGEST, ON_DEAD, _of_weights, weights_on_dead
from unbraid.papers.registry import items
from unbraid.recipes import text_of
from unbraid.studies.latent_agreement import METRIC as AGREEMENT


def codes_of(*columns: torch.Tensor, std: tuple[float, ...], factors=None) -> Codes:
    mean = torch.stack([column.double() for column in columns], dim=1)
    return Codes.from_arrays(mean, std=torch.tensor(std).double().expand_as(mean).clone(), factors=factors)


@dataclass
class Made:
    """Has what is read of a run."""

    found: Codes
    kept: dict[str, Score] | None = None
    images: torch.Tensor | None = None

    def codes(self) -> Codes:
        return self.found

    def named_scores(self, scoring=None):
        return self.kept

    @property
    def spec(self):
        return self

    @property
    def training_data(self):
        return self

    def open(self):
        return self

    def __len__(self) -> int:
        return len(self.images)

    def batch(self, rows):
        return self.images[rows]

    def model(self):
        return self

    def decode(self, z):
        return z[:, :1, None, None].expand(-1, 1, 2, 2)


RAMP = torch.linspace(-2, 2, 500)
NOISE = torch.randn(500, generator=torch.Generator().manual_seed(0))


def test_the_start_is_the_sprite_of_the_authors() -> None:
    factors = DSprites().factors
    places = np.unravel_index(sprite(DSprites(), 2), [factor.size for factor in factors])
    values = {factor.name: int(place) for factor, place in zip(factors, places, strict=True)}
    assert values == {"shape": 2, "scale": 3, "orientation": 20, "position_x": 16, "position_y": 16}
    # Where there are fewer values, the last ones.
    assert sprite(DSprites(resolution=32, num_orientations=2, num_positions=2), 0) == 31


def test_a_range_is_about_the_code() -> None:
    assert about(torch.tensor([1.0, -0.5]), [1]) == {1: (-3.5, 2.5)}


def test_codes_in_units_of_their_width_have_width_one_and_other_jemmig() -> None:
    factor = (RAMP > 0).long()
    narrow = codes_of(0.1 * RAMP, NOISE, std=(0.02, 1.0), factors={"side": factor.numpy()})
    wide = rescaled(narrow)
    variance = wide.mean.var(dim=0, correction=0) + wide.std.square().mean(dim=0)
    torch.testing.assert_close(variance, torch.ones(2, dtype=torch.float64))
    before, after = (evaluate(each, [JEMMIG(BINS)], progress=False).scores[0].value for each in (narrow, wide))
    assert before < after  # the narrow latent was rewarded


def test_the_gap_of_an_attribute_is_that_of_its_first_two_latents() -> None:
    codes = codes_of(
        RAMP, 0.5 * RAMP + 0.5 * NOISE, NOISE, std=(0.1, 0.3, 1.0), factors={"Bangs": (RAMP > 0).numpy() * 1}
    )
    card = evaluate(codes, [RMIG(BINS)], progress=False)
    found = gaps(Made(codes, {text_of(RMIG(BINS)): card.scores[0]}), "Bangs")
    assert found[RESIDUAL] == pytest.approx(0, abs=1e-12)
    assert found[TOLD] == found[f"{TOLD}:Bangs 1"] >= found[f"{TOLD}:Bangs 2"] >= found[f"{TOLD}:Bangs 3"]


def test_images_that_leave_the_data_are_farther_from_it() -> None:
    """The model decodes latent 0 as the brightness of all pixels, and the data are as bright as their codes."""
    codes = codes_of(RAMP, NOISE, std=(0.1, 1.0))
    score = evaluate(codes, [BY_INFORMATION], progress=False).scores[0]
    images = RAMP.double()[:, None, None, None].expand(-1, 1, 2, 2)
    found = distance_to_data(Made(codes, {text_of(BY_INFORMATION): score}, images), num_starts=20)
    assert found["distance-to-data:unmoved"] == pytest.approx(0, abs=1e-6)
    # Latent 1 moves nothing; latent 0 by 3 to one side at least leaves a range of 4.
    assert 0.25 < found["distance-to-data"] < 1.5


def test_runs_that_learn_the_same_latents_in_another_order_agree() -> None:
    other = torch.sin(5 * RAMP)
    first = codes_of(RAMP, other, NOISE, std=(0.1, 0.1, 1.0))
    second = codes_of(-other, RAMP, NOISE, std=(0.1, 0.1, 1.0))
    found = agreement({0: Made(first), 1: Made(second)})
    assert found[0][AGREEMENT] == pytest.approx(1.0, abs=0.05)
    assert found[1][COUNT] == 2  # two posteriors are narrow, that of the noise is not
    assert spread_of_means(Made(first))[f"{WIDTH}:greatest"] == pytest.approx(RAMP.std(correction=0).item(), rel=1e-6)


def test_rows_are_the_same_for_every_run() -> None:
    many = codes_of(torch.linspace(0, 1, 25_000), std=(0.1,))
    assert some_rows(many).mean[:3, 0].tolist() == many.mean[[0, 3, 6], 0].tolist()
    assert len(some_rows(many)) == 8334


def test_a_huge_weight_of_a_latent_that_says_nothing_is_found() -> None:
    codes = codes_of(RAMP, 1e-6 * NOISE, std=(0.1, 1.0))
    raw, standardised = (text_of(metric) for metric in _of_weights("paper").values())
    huge, fair = torch.tensor([[0.5], [60.0]]), torch.tensor([[0.5], [0.1]])
    kept = {
        raw: Score("DCI", 0.0, tables={"importance": huge}),
        standardised: Score("DCI", 0.0, tables={"importance": fair}),
    }
    found = weights_on_dead(Made(codes, kept), "paper")
    assert (found[ON_DEAD], found[LARGEST], found[f"{ON_DEAD}:standardised"]) == (1.0, 60.0, 0.0)


def test_models_of_faces_and_clothes_have_the_optimiser_that_is_stated() -> None:
    """Only models of dSprites are trained as the authors' code does, which the paper does not say."""
    of_items = {
        name: items()[f"do2020/{name}"].at("paper").study.settings
        for name in ("table6", "table6-faces", "figure26", "table6-fashion", "table8")
    }
    found = {name: {setting.spec.optimiser for setting in settings} for name, settings in of_items.items()}
    assert found.pop("table8") == {sprite_setting("paper", "beta-VAE 50").spec.optimiser} != {STATED_OPTIMISER}
    assert all(optimisers == {STATED_OPTIMISER} for optimisers in found.values())
    assert spec("paper", "beta-VAE 4").optimiser.learning_rate == 1e-4


@pytest.mark.parametrize("item", [i for i in items().values() if i.paper == "do2020"], ids=lambda item: item.id)
def test_a_choice_is_told_once(item) -> None:
    names = [choice.what for choice in item.choices]
    assert len(names) == len(set(names))
    if item.id.endswith("-faces"):
        told = " ".join(choice.taken for choice in item.choices) + item.title + item.claim
        assert "photograph" not in told
        assert "six attributes" not in told


def test_pairs_of_latents_are_grouped_by_what_they_say() -> None:
    codes = codes_of(RAMP, -RAMP, 1e-6 * NOISE, 1e-6 * RAMP, std=(0.1, 0.1, 1.0, 1.0))
    table = torch.tensor([[0.0, 0.1, 0.4, 0.5], [0.1, 0.0, 0.4, 0.5], [0.4, 0.4, 0.0, 0.8], [0.5, 0.5, 0.8, 0.0]])
    metric = MISJED(Quantised(10))
    kept = {text_of(metric): Score("MISJED", 0.0, tables={"misjed_normalised": table})}
    found = misjed_of_groups(Made(codes, kept), metric)
    expected = {"informative": 0.1, "mixed": 0.45, "noise": 0.8}
    assert {name: found[f"{GROUPS}:{name}"] for name in expected} == pytest.approx(expected)
    assert found[GROUPS] == pytest.approx((0.1 + 4 * 0.45 + 0.8) / 6)
    without = misjed_of_groups(
        Made(
            codes_of(RAMP, -RAMP, std=(0.1, 0.1)),
            {text_of(metric): Score("", 0.0, tables={"misjed_normalised": table[:2, :2]})},
        ),
        metric,
    )
    assert f"{GROUPS}:noise" not in without


def test_correlations_of_means_are_too_high_where_a_latent_is_dead() -> None:
    codes = codes_of(RAMP, NOISE, 1e-6 * RAMP, std=(0.1, 0.1, 1.0))
    score = evaluate(codes, [Correlations()], progress=False).scores[0]
    found = excess_of_means(Made(codes, {text_of(Correlations()): score}))
    # Latents 0 and 2 have the same means but for their size; a draw of latent 2 is noise.
    assert found[f"{EXCESS}:with a dead latent"] > 0.3
    assert abs(found[f"{EXCESS}:of live latents"]) < 0.02


def test_the_joint_entropy_is_what_jemmig_and_rmig_add_up_to() -> None:
    factor = (RAMP > 0).long()
    codes = codes_of(RAMP, NOISE, std=(0.1, 1.0), factors={"side": factor.numpy()})
    kept = {}
    for number in (20, 50, 80, 100, 150, 200, 300, 500):
        for kind in (RMIG, JEMMIG):
            metric = kind(Quantised(number, masses="rectangle"))
            kept[text_of(metric)] = evaluate(codes, [metric], progress=False).scores[0]
    found = joint_entropies(Made(codes, kept))
    information = Quantised(100, masses="rectangle").information(Statistics(codes))
    assert found["joint-entropy:100"] == pytest.approx(float(information.joint_entropy[0, 0]), abs=1e-9)
    assert found["joint-entropy:500"] > found["joint-entropy:20"]


def test_the_entropy_of_others_less_that_of_all_is_minus_that_of_one_among_independent_latents() -> None:
    kept = {
        text_of(Separability(Sampled(10_000), *settings)): Score(
            "Separability",
            0.0,
            tables={"entropy_of_others": torch.full((20,), 19 * 1.4), "joint_entropy": torch.tensor([20 * 1.4 - lost])},
        )
        for settings, lost in (((), 0.0), (("mc", 1e-8), 1.4))
    }
    found = others_less_joint(Made(codes_of(RAMP, std=(1.0,)), kept), "paper")
    assert found == pytest.approx({"others-less-joint": 0.0, "others-less-joint:plain": -1.4}, abs=1e-5)


def test_a_curve_has_the_median_of_each_setting_at_each_place() -> None:
    pytest.importorskip("matplotlib")
    scores = made_scores({"VAE 1": {"few": [1.0, 2.0, 6.0], "many": [3.0, 3.0]}})
    (axes,) = curves({"RMIG": {20: "few", 100: "many"}}, "bins")(scores, {})
    assert [row["RMIG"] for row in data_of(axes)] == [2.0, 3.0]


def test_a_weight_that_is_not_whole_makes_a_file_name_without_a_second_dot() -> None:
    assert in_file_name("FactorVAE 16.7, latents 100") == "factorvae-16-7-latents-100"
