"""Every config survives being written to a spec and read back, those still to be written among them."""

import dataclasses
import json
import sys
from typing import Any

import pytest

from tests.discovery import concrete_subclasses
from unbraid._internal.names import kebab_case
from unbraid.config import from_json, parse, text_of, to_json
from unbraid.config.annotations import choices, describe, hints_of
from unbraid.config.schedule import Cosine, Cyclic, Linear, Schedule
from unbraid.datasets.dataset import FactorDataset
from unbraid.datasets.subsets import ChosenValues, HeldOutCombinations, OuterValues, Subset, Threshold
from unbraid.datasets.weights import ChenDesign, Correlated, Joint, JointTable, Product, UniformJoint
from unbraid.errors import SpecError
from unbraid.metrics.metric import Metric
from unbraid.metrics.scoring import Scoring
from unbraid.models.architecture import Architecture
from unbraid.models.autoencoder import Autoencoder
from unbraid.models.distributions.likelihoods import Likelihood
from unbraid.models.distributions.posteriors.latents import Latents
from unbraid.models.distributions.priors.categorical_priors import CategoricalPriorConfig
from unbraid.models.distributions.priors.prior import PriorConfig
from unbraid.objectives.objective import Objective
from unbraid.training.critic import Critic
from unbraid.training.optimizers.optimizer import Optimizer

KINDS = (
    FactorDataset,
    Architecture,
    Latents,
    PriorConfig,
    CategoricalPriorConfig,
    Likelihood,
    Objective,
    Optimizer,
    Metric,
    Joint,
    Subset,
    Schedule,
)
EVERY = [(cls, kind) for kind in KINDS for cls in concrete_subclasses(kind)] + [
    (Autoencoder, Autoencoder),
    (Critic, Critic),
    (Scoring, Scoring),
]
EXAMPLES = {
    ChenDesign: ChenDesign("C"),
    Cosine: Cosine(0.0, 1.0),
    Cyclic: Cyclic(0.0, 1.0),
    Linear: Linear(0.0, 4.0, finish=0.1),
    Correlated: Correlated(("a", "b"), 0.2, opposed=True),
    ChosenValues: ChosenValues("a", (0, 3)),
    HeldOutCombinations: HeldOutCombinations(("a", "b"), ((0, 1), (2, 3)), ((0, 1, 2, 3),), part="test"),
    OuterValues: OuterValues("a", "b", 1, 0.3, side="low"),
    Product: Product((UniformJoint(("c",)), Correlated(("a", "b"), 0.2))),
    JointTable: JointTable(("a",), (0.25, 0.75)),
    Threshold: Threshold("a", quantile=0.8),
    UniformJoint: UniformJoint(("a", "b")),
}
"""Of configs that ask for more than a name."""
every_config = pytest.mark.parametrize(("cls", "kind"), EVERY, ids=lambda cls: cls.__name__)


def example(cls: type) -> Any:
    """One of them: what has no default gets a name, which is all that most configs ask for."""
    if cls in EXAMPLES:
        return EXAMPLES[cls]
    required = [
        field.name for field in dataclasses.fields(cls) if field.default is field.default_factory is dataclasses.MISSING
    ]
    return cls(**dict.fromkeys(required, "somewhere.npz"))


@every_config
def test_it_survives_json(cls, kind):
    config = example(cls)
    assert from_json(json.loads(json.dumps(to_json(config), allow_nan=False)), kind) == config


@every_config
def test_it_survives_being_typed(cls, kind):
    config = example(cls)
    assert parse(text_of(config), kind, "config") == config


@every_config
def test_a_field_that_does_not_hold_what_its_annotation_says_is_refused(cls, kind):
    for name, hint in hints_of(cls).items():
        with pytest.raises(SpecError) as refused:
            dataclasses.replace(example(cls), **{name: Exception})
        assert str(refused.value) == f"{cls.__name__}: {name} is the class Exception; expected {describe(hint)}."


@every_config
def test_its_file_is_called_what_one_types(cls, kind):
    file, name = cls.__module__.rpartition(".")[2], kebab_case(cls, kind).replace("-", "_")
    if kind in (Objective, Metric):
        assert file == name
    elif kind is FactorDataset:  # MNIST and Fashion-MNIST share a file, and so do the variants of dSprites
        assert set(file.split("_")) & set(name.split("_"))


@every_config
def test_it_is_written_under_the_name_that_its_folder_exports(cls, kind):
    folder, _, name = to_json(example(cls))["type"].rpartition(".")
    assert vars(sys.modules[folder])[name] is cls
    assert kind.__module__.startswith(folder)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_the_command_line_offers_every_one(kind):
    assert sorted(choices(kind).values(), key=lambda cls: cls.__name__) == concrete_subclasses(kind)
