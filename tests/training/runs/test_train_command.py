import shlex
from dataclasses import dataclass
from typing import final

import pytest

from unbraid.cli.flags import typed_in
from unbraid.cli.training_runs import specs_of
from unbraid.config.schedule import Linear
from unbraid.datasets import DSprites
from unbraid.datasets.subsets import RandomSplit
from unbraid.models import MLP, Autoencoder
from unbraid.objectives import VAE, BetaVAE, Objective
from unbraid.training.presets import preset
from unbraid.training.runs import RunSpec
from unbraid.training.runs.train_command import train_command

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
    assert specs_of(typed_in(words), None, {}) == [spec]


@final
@dataclass(frozen=True)
class Mine(Objective):
    def __call__(self, step):
        raise NotImplementedError


def test_classes_that_have_no_name_there_are_trained_from_their_file():
    assert train_command(RunSpec(SPRITES, objective=Mine()), "4") == "unbraid train --spec spec.json --seeds 4"
