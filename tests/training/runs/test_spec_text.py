"""Specs in words."""

import shlex
from dataclasses import dataclass, replace
from typing import final

import numpy as np
import pytest

from unbraid.cli.flags import flag_values
from unbraid.cli.train import specs_of
from unbraid.config.schedule import Cosine, Linear
from unbraid.datasets import DSprites, FromArrays
from unbraid.datasets.subsets import RandomSplit
from unbraid.models import MLP, Autoencoder, Conv
from unbraid.models.distributions import ConcreteLatents, GaussianLatents, GroupedLatents, LearnedGaussianPrior
from unbraid.objectives import HFVAE, VAE, AnnealedVAE, BetaTCVAE, BetaVAE, Composite, Objective
from unbraid.training.optimizers import Adam
from unbraid.training.presets import preset
from unbraid.training.runs import RunSpec
from unbraid.training.runs.spec_text import describe_spec, name_text, spec_labels, train_command, value_text

HEARTS = DSprites(resolution=32, shapes=("heart",), num_scales=6, num_orientations=1, num_positions=16)
SPEC = RunSpec(
    HEARTS, Autoencoder(MLP(hidden=(128, 64)), latents=GaussianLatents(6)), VAE(), num_steps=1000, optimizer=Adam(3e-4)
)


def labels(*specs: RunSpec) -> list[str]:
    by_digest = spec_labels(specs)
    return [by_digest[spec.digest] for spec in specs]


def alone(objective) -> str:
    return labels(replace(SPEC, objective=objective))[0]


def test_every_field_that_is_set_is_named_in_words():
    described = describe_spec(SPEC)
    assert described["dataset"] == "dsprites"
    assert described["dataset shapes"] == "heart"
    assert described["model encoder hidden"] == "128, 64"
    assert described["model likelihood"] == "bernoulli"
    assert described["number of steps"] == "1,000"
    assert described["optimizer learning rate"] == "0.0003"


def test_a_field_that_is_not_set_is_left_out():
    assert "max gradient norm" not in describe_spec(SPEC)
    assert describe_spec(replace(SPEC, max_gradient_norm=2.0))["max gradient norm"] == "2"


def test_names_are_put_into_words():
    assert [name_text(name) for name in ("position_x", "num_holes", "scale")] == [
        "position x",
        "number of holes",
        "scale",
    ]


def test_values_are_put_into_words():
    assert [value_text(value) for value in (True, 20_000, 6.0, (128, 64), "mws")] == [
        "yes",
        "20,000",
        "6",
        "128, 64",
        "mws",
    ]


def test_lists_of_lists_and_configs_in_a_list_are_put_into_words():
    assert value_text(((0, 1), (2,))) == "0, 1; 2"
    assert value_text(()) == "none"
    parts = (GaussianLatents(3, LearnedGaussianPrior()), ConcreteLatents(4, Linear(1.0, 0.5)))
    assert value_text(parts) == (
        "gaussian (size 3, prior learned-gaussian-prior), concrete (categories 4, temperature linear (start 1, end "
        "0.5))"
    )


def test_a_schedule_is_a_value_where_a_number_might_stand():
    described = describe_spec(
        replace(SPEC, objective=BetaVAE(Linear(0.0, 4.0, finish=0.5)), optimizer=Adam(Cosine(1e-3, 0.0)))
    )
    assert described["objective beta"] == "linear (start 0, end 4, finish 0.5)"
    assert described["optimizer learning rate"] == "cosine (start 0.001, end 0)"
    assert "objective beta start" not in described


def test_labels_of_schedules_and_groups_can_be_read():
    assert alone(AnnealedVAE()) == "annealed-vae, gamma 1000, capacity linear (start 0, end 25)"
    grouped = replace(SPEC.model, latents=GroupedLatents((GaussianLatents(2), ConcreteLatents(3))))
    spec = replace(SPEC, model=grouped, objective=HFVAE(groups=((0, 1), (2,))))
    assert labels(spec) == ["hfvae, beta 4, gamma 3, groups 0, 1; 2"]


def test_a_weight_of_0_by_default_is_not_worth_a_word():
    assert (
        alone(Composite(critic=True, critic_total_correlation=2.0))
        == "composite, critic total correlation 2, critic yes"
    )


def test_a_spec_alone_is_named_by_its_objective_and_the_weights_that_matter():
    assert alone(VAE()) == "vae"
    assert alone(BetaVAE()) == "beta-vae, beta 4"
    assert alone(BetaVAE(beta=1.0)) == "beta-vae, beta 1"
    assert alone(BetaTCVAE()) == "beta-tcvae, beta 6"
    assert alone(BetaTCVAE(beta=6.0, alpha=0.5, estimator="mss")) == "beta-tcvae, alpha 0.5, beta 6, estimator mss"


def test_a_label_tells_specs_of_one_objective_apart():
    assert labels(SPEC, replace(SPEC, num_steps=2000)) == ["vae, number of steps 1,000", "vae, number of steps 2,000"]
    assert labels(*(replace(SPEC, objective=BetaTCVAE(alpha=a)) for a in (0.0, 1.0))) == [
        "beta-tcvae, alpha 0, beta 6",
        "beta-tcvae, alpha 1, beta 6",
    ]
    mlp, conv = labels(SPEC, replace(SPEC, model=Autoencoder(Conv())))
    assert mlp.startswith("vae, model encoder mlp, ")
    assert conv.startswith("vae, model encoder conv, ")


def test_specs_that_the_objective_tells_apart_are_told_by_nothing_else():
    assert labels(SPEC, replace(SPEC, objective=BetaVAE(), num_steps=2000)) == ["vae", "beta-vae, beta 4"]


def test_the_objective_is_told_before_the_rest():
    sparse = replace(SPEC, objective=BetaVAE(), dataset=replace(HEARTS, num_scales=3))
    assert labels(replace(SPEC, objective=BetaVAE()), sparse)[1] == "beta-vae, beta 4, dataset number of scales 3"


def test_a_checksum_in_a_label_is_cut_short():
    datasets = [FromArrays.from_arrays(np.full((2, 4, 4), brightness, dtype=np.uint8)) for brightness in (100, 200)]
    for dataset, label in zip(
        datasets, labels(*(RunSpec(dataset, objective=VAE(), batch_size=2) for dataset in datasets)), strict=True
    ):
        assert label.endswith(f", dataset sha256 {dataset.sha256[:12]}")
        assert dataset.sha256 not in label


def test_the_same_spec_again_has_the_same_label():
    assert spec_labels([SPEC, SPEC]) == spec_labels([SPEC])


SPRITES = DSprites(resolution=32, shapes=("heart", "square"), num_orientations=1)
SPECS = [
    RunSpec(SPRITES),
    RunSpec(SPRITES, Autoencoder(MLP((8, 16), (4,))), BetaVAE(Linear(0.0, 4.0)), subset=RandomSplit(0.8)),
    RunSpec(SPRITES, objective=VAE(), num_steps=5, max_gradient_norm=1.5),
    *map(preset, ("infogan-sprites", "factor-vae-sprites", "annealed-vae-sprites")),
]


@pytest.mark.parametrize("spec", SPECS, ids=lambda spec: spec.digest)
def test_what_the_command_trains_is_the_spec(spec):
    program, command, *words, flag, seeds = shlex.split(train_command(spec, "0-3"))
    assert (program, command, flag, seeds) == ("unbraid", "train", "--seeds", "0-3")
    assert specs_of(flag_values(words), None, {}) == [spec]


@final
@dataclass(frozen=True)
class Mine(Objective):
    def __call__(self, step):
        raise NotImplementedError


def test_classes_that_have_no_name_there_are_trained_from_their_file():
    assert train_command(RunSpec(SPRITES, objective=Mine()), "4") == "unbraid train --spec spec.json --seeds 4"
