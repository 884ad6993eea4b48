"""One spec over lists of values."""

import numpy as np
import pytest

from tests.training.squares import MLP_SPEC
from unbraid import VAE, BetaTCVAE, BetaVAE, grid, zipped
from unbraid.config.schedule import Linear
from unbraid.errors import SpecError


def test_a_field_takes_each_of_its_values():
    specs = grid(MLP_SPEC, {"objective.beta": [1, 4, np.float64(16)]})
    assert [spec.objective for spec in specs] == [BetaTCVAE(beta=1.0), BetaTCVAE(beta=4.0), BetaTCVAE(beta=16.0)]
    assert isinstance(specs, tuple)
    assert {spec.dataset for spec in specs} == {MLP_SPEC.dataset}


def test_values_may_be_configs_and_schedules():
    specs = grid(MLP_SPEC, {"objective": [VAE(), BetaVAE(), BetaVAE(Linear(0.0, 4.0))]})
    assert [spec.objective for spec in specs] == [VAE(), BetaVAE(), BetaVAE(Linear(0.0, 4.0))]


def test_of_several_fields_every_combination_is_there_and_the_last_runs_fastest():
    specs = grid(MLP_SPEC, {"objective": [BetaVAE(), BetaTCVAE()], "objective.beta": [1, 4], "num_steps": range(5, 7)})
    assert [(type(s.objective), s.objective.beta, s.num_steps) for s in specs] == [
        (kind, beta, steps) for kind in (BetaVAE, BetaTCVAE) for beta in (1, 4) for steps in (5, 6)
    ]


@pytest.mark.parametrize(
    ("values", "complaint"),
    [
        ({}, "{}"),
        ({"objective.beta": 4}, r"'objective.beta'.*4.*\[4\]"),
        ({"precision": "float32"}, r"\['float32'\]"),
        ({"objective": VAE()}, r"\[VAE\(\)\]"),
        ({"objective.beta": []}, "has no values"),
        (
            {"objective.betta": [1]},
            "objective.betta.*=.*1.*BetaTCVAE.*'beta'.*analytic_kl",
        ),
        ({"objective": [BetaVAE(), VAE()], "objective.beta": [1]}, "objective.*VAE.*'beta'"),
        ({"objective.beta": ["4"]}, "objective.beta.*=.*'4'.*BetaTCVAE.*'4'"),
        ({"num_steps": [5, 0]}, "at num_steps = 0: num_steps is 0; expected 1 or more"),
        ({"objective.beta": [1, 4, 1.0]}, "objective.beta.*=.*1.0"),
    ],
)
def test_what_cannot_be_varied_is_refused_with_the_fix(values, complaint):
    with pytest.raises(SpecError, match=complaint):
        grid(MLP_SPEC, values)


def test_zipped_values_go_together():
    specs = zipped(MLP_SPEC, {"objective.beta": [1, 4], "num_steps": [10, 20]})
    assert [(spec.objective.beta, spec.num_steps) for spec in specs] == [(1, 10), (4, 20)]


def test_zipped_lists_of_different_lengths_are_refused():
    with pytest.raises(SpecError, match="objective.beta 2, num_steps"):
        zipped(MLP_SPEC, {"objective.beta": [1, 4], "num_steps": [10]})
