"""What a folder exports can be named."""

import pytest

from unbraid.config.annotations import choices, public_path
from unbraid.config.schedule import Cosine, Cyclic, Linear, Schedule
from unbraid.datasets import DSprites, FactorDataset
from unbraid.models import MLP, Architecture, Autoencoder, Conv
from unbraid.models.distributions import Latents, Likelihood
from unbraid.objectives import VAE, BetaTCVAE, BetaVAE, DecomposedELBO, Objective


class Local:
    """A class that no folder exports."""


def test_choices_are_the_concrete_configs_that_a_folder_exports():
    named = {"beta-tcvae": BetaTCVAE, "beta-vae": BetaVAE, "decomposed-elbo": DecomposedELBO, "vae": VAE}
    assert choices(Objective).items() >= named.items()
    assert choices(Architecture).items() >= {"conv": Conv, "mlp": MLP}.items()
    assert list(choices(Latents)) == [
        "bernoulli",
        "concrete",
        "conditional",
        "correlated-gaussian",
        "deterministic",
        "gaussian",
        "grouped",
        "laplace",
    ]
    assert list(choices(Likelihood)) == ["bernoulli", "continuous-bernoulli", "gaussian", "laplace", "learned-gaussian"]
    assert choices(FactorDataset)["dsprites"] is DSprites


@pytest.mark.parametrize(
    ("cls", "expected"),
    [
        (VAE, "unbraid.objectives.VAE"),  # the top of the package has it too, but may not always
        (DSprites, "unbraid.datasets.DSprites"),
        (Autoencoder, "unbraid.models.Autoencoder"),
        (Local, f"{Local.__module__}.Local"),
    ],
    ids=["VAE", "DSprites", "Autoencoder", "Local"],
)
def test_a_class_is_written_under_the_path_that_its_folder_exports(cls, expected):
    assert public_path(cls) == expected


def test_configs_that_lie_directly_in_the_package_can_be_chosen():
    assert choices(Schedule) == {"cosine": Cosine, "cyclic": Cyclic, "linear": Linear}
