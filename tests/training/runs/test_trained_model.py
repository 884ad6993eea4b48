"""The model of a run that is not finished, from its newest checkpoint."""

from dataclasses import replace

import pytest
import torch

from tests.training.short_runs import SPEC, stopped
from tests.training.squares import PACKAGES, Squares
from unbraid.errors import RunError
from unbraid.models import Autoencoder, EsmaeiliCelebA, encode
from unbraid.training import TrainingOptions, train
from unbraid.training.runs import Run
from unbraid.training.runs.trained_model import OtherRunError

BATCH_NORM = replace(
    SPEC, dataset=Squares(32), model=Autoencoder(EsmaeiliCelebA(channels=(3, 4), branch_width=4, decoder_hidden=4))
)


@pytest.fixture
def unfinished(tmp_path):
    """A run of ten steps, stopped after the sixth, with checkpoints of the steps 3 and 6."""
    (run,) = stopped([SPEC], [0], tmp_path, 6, options=TrainingOptions(checkpoint_every=3))
    return Run.open(run.folder, packages=PACKAGES)


def of_steps(num_steps, folder, spec=SPEC):
    """The model that was asked for so many steps alone."""
    return train([replace(spec, num_steps=num_steps)], [0], folder=folder / "others")[0].model()


def assert_same(model, other):
    assert model.state_dict().keys() == other.state_dict().keys()
    assert all(torch.equal(tensor, other.state_dict()[name]) for name, tensor in model.state_dict().items())


def test_it_is_the_model_that_so_many_steps_make(unfinished, tmp_path):
    assert (unfinished.status, unfinished.steps_done) == ("unfinished", 6)
    model = unfinished.model()
    assert not model.training
    assert_same(model, of_steps(6, tmp_path))
    images = Squares().open().pixels[:2]
    assert model.sample(3).shape == (3, 1, 8, 8)
    assert model.reconstruct(images).shape == model(images).images.shape == (2, 1, 8, 8)
    assert model.traverse(images[:1]).array().shape == (3, 9, 1, 8, 8)
    assert len(unfinished.encoder()(Squares().open().pixels[:2])) == 2


def test_a_damaged_checkpoint_is_passed_over(unfinished, tmp_path):
    unfinished.checkpoints[6].with_suffix(".safetensors").write_bytes(b"damaged")
    assert_same(unfinished.model(), of_steps(3, tmp_path))
    unfinished.checkpoints[3].write_text("{")
    with pytest.raises(RunError, match="is unfinished.*--resume"):
        unfinished.model()


def test_a_checkpoint_of_another_run_is_refused(unfinished):
    with pytest.raises(OtherRunError, match="expected seed 7"):
        replace(unfinished, seed=7).model()


def test_batch_norm_has_the_statistics_of_all_images(tmp_path):
    (run,) = stopped([BATCH_NORM], [0], tmp_path, 2)
    expected = of_steps(2, tmp_path, BATCH_NORM)
    assert_same(run.model(), expected)
    assert bool((encode(run.model(), Squares(32).open()).mean != 0).any())
