"""The first study: its file is what its script makes, and its evidence is of these settings."""

from pathlib import Path

import pytest

from examples.sprites_page import page
from examples.sprites_study import FILE, study
from unbraid.studies import Evidence, Study

EVIDENCE = Path(__file__).parents[2] / "evidence" / "studies" / "sprites.json"


@pytest.fixture(scope="module")
def made():
    return study()


def test_the_file_is_what_the_script_makes(made):
    assert Study.load(FILE) == made


def test_the_evidence_is_of_these_runs(made):
    scores = Evidence.load(EVIDENCE).scores
    assert scores.settings == tuple(setting.label for setting in made.settings)
    seeds = {(setting.label, seed) for setting in made.settings for seed in setting.seeds}
    assert {(run.setting, run.seed) for run in scores.runs} == seeds
    assert {run.state for run in scores.runs} == {"finished"}


def test_a_page_is_made_of_the_evidence():
    text = page()
    assert "| HFVAE 8" in text
    assert "ELBO falls" in text
