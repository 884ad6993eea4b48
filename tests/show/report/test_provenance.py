from dataclasses import replace

from unbraid.datasets import DSprites
from unbraid.datasets.subsets import RowRange
from unbraid.models import MLP, Autoencoder
from unbraid.models.distributions import GaussianLatents
from unbraid.objectives import VAE, BetaTCVAE
from unbraid.show.report.groups import group_members
from unbraid.show.report.members import read_members
from unbraid.show.report.provenance import flag_of, spec_table, training_data, training_facts
from unbraid.training import TrainingOptions, train
from unbraid.training.optimizers import Adam
from unbraid.training.runs import RunSpec


def test_the_data_set_is_told_once_with_its_factors(trained):
    (shown,) = training_data(group_members(read_members(trained)))
    assert shown.name == "from-arrays"
    assert (shown.trained_on, shown.held_out) == ("all 24 images", "")
    assert shown.factors == (("across", "4"), ("down", "3"), ("nothing", "1"))
    assert (shown.images.width, shown.images.height) == (12 * 9 - 1, 2 * 9 - 1)


def test_held_out_images_are_counted(spec, tmp_path):
    part = replace(spec(VAE()), subset=RowRange(0, 18), num_steps=4)
    runs = train([part], [0], folder=tmp_path, options=TrainingOptions(held_out_every=1))
    (shown,) = training_data(group_members(read_members(runs)))
    assert shown.trained_on == "18 of 24 images"
    assert shown.held_out.startswith("6 images, by --subset row-range:")


def test_facts_of_training_are_read_from_the_folders(trained):
    found = training_facts(read_members(trained))
    assert found["device"] == "CPU"
    assert found["training"].endswith("for 4 models in 1 fleet")


def test_facts_that_a_folder_lacks_are_left_out(member):
    assert list(training_facts([member(0.1)])) == ["unbraid"]


HEARTS = DSprites(resolution=32, shapes=("heart",), num_scales=6, num_orientations=1, num_positions=16)
SPEC = RunSpec(
    HEARTS, Autoencoder(MLP(hidden=(128, 64)), latents=GaussianLatents(6)), VAE(), num_steps=1000, optimizer=Adam(3e-4)
)


def test_what_specs_share_is_told_once_and_the_rest_side_by_side():
    shared, differing = spec_table([SPEC, replace(SPEC, objective=BetaTCVAE(beta=4.0))])
    assert differing == {"--objective": ["vae", "beta-tcvae"], "--objective.beta": ["", "4"]}
    assert shared["--batch-size"] == "64"
    assert shared["--model.encoder.hidden"] == "128,64"
    assert not shared.keys() & differing.keys()


def test_what_only_one_objective_has_and_nobody_changed_is_no_difference():
    shared, _ = spec_table([SPEC, replace(SPEC, objective=BetaTCVAE(beta=4.0))])
    assert shared["--objective.analytic-kl"] == "false"


def test_one_spec_differs_in_nothing():
    assert spec_table([SPEC])[1] == {}


def test_fields_are_named_as_one_types_them():
    assert flag_of("objective.analytic_kl") == "--objective.analytic-kl"
