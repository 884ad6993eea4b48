"""A spec refuses what could not be trained, and its digest names what will be."""

import json
import math
import os
import subprocess
import sys
from dataclasses import fields, replace

import pytest
import torch

from unbraid.config import from_json
from unbraid.config.schedule import Cosine, Linear
from unbraid.datasets import MNIST, DSprites, TrainingData
from unbraid.datasets.subsets import HeldOutCombinations, RandomSplit, RowRange
from unbraid.datasets.weights import ChenDesign, Correlated, JointTable, Product, UniformJoint
from unbraid.errors import SpecError
from unbraid.models import MLP, Autoencoder, Conv
from unbraid.models.distributions import (
    ConcreteLatents,
    DeterministicLatents,
    GaussianLatents,
    GroupedLatents,
    LearnedGaussianPrior,
)
from unbraid.objectives import VAE, BetaTCVAE, BetaVAE, FactorVAE
from unbraid.training.critic import Critic
from unbraid.training.optimizers import Adagrad, Adam
from unbraid.training.runs import RunSpec

DATA = DSprites(resolution=32, shapes=("square",), num_scales=2, num_orientations=2, num_positions=4)
SPEC = RunSpec(DATA, Autoencoder(Conv()))

# Another value for each field, and for some within.
CHANGES = [
    {"dataset": replace(DATA, num_positions=5)},
    {"model": Autoencoder(Conv(hidden=64))},
    {"model": Autoencoder(Conv(), latents=GaussianLatents(9))},
    {"model": Autoencoder(Conv(), latents=GaussianLatents(10, LearnedGaussianPrior()))},
    {"model": Autoencoder(Conv(), latents=GroupedLatents((GaussianLatents(9), ConcreteLatents(2))))},
    {"model": Autoencoder(Conv(), latents=GroupedLatents((GaussianLatents(9), ConcreteLatents(2, Linear(1.0, 0.5)))))},
    {"objective": VAE()},
    {"objective": BetaTCVAE(beta=6.000000001)},
    {"objective": BetaTCVAE(estimator="mss")},
    {"objective": BetaTCVAE(beta=Linear(0.0, 6.0))},
    {"objective": BetaTCVAE(beta=Linear(0.0, 6.0, finish=0.1))},
    {"objective": BetaTCVAE(beta=Cosine(0.0, 6.0))},
    {"objective": FactorVAE()},
    {"objective": FactorVAE(), "critic": Critic(hidden=(5,))},
    {"num_steps": 9_999},
    {"batch_size": 32},
    {"optimizer": Adam(1e-4)},
    {"optimizer": Adam(betas=(0.5, 0.999))},
    {"optimizer": Adagrad(1e-3)},
    {"max_gradient_norm": 1.0},
    {"precision": "float64"},
    {"precision": "tf32"},
    {"precision": "bf16"},
    {"max_loss": 1e6},
    {"sampling": Correlated(("position_x", "position_y"), 0.2)},
    {"sampling": Correlated(("position_x", "position_y"), 0.4)},
    {"sampling": Product((UniformJoint(("scale",)), ChenDesign("D", ("position_x", "position_y"))))},
    {"subset": RandomSplit(0.9)},
    {"subset": RandomSplit(0.9, part="test")},
    {"subset": HeldOutCombinations(("scale", "position_x"), ((0, 1), (1, 2)))},
]


# Round trip and digest


def test_a_spec_survives_json():
    spec = replace(SPEC, objective=BetaVAE(0.1), max_gradient_norm=3.5)
    assert from_json(json.loads(json.dumps(spec.to_json(), allow_nan=False)), RunSpec) == spec


def test_sampling_and_subset_survive_json():
    for change in CHANGES[-6:]:
        spec = replace(SPEC, **change)
        assert from_json(json.loads(json.dumps(spec.to_json(), allow_nan=False)), RunSpec) == spec


def test_a_digest_is_twelve_hexadecimal_digits():
    assert len(SPEC.digest) == 12
    assert set(SPEC.digest) <= set("0123456789abcdef")


def test_the_digest_changes_with_any_field():
    assert {name for change in CHANGES for name in change} == {field.name for field in fields(RunSpec)}
    digests = {replace(SPEC, **change).digest for change in CHANGES}
    assert len(digests | {SPEC.digest}) == len(CHANGES) + 1


def test_equal_specs_have_equal_digests():
    assert RunSpec(replace(DATA), Autoencoder(Conv())).digest == SPEC.digest


@pytest.mark.slow
def test_another_process_finds_the_same_digest():
    code = "import sys, json; from unbraid.training.runs import RunSpec; from unbraid.config import from_json\n"
    code += "print(from_json(json.loads(sys.argv[1]), RunSpec).digest)"
    command = [sys.executable, "-c", code, json.dumps(SPEC.to_json())]
    done = subprocess.run(command, env=os.environ | {"PYTHONHASHSEED": "7"}, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == SPEC.digest


def test_a_whole_number_in_a_float_field_has_the_digest_of_the_float():
    floats = replace(SPEC, optimizer=Adam(1.0), max_gradient_norm=1.0, objective=BetaTCVAE(beta=6.0))
    assert floats.digest == replace(SPEC, optimizer=Adam(1), max_gradient_norm=1, objective=BetaTCVAE(beta=6)).digest


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("precision", "float16", "one of float32, tf32, bf16, float64"),
        ("num_steps", 1.5, "an integer"),
        ("batch_size", True, "an integer"),
        ("max_gradient_norm", "1e-3", "a number or None"),
        ("optimizer", "adam", "an Optimizer"),
        ("objective", "beta-vae", "an Objective"),
        ("dataset", None, "a FactorDataset"),
        ("model", None, "an Autoencoder"),
    ],
)
def test_what_a_field_cannot_hold_is_refused_by_name(name, value, expected):
    with pytest.raises(SpecError) as refused:
        replace(SPEC, **{name: value})
    assert str(refused.value).startswith(f"RunSpec: {name} is {value!r}; expected {expected}.")


# What is refused


@pytest.mark.parametrize("num_steps", [0, -1])
def test_no_steps_are_refused(num_steps):
    with pytest.raises(SpecError, match=f"num_steps is {num_steps}; expected 1 or more"):
        replace(SPEC, num_steps=num_steps)


@pytest.mark.parametrize("batch_size", [1, 0, -5, 65])
def test_a_batch_of_one_or_of_more_than_there_are_is_refused(batch_size):
    assert DATA.num_images == 64
    with pytest.raises(SpecError, match=rf"batch_size is {batch_size}; expected 2 to 64,"):
        replace(SPEC, batch_size=batch_size)


@pytest.mark.parametrize("batch_size", [2, 64])
def test_a_batch_of_two_or_of_all_is_allowed(batch_size):
    assert replace(SPEC, batch_size=batch_size).batch_size == batch_size


@pytest.mark.parametrize("value", [0.0, -1e-3, math.nan, math.inf])
def test_a_norm_that_is_not_positive_and_finite_is_refused(value):
    with pytest.raises(SpecError, match=f"max_gradient_norm is {value}; expected a finite number > 0"):
        replace(SPEC, max_gradient_norm=value)


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_a_largest_loss_that_is_not_finite_is_refused(value):
    with pytest.raises(SpecError, match=f"max_loss is {value}; expected a finite number of nats per image"):
        replace(SPEC, max_loss=value)


def test_a_net_that_cannot_take_the_images_is_refused_before_anything_is_built(monkeypatch):
    monkeypatch.setattr(MNIST, "load", lambda *_: pytest.fail("loaded"))
    monkeypatch.setattr(MNIST, "image_shape", (1, 10, 10))
    monkeypatch.setattr(Autoencoder, "build", lambda *_: pytest.fail("built"))
    with pytest.raises(SpecError, match="1 x 10"):
        RunSpec(MNIST(), Autoencoder(Conv()))
    with pytest.raises(SpecError, match="1 x 10"):
        RunSpec(MNIST(), Autoencoder(encoder=MLP(), decoder=Conv()))
    assert RunSpec(MNIST(), Autoencoder(MLP())).model.encoder == MLP()


def test_a_critic_that_the_objective_has_no_use_for_is_refused():
    with pytest.raises(SpecError, match="BetaTCVAE"):
        replace(SPEC, critic=Critic())


def test_an_objective_that_needs_a_density_refuses_codes_without():
    with pytest.raises(SpecError, match="DeterministicLatents"):
        replace(SPEC, model=Autoencoder(Conv(), latents=DeterministicLatents()))


def test_precision_is_a_dtype():
    assert SPEC.dtype == torch.float32
    assert replace(SPEC, precision="float64").dtype == torch.float64
    # What is kept: with these, nets multiply in another type, or may.
    assert replace(SPEC, precision="tf32").dtype == replace(SPEC, precision="bf16").dtype == torch.float32


# Which images, and how likely


def test_a_spec_is_trained_on_its_data_set_subset_and_sampling():
    subset, joint = RandomSplit(0.9), UniformJoint(("scale",))
    assert replace(SPEC, subset=subset, sampling=joint).training_data == TrainingData(DATA, joint, subset)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"sampling": UniformJoint(("hue",))}, "UniformJoint.*'hue'"),
        ({"sampling": JointTable(("scale",), (1.0,) * 3)}, "3"),
        ({"sampling": ChenDesign("C", ("scale", "orientation"))}, "have two values each"),
        (
            {"sampling": UniformJoint(("scale",)), "objective": BetaTCVAE(estimator="mss")},
            "'mss'",
        ),
        ({"subset": RowRange(0, 65)}, "for 64 images"),
        ({"subset": HeldOutCombinations(("scale",), ((2,),))}, "scale.*2"),
    ],
)
def test_sampling_and_subsets_that_cannot_be_are_refused_when_the_spec_is_built(change, message):
    with pytest.raises(SpecError, match=message):
        replace(SPEC, **change)


def test_a_batch_larger_than_the_subset_is_refused_once_the_images_are_there():
    spec = replace(SPEC, subset=RowRange(0, 10), batch_size=11)
    with pytest.raises(
        SpecError,
        match="batch_size is 11",
    ):
        spec.check_images(spec.training_data.open())
    replace(spec, batch_size=10).check_images(spec.training_data.open())


def test_weights_of_the_images_themselves_are_refused_where_none_may_be():
    spec, images = replace(SPEC, objective=BetaTCVAE(estimator="mss")), SPEC.training_data.open()
    spec.check_images(images)
    with pytest.raises(SpecError, match="'mss'"):
        spec.check_images(replace(images, weights=torch.full((64,), 1 / 64)))


def test_images_in_place_of_their_config_are_refused_with_the_fix():
    spec = object.__new__(RunSpec)  # while the tests run, __init__ checks the type itself
    object.__setattr__(spec, "dataset", DATA.open())
    with pytest.raises(SpecError, match="config.*from_torch"):
        spec.__post_init__()


def test_fields_are_changed_by_name_and_by_path():
    spec = SPEC.with_({"objective.beta": 8}, num_steps=7)
    assert spec == replace(SPEC, objective=replace(SPEC.objective, beta=8.0), num_steps=7)
    assert SPEC.with_() == SPEC
    assert SPEC.with_(**{"model.latents.size": 4}).model.latents.size == 4


@pytest.mark.parametrize(
    ("changes", "wrong"),
    [
        ({"objective.betta": 8}, "objective .*'betta'"),
        ({"objektive.beta": 8}, "the spec .*'objektive'"),
        ({"num_steps.few": 8}, "num_steps is 10000"),
        ({"critic.hidden": (8,)}, "critic is None"),
        ({"objective.beta": "four"}, "beta is 'four'"),
        ({"num_steps": 0}, "num_steps is 0"),
        ("objective.beta=8", "objective.beta=8"),
    ],
)
def test_the_wrong_part_of_a_change_is_named(changes, wrong):
    with pytest.raises(SpecError, match=wrong):
        SPEC.with_(changes)
