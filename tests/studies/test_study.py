"""Study and Setting: configs that are checked when they are made, saved and read back."""

import math
from dataclasses import replace

import pytest

from tests.training.squares import MLP_SPEC
from unbraid import MIG, BetaVAE
from unbraid.errors import SpecError
from unbraid.metrics.estimators import Quantized
from unbraid.metrics.scoring import Scoring
from unbraid.studies import Claim, Setting, Study, difference, median
from unbraid.studies.study import StudyOptions
from unbraid.training.runs import Run, grid

BETA_VAE = replace(MLP_SPEC, objective=BetaVAE())
SETTINGS = Setting.each(grid(BETA_VAE, {"objective.beta": [1, 4]}), range(3))


def test_settings_of_a_grid_are_labeled_by_what_differs():
    assert [setting.label for setting in SETTINGS] == ["beta-vae, beta 1", "beta-vae, beta 4"]
    assert {setting.family for setting in SETTINGS} == {"beta-vae"}


def test_a_study_is_read_back_as_it_was(tmp_path):
    study = Study(
        "sweep",
        SETTINGS,
        question="Which beta?",
        metrics=("sap", MIG(Quantized(num_bins=9))),
        scorings=(Scoring(factors=("row",)),),
        keep="best",
        best_by="sap",
        claims=(Claim("4 is better", difference("sap", "beta-vae, beta 4", "beta-vae, beta 1"), above=0),),
    )
    assert Study.load(study.save(tmp_path / "study.json"), packages=["tests"]) == study


def test_settings_have_seeds_and_steps_of_their_own(tmp_path):
    short = Setting("short", replace(BETA_VAE, num_steps=7), (5,))
    study = Study("mixed", (*SETTINGS, short), metrics=("mig",))
    assert study.num_runs == 7
    assert [each.run.seed for each in study.runs(tmp_path)] == [0, 0, 5, 1, 1, 2, 2]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"name": "../up"}, "'../up'"),
        ({"settings": ()}, "no settings"),
        ({"settings": (SETTINGS[0], SETTINGS[0])}, "'beta-vae, beta 1'"),
        ({"settings": (SETTINGS[0], replace(SETTINGS[0], label="again"))}, "'again'.* seed 0"),
        ({"metrics": ("mgi",)}, "metric 'mgi'"),
        ({"scorings": ()}, "no scorings"),
        ({"keep": "best", "best_by": "dci"}, "'dci'"),
        ({"members_per_fleet": 0}, "got 0"),
        ({"claims": (Claim("s", median("mig", "beta-vae, beta 9"), above=0),)}, "'beta-vae, beta 9'"),
        ({"claims": (Claim("s", median("mgi", "beta-vae, beta 4"), above=0),)}, "'mgi'"),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
)
def test_a_study_that_makes_no_sense_is_refused(change, message):
    with pytest.raises(SpecError, match=message):
        Study(**{"name": "sweep", "settings": SETTINGS, "metrics": ("mig",), **change})


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"seeds": ()}, "no seeds"),
        ({"seeds": (1, 1)}, "twice"),
        ({"seeds": (0, -1)}, "seed is -1"),
        ({"label": " "}, "got ' '"),
    ],
)
def test_so_is_a_setting(change, message):
    with pytest.raises(SpecError, match=message):
        replace(SETTINGS[0], **change)


@pytest.mark.parametrize("content", ["{", "[1]", "{}"])
def test_a_file_that_holds_no_study_is_refused_by_name(tmp_path, content):
    (tmp_path / "study.json").write_text(content)
    with pytest.raises(SpecError, match="study.json"):
        Study.load(tmp_path / "study.json")


def test_so_is_a_file_that_is_not_there(tmp_path):
    with pytest.raises(SpecError, match="No such file"):
        Study.load(tmp_path / "study.json")


def test_runs_are_placed_as_training_places_them(tmp_path):
    setting = replace(SETTINGS[0], seeds=(0, 10, 100))
    placed = [each.run for each in Study("one", (setting,), metrics=("mig",)).runs(tmp_path)]
    assert placed == [Run.place(tmp_path, setting.spec, seed) for seed in setting.seeds]


@pytest.mark.parametrize(
    "options",
    [
        {"on": "mars"},
        {"num_workers": 0},
        {"num_workers": -3},
        {"num_scorers": -1},
        {"budget": -1},
        {"budget": math.nan},
    ],
    ids=str,
)
def test_options_out_of_range_are_refused_by_name(options):
    [(name, value)] = options.items()
    with pytest.raises(SpecError, match=f"{name}.*{value}"):
        StudyOptions(**options)


def test_options_at_the_ends_of_their_ranges_are_accepted():
    options = StudyOptions(on="ray", num_workers=1, num_scorers=0, budget=0.0)
    assert (options.on, options.num_workers, options.num_scorers, options.budget) == ("ray", 1, 0, 0.0)
