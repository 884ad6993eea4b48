"""A module of one's own as a model: trained, opened and built from its class."""

import json

import pytest
import torch
from torch import nn

from tests.training.squares import Squares
from unbraid import BetaTCVAE, Run, RunSpec, train, wrap
from unbraid.config import from_json, to_json
from unbraid.config.digest import user_source
from unbraid.errors import SpecError
from unbraid.models import Autoencoder
from unbraid.models.distributions import GaussianLikelihood


class Net(nn.Module):
    def __init__(self, width=8, num_latents=3):
        super().__init__()
        self.encoder = nn.Sequential(nn.Flatten(), nn.Linear(64, width), nn.ReLU(), nn.Linear(width, 2 * num_latents))
        self.decoder = nn.Sequential(nn.Linear(num_latents, width), nn.BatchNorm1d(width), nn.Linear(width, 64))

    def encode(self, x):
        return self.encoder(x).chunk(2, dim=1)

    def decode(self, z):
        return self.decoder(z).unflatten(1, (1, 8, 8))


class Tied(Net):
    def decode(self, z):
        return (z @ self.encoder[3].weight[:3] @ self.encoder[1].weight).unflatten(1, (1, 8, 8))


class OneOutput(Net):
    def encode(self, x):
        return self.encoder(x)


class NoDecoder(nn.Module):
    def encode(self, x):
        return x, x


def spec_of(model, **changes):
    return RunSpec(Squares(), model, BetaTCVAE(), num_steps=6, batch_size=9, **changes)


def test_each_net_has_the_layers_that_it_uses():
    model = wrap(Net, 3, arguments={"width": 5}).build((1, 8, 8), seed=4)
    assert {name.split(".")[1] for name, _ in model.encoder.named_parameters()} == {"encoder"}
    assert {name.split(".")[1] for name, _ in model.decoder.named_parameters()} == {"decoder"}
    x = torch.linspace(0, 1, 128).reshape(2, 1, 8, 8)
    mean, _ = model.encoder.module.encode(x)
    torch.testing.assert_close(model.encode(x).mean, mean)
    torch.testing.assert_close(model.decoder(mean), model.decoder.module.decode(mean))
    again, other = (wrap(Net, 3, arguments={"width": 5}).build((1, 8, 8), seed=seed) for seed in (4, 5))
    assert torch.equal(again.encode(x).mean, model.encode(x).mean)
    assert not torch.equal(other.encode(x).mean, model.encode(x).mean)


def test_statistics_of_batch_norm_are_those_of_a_new_layer():
    decoder = wrap(Net, 3).build((1, 8, 8), seed=0).decoder.module.decoder
    assert torch.equal(decoder[1].running_mean, torch.zeros(8))
    assert decoder.training


def test_a_fleet_trains_it_and_a_run_opens(tmp_path):
    spec = spec_of(wrap(Net, 3, likelihood=GaussianLikelihood()))
    runs = train([spec], seeds=[0, 1], folder=tmp_path, device="cpu", progress=False)
    again = Run.open(runs[0].folder)
    assert again.spec == spec
    x = Squares().load().batch(slice(None))
    torch.testing.assert_close(again.model().encode(x).mean, runs[0].codes().mean)
    assert not torch.equal(runs[0].codes().mean, runs[1].codes().mean)


def test_its_arguments_and_its_source_are_in_the_config():
    model = wrap(Net, 3, arguments={"width": 5})
    assert from_json(json.loads(json.dumps(to_json(model))), Autoencoder) == model
    assert model != wrap(Net, 3)
    assert __name__ in user_source(model).modules


def test_a_class_that_is_not_imported_is_named_when_the_model_is_built():
    content = to_json(wrap(Net, 3))
    content["encoder"]["module"] = "elsewhere.Net"
    model = from_json(content, Autoencoder)
    with pytest.raises(SpecError, match=r"elsewhere\.Net is not"):
        model.build((1, 8, 8), seed=0)


@pytest.mark.parametrize("path", ["os.system", "unbraid.wrap", "torch.Tensor", "nothing"])
def test_nothing_but_a_class_of_modules_is_called(path):
    content = to_json(wrap(Net, 3))
    content["encoder"]["module"] = path
    with pytest.raises(SpecError, match="not a class of modules"):
        from_json(content, Autoencoder).build((1, 8, 8), seed=0)


@pytest.mark.parametrize(
    ("module", "arguments", "words"),
    [
        (Net(), {}, r"wrap\(Net, num_latents=10"),
        (NoDecoder, {}, r"decode\(\)"),
        (Net, {"width": torch.zeros(2)}, "JSON"),
    ],
)
def test_what_is_no_module_is_refused(module, arguments, words):
    with pytest.raises(SpecError, match=words):
        wrap(module, 3, arguments=arguments)


@pytest.mark.parametrize(
    ("module", "arguments", "words"),
    [
        (Tied, {}, "share the parameter"),
        (OneOutput, {}, r"returned a Tensor; expected \(mean, logvar\)"),
        (Net, {"depth": 3}, "depth"),
        (Net, {"num_latents": 4}, "4"),
    ],
)
def test_a_module_that_does_not_fit_is_refused_when_the_spec_is_made(module, arguments, words):
    with pytest.raises(SpecError, match=words):
        spec_of(wrap(module, 3, arguments=arguments))
