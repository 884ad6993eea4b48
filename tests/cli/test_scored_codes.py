"""`unbraid score`: which codes are scored, and how."""

import numpy as np
import pytest

from tests.cli.conftest import TINY
from unbraid.cli import main
from unbraid.metrics.scoring import Scoring
from unbraid.training.runs import Run

pytestmark = pytest.mark.usefixtures("_few_metrics")


@pytest.fixture(scope="module")
def split(tmp_path_factory):
    """A run that held a quarter of its images out."""
    folder = tmp_path_factory.mktemp("split") / "runs"
    flags = ["--subset", "random-split", "--subset.fraction", "0.75", "--out", folder]
    with pytest.raises(SystemExit) as left:
        main([str(flag) for flag in ("train", *TINY, *flags)])
    assert not left.value.code
    return min(folder.iterdir())


def test_the_held_out_part_is_scored(unbraid, split):
    for part, num_images in (("train", 48), ("test", 16), ("all", 64)):
        outcome = unbraid("score", split, "--metrics", "mig,elbo", "--part", part)
        assert outcome.code == 0, outcome.err
        assert f"{num_images} images" in outcome.out
    assert "trained" in outcome.out
    run = Run.open(split)
    assert [len(run.scores(Scoring(part=part))) for part in ("train", "test", "all")] == [2, 2, 2]


def test_the_held_out_part_of_a_run_without_one_is_told_in_a_line(unbraid, trained):
    outcome = unbraid("score", trained, "--metrics", "mig", "--part", "test")
    assert outcome.code == 2
    assert "dataset. Train" in outcome.err


def test_factors_are_chosen_and_named(unbraid, trained):
    outcome = unbraid("score", trained, "--metrics", "mig", "--factors", "scale,position_x")
    assert outcome.code == 0, outcome.err
    assert "scale, position_x" in outcome.out
    assert "position_y" not in outcome.out
    outcome = unbraid("score", trained, "--metrics", "all", "--factors", "scale,position_x")
    assert outcome.out.splitlines()[1].strip() == "over scale, position_x"


def test_other_weights_and_a_fraction_are_said_in_the_title(unbraid, trained):
    flags = ("--metrics", "mig", "--sampling", "correlated:shape,scale:0.2", "--fraction", "0.5")
    outcome = unbraid("score", trained, *flags)
    assert outcome.code == 0, outcome.err
    assert "random (50" in outcome.out.replace("\n", " ")
    assert unbraid("score", trained, "--metrics", "mig", "--sampling", "data").code == 0


@pytest.mark.parametrize(
    ("flags", "complaint"),
    [
        (["--part", "tests"], "Did you mean 'test'?"),
        (["--fraction", "half"], "--fraction is 'half'; expected a number."),
        (["--fraction", "2"], "fraction is 2.0"),
        (["--discrete", "hidden"], "Valid: columns, left_out."),
        (["--sampling", "correlate"], "Valid: chen-design, correlated, joint-table, product"),
        (["--factors", "scales"], "no factor 'scales'. Did you mean 'scale'?"),
    ],
)
def test_a_slip_in_these_is_told_in_a_line(unbraid, trained, flags, complaint):
    outcome = unbraid("score", trained, "--metrics", "mig", *flags)
    assert outcome.code == 2
    assert complaint in outcome.err.replace("\n", " ")


def test_a_file_of_codes_has_factors_discrete_latents_and_fractions_but_no_parts(unbraid, arrays, tmp_path):
    probabilities = np.full((60, 3), 1 / 3)
    np.savez(tmp_path / "codes.npz", **arrays, factor_names=["a", "b"], probabilities_0=probabilities)
    outcome = unbraid("score", tmp_path / "codes.npz", "--metrics", "mig", "--factors", "a", "--fraction", "0.5")
    assert outcome.code == 0, outcome.err
    assert "MIG over" in outcome.out
    outcome = unbraid("score", tmp_path / "codes.npz", "--metrics", "mig", "--part", "test")
    assert (outcome.code, "file of codes" in outcome.err) == (2, True)
