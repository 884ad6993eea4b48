"""Fields of configs by dotted paths."""

import re
from dataclasses import replace

import pytest

from tests.training.squares import MLP_SPEC, Squares
from unbraid.config.paths import fields_of, with_fields
from unbraid.errors import SpecError
from unbraid.models import MLP, Conv
from unbraid.models.distributions import ConcreteLatents, GaussianLatents, GroupedLatents
from unbraid.objectives import VAE, BetaVAE

GROUPED = replace(
    MLP_SPEC, model=replace(MLP_SPEC.model, latents=GroupedLatents((GaussianLatents(2), ConcreteLatents(3))))
)


def test_every_field_has_a_path():
    fields = fields_of(replace(MLP_SPEC, objective=BetaVAE(4.0)))
    assert fields["objective"] == BetaVAE(4.0)
    assert fields["objective.beta"] == 4.0
    assert fields["model.encoder.hidden"] == (12,)
    assert fields["critic"] is None
    assert fields_of(GROUPED)["model.latents.parts.1.categories"] == 3


def test_fields_are_changed_wherever_they_lie():
    changed = with_fields(GROUPED, {"num_steps": 7, "model.latents.parts.0.size": 5, "model.encoder.hidden": [3, 4]})
    assert changed.num_steps == 7
    assert changed.model.latents.parts == (GaussianLatents(5), ConcreteLatents(3))
    assert changed.model.encoder == MLP(hidden=(3, 4), decoder_hidden=(12,))
    assert GROUPED.num_steps == 50


def test_a_path_into_a_new_value_goes_into_that_whatever_the_order():
    for changes in (
        {"objective": BetaVAE(), "objective.beta": 3},
        {"objective.beta": 3, "objective": BetaVAE()},
    ):
        assert with_fields(MLP_SPEC, changes).objective == BetaVAE(3.0)


def test_all_change_at_once_so_no_spec_in_between_is_refused():
    # Of 8 x 8 pixels Conv would refuse, and 32 x 32 pixels are enough for it.
    changed = with_fields(MLP_SPEC, {"model.encoder": Conv((3, 4), 8), "dataset.size": 32})
    assert changed.dataset == Squares(32)


@pytest.mark.parametrize(
    ("path", "complaint"),
    [
        ("objektive", "RunSpec.*'objektive'.*'objective'"),
        ("objective.beta", "objective.*VAE.*'beta'"),
        ("model.encoder.hiden", "model.encoder.*MLP.*'hiden'.*'hidden'"),
        ("num_steps.x", "num_steps.*50.*'x'"),
        ("critic.hidden", "critic.*None.*'hidden'.*'critic'"),
        ("model.latents.parts.2.size", "model.latents.parts.*'2'.*0.*1"),
    ],
)
def test_a_path_that_leads_nowhere_is_refused_with_the_fields_there_are(path, complaint):
    with pytest.raises(SpecError, match=complaint):
        with_fields(replace(GROUPED, objective=VAE()), {path: 1})


@pytest.mark.parametrize("path", [3, None, ("objective", "beta")])
def test_a_path_is_a_text(path):
    with pytest.raises(SpecError, match=re.escape(repr(path))):
        with_fields(BetaVAE(), {path: 4})
