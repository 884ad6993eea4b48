"""The split encoder's items: which claims are the paper's, and which weights are a guess."""

import pytest

from unbraid.papers.split2020 import PAPER, split_encoder
from unbraid.papers.split2020.dsprites import FIGURE3
from unbraid.papers.split2020.nets import BASELINE, SPLIT
from unbraid.papers.split2020.runs import BETAS, FACTOR_VAE, GAMMAS, MIG_OF_MEANS, SPRITES, VAE_, WEIGHTS, label, spec
from unbraid.studies.claims import Near

ITEMS = {item.name: item for item in PAPER.items}


def test_weights_at_the_scale_paper_are_candidates_of_the_calibration() -> None:
    beta, gamma = WEIGHTS["paper"]
    assert beta in BETAS
    assert gamma in GAMMAS
    trained = spec(SPRITES, "paper", FACTOR_VAE, BASELINE)
    assert trained == spec(SPRITES, "paper", FACTOR_VAE, BASELINE, gamma=gamma)
    calibration = {each.label: each.spec for each in ITEMS["calibration"].at("paper").study.settings}
    assert calibration[f"FactorVAE {gamma:g}"] == trained


@pytest.mark.parametrize(("calibrated", "is_control"), [(False, True), (True, False)])
def test_levels_of_a_weight_that_was_guessed_are_controls(
    monkeypatch: pytest.MonkeyPatch, calibrated: bool, is_control: bool
) -> None:
    monkeypatch.setattr(split_encoder, "IS_CALIBRATED", calibrated)
    of_factor_vae = split_encoder.level(FACTOR_VAE, SPLIT, MIG_OF_MEANS, 0.15, 0.35)
    assert of_factor_vae.is_control is is_control
    assert split_encoder.best(FACTOR_VAE, SPLIT, 0.3, 0.06, 10).is_control is is_control
    assert not split_encoder.level(VAE_, SPLIT, MIG_OF_MEANS, 0.08, 0.18).is_control


def test_medians_of_figure_3_are_asked_to_lie_between_the_printed_ticks() -> None:
    near = [claim for claim in FIGURE3.at("paper").claims if isinstance(claim, Near) and claim.best_of is None]
    assert [(claim.setting, claim.value - claim.tolerance, claim.value + claim.tolerance) for claim in near] == [
        (label(VAE_, BASELINE), pytest.approx(0.08), pytest.approx(0.18)),
        (label(VAE_, SPLIT), pytest.approx(0.08), pytest.approx(0.18)),
        (label(FACTOR_VAE, BASELINE), pytest.approx(0.15), pytest.approx(0.35)),
        (label(FACTOR_VAE, SPLIT), pytest.approx(0.15), pytest.approx(0.35)),
    ]


@pytest.mark.parametrize("name", ["figure2", "figure3", "figure4", "figure6", "figure7", "figure11"])
def test_encoders_of_the_size_of_the_baseline_are_controls(name: str) -> None:
    claims = ITEMS[name].at("quick").claims
    ours = [claim for claim in claims if "of the baseline's size" in claim.sentence]
    assert ours
    assert all(claim.is_control for claim in ours)
    assert not any(claim.is_control for claim in claims if claim not in ours)
