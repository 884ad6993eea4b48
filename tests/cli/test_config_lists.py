"""`unbraid objectives`, `unbraid metrics` and `unbraid models`."""

import inspect

import pytest

from unbraid.cli.flags import flags_of, known_fields
from unbraid.config.annotations import choices
from unbraid.metrics import DCI, Metric
from unbraid.metrics.model import ModelScore
from unbraid.models import Architecture
from unbraid.models.distributions import Latents, Likelihood
from unbraid.objectives import BetaTCVAE, Objective


@pytest.mark.parametrize(
    ("command", "kinds"),
    [
        ("objectives", [Objective]),
        ("metrics", [Metric, ModelScore]),
        ("models", [Architecture, Latents, Likelihood]),
    ],
)
def test_what_there_is_is_listed_with_one_line_each(unbraid, command, kinds):
    outcome = unbraid(command)
    assert (outcome.code, outcome.err) == (0, "")
    first_words = [line.split()[0] for line in outcome.out.splitlines() if line.strip()]
    for kind in kinds:
        for name in choices(kind):
            [line, *others] = [line for line in outcome.out.splitlines() if line.split()[:1] == [name]]
            assert len(line.split()) > 2
            assert not others or name in ("bernoulli", "gaussian", "laplace")  # latents and likelihoods
            assert name in first_words


def test_a_line_is_the_first_line_of_the_docstring():
    flags = flags_of(known_fields("train"))
    assert flags["objective"].configs["beta-tcvae"] == inspect.getdoc(BetaTCVAE).splitlines()[0]
    assert flags_of(known_fields("score"))["metric"].configs["dci"] == inspect.getdoc(DCI).splitlines()[0]
    assert "dSprites" in flags["model.encoder"].configs["mlp"]
