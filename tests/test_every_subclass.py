"""Subclasses of what users may choose: a method that does the work, overridden, is the one that is used."""

from dataclasses import MISSING, dataclass, fields, replace

import pytest

from tests.discovery import concrete_subclasses
from tests.metrics.test_mig import random_codes
from tests.models.distributions.families import FAMILIES, WITHOUT_DENSITY
from tests.models.nets import SMALL
from tests.training.squares import MLP_MODEL, MLP_SPEC, Squares
from unbraid import MIG, Autoencoder
from unbraid.datasets import FactorDataset
from unbraid.metrics import Metric
from unbraid.metrics.estimators import Estimator
from unbraid.metrics.evaluate import evaluate
from unbraid.models import Architecture
from unbraid.models.distributions import GaussianLatents, Latents, Likelihood, PriorConfig
from unbraid.objectives import AAE, VAE, Objective
from unbraid.training import Fleet, Member
from unbraid.training.optimizers import Optimizer

EXAMPLES = {type(each): each for each in (*SMALL, *FAMILIES, *WITHOUT_DENSITY)}


class UsedError(Exception):
    """Is raised by an override."""


def step(objective=MLP_SPEC.objective, **changes):
    spec = replace(MLP_SPEC, objective=objective, **changes)
    Fleet([Member(spec, 0), Member(spec, 1)], spec.training_data.load()).advance()


def build(net):
    Autoencoder(net).build(Squares(32).image_shape, seed=0)


USES = {
    (Objective, "__call__"): step,
    (Optimizer, "update_"): lambda own: step(optimizer=own),
    (Architecture, "make_encoder"): build,
    (Architecture, "make_decoder"): build,
    (Latents, "posterior"): lambda own: step(
        VAE() if own.has_density else AAE(), model=replace(MLP_MODEL, latents=own)
    ),
    (PriorConfig, "make"): lambda own: GaussianLatents(3, own).make_prior(),
    (Likelihood, "log_prob"): lambda own: step(model=replace(MLP_MODEL, likelihood=own)),
    (Metric, "measure"): lambda own: evaluate(random_codes(0), metrics=[own]),
    (Estimator, "information"): lambda own: MIG(own)(random_codes(0)),
    (FactorDataset, "open"): lambda own: own.load(),
}


def subclass(cls, method):
    """A subclass of which this module holds one, as a user's module would."""

    def override(self, *given, **named):
        raise UsedError

    name = f"Own{cls.__name__}_{method}"
    members = {method: override, "__module__": __name__, "__doc__": "A subclass."}
    return globals().setdefault(name, dataclass(frozen=True)(type(name, (cls,), members)))


def instance(own, cls):
    """One with the fields of an example; files that a dataset is read from there need not be."""
    if cls in EXAMPLES:
        return own(**{field.name: getattr(EXAMPLES[cls], field.name) for field in fields(cls)})
    if any(field.default is field.default_factory is MISSING for field in fields(cls)):
        return object.__new__(own)
    return own()


@pytest.mark.parametrize(
    ("kind", "method", "cls"),
    [
        pytest.param(kind, method, cls, id=f"{cls.__name__}-{method}")
        for kind, method in USES
        for cls in concrete_subclasses(kind)
        if not getattr(cls, "__final__", False)
    ],
)
def test_an_override_is_used(kind, method, cls):
    own = instance(subclass(cls, method), cls)
    with pytest.raises(UsedError):
        USES[kind, method](own)
