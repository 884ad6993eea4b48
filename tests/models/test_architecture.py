"""What is asked of every net, those still to be written among them; and nets of one's own."""

import dataclasses
import inspect
import re
import subprocess
import sys
from typing import final

import pytest
import torch
from torch import nn
from torch.func import functional_call, grad, replace_all_batch_norm_modules_, stack_module_state, vmap

import unbraid.models
from tests.discovery import ROOT
from tests.models.nets import ARCHITECTURES, SMALL, a_draw
from tests.training.squares import MLP_SPEC, Squares
from unbraid._internal.names import kebab_case
from unbraid.errors import SpecError
from unbraid.models import Architecture, Autoencoder, encode
from unbraid.models.batch_norm import set_population_statistics
from unbraid.models.distributions import GaussianLatents
from unbraid.training import train
from unbraid.training.fleet import Fleet
from unbraid.training.runs import Run
from unbraid.training.state import Member

every_net = pytest.mark.parametrize("cls", ARCHITECTURES, ids=lambda cls: cls.__name__)
every_small_net = pytest.mark.parametrize("net", SMALL, ids=lambda net: type(net).__name__)


@every_net
def test_it_conforms(cls):
    name, stem = kebab_case(cls), cls.__module__.rpartition(".")[2]
    assert getattr(unbraid.models, cls.__name__, None) is cls, f"export {cls.__name__} in models/__init__.py"
    assert cls.__dataclass_params__.frozen
    assert not (inspect.getdoc(cls) or f"{cls.__name__}(").startswith(f"{cls.__name__}(")
    assert stem.replace("_", "") == name.replace("-", ""), (
        f"{cls.__name__} is looked for in {name.replace('-', '_')}.py"
    )
    assert (ROOT / "tests" / "models" / f"test_{stem}.py").is_file()
    page = (ROOT / "docs" / "architectures.md").read_text()
    assert f"`{cls.__name__}`" in page, f"describe {cls.__name__} in docs/architectures.md"
    assert f"`{name}`" in page, f"say in docs/architectures.md that the command line calls it {name}"


@every_net
@pytest.mark.parametrize("channels", [1, 3])
@pytest.mark.parametrize("size", [(16, 16), (28, 28), (50, 50), (64, 64), (96, 40), (128, 128), (256, 256)])
def test_it_takes_images_of_16_to_256_pixels_gray_or_colored(cls, channels, size):
    Autoencoder(cls(), latents=GaussianLatents(10)).check((channels, *size))


def is_fully_connected(cls):
    nets = Autoencoder(cls()).without_memory((1, 64, 64)).modules()
    return not any(isinstance(each, (nn.Conv2d, nn.ConvTranspose2d)) for each in nets)


@every_net
@pytest.mark.parametrize("shape", [(1, 8, 8), (2, 64, 64), (1, 64, 300)])
def test_fully_connected_nets_take_other_images_too_and_convolutional_ones_say_what_to_do(cls, shape):
    if is_fully_connected(cls):
        Autoencoder(cls()).check(shape)
        return
    with pytest.raises(SpecError, match=f"16 to 256 .*{cls.__name__}"):
        Autoencoder(cls()).check(shape)
    with pytest.raises(SpecError, match="256 pixels"):
        Autoencoder(decoder=cls()).check(shape)


@every_small_net
def test_it_has_no_buffers_that_training_changes_but_those_of_batch_norm(net):
    model = Autoencoder(net, latents=GaussianLatents(4)).build((1, 32, 32), seed=0)
    owners = {type(module).__name__ for module in model.modules() if list(module.buffers(recurse=False))}
    assert owners <= {"BatchNorm2d", "BatchNorm1d"}


@every_small_net
@pytest.mark.parametrize("size", [28, 64])
def test_mapped_over_models_it_has_the_gradient_of_each_model_alone(net, size):
    config = Autoencoder(net, latents=GaussianLatents(4))
    models = [replace_all_batch_norm_modules_(config.build((1, size, size), seed)).double() for seed in (0, 1, 2)]
    x, z = a_draw(3, 5, 1, size, size), a_draw(3, 5, 4)

    def loss(parameters, x, z):
        encoder, decoder = (
            {name.removeprefix(part): value for name, value in parameters.items() if name.startswith(part)}
            for part in ("encoder.", "decoder.")
        )
        codes = functional_call(models[0].encoder, encoder, (x,))
        images = functional_call(models[0].decoder, decoder, (z,))
        return codes.square().mean() + (images - x).square().mean()

    stacked, _ = stack_module_state(models)
    stacked = {name: value.detach() for name, value in stacked.items()}
    together = vmap(grad(loss))(stacked, x, z)
    for index, model in enumerate(models):
        alone = grad(loss)({name: p.detach() for name, p in model.named_parameters()}, x[index], z[index])
        for name, gradient in alone.items():
            assert gradient.isfinite().all()
            torch.testing.assert_close(together[name][index], gradient, rtol=1e-8, atol=1e-10)


@every_small_net
def test_every_weight_is_reached_by_the_gradient(net):
    model = Autoencoder(net, latents=GaussianLatents(4)).build((1, 32, 32), seed=0).double()
    (model.encoder(a_draw(6, 1, 32, 32)).square().sum() + model.decoder(a_draw(6, 4)).square().sum()).backward()
    assert not [
        name for name, parameter in model.named_parameters() if parameter.grad is None or not parameter.grad.any()
    ]


# ---- nets of one's own


class Residual(nn.Module):
    """A module as people write them: layers by name, a skip connection, a shared layer, a constant, BatchNorm; nothing
    of unbraid in it.
    """

    def __init__(self, fan_in, fan_out):
        super().__init__()
        self.first = nn.Linear(fan_in, 12)
        self.middle = nn.Linear(12, 12)
        self.norm = nn.BatchNorm1d(12)
        self.last = nn.Linear(12, fan_out)
        self.register_buffer("stride", torch.tensor(0.5))

    def forward(self, x):
        h = self.first(x.flatten(1))
        for _ in range(2):
            h = h + self.stride * torch.tanh(self.middle(self.norm(h)))
        return self.last(h)


@final
@dataclasses.dataclass(frozen=True)
class Mine(Architecture):
    def make_encoder(self, image_shape, latents):
        return Residual(64, latents.num_parameters)

    def make_decoder(self, num_inputs, image_shape):
        return nn.Sequential(Residual(num_inputs, 64), nn.Unflatten(1, image_shape))


MINE = dataclasses.replace(MLP_SPEC, model=Autoencoder(Mine(), latents=GaussianLatents(3)), num_steps=10)


def test_a_module_of_ones_own_trains_in_a_fleet_as_it_does_alone():
    fleets = [Fleet([Member(MINE, seed) for seed in seeds], Squares().load()) for seeds in ([0, 1, 2], [1])]
    for fleet in fleets:
        for _ in range(10):
            losses = fleet.advance()
    assert losses["loss"].isfinite().all()
    torch.testing.assert_close(fleets[0].weights[1], fleets[1].weights[0], rtol=0, atol=1e-8)


def test_a_run_of_ones_own_nets_is_read_back_by_naming_their_package(tmp_path):
    (run,) = train([MINE], seeds=[0], folder=tmp_path)
    again = Run.open(run.folder, packages=("unbraid", "tests"))
    assert again.spec == MINE
    assert torch.equal(encode(again.model(), Squares().load()).mean, run.codes().mean)


@pytest.mark.slow
def test_the_example_of_the_page_runs(tmp_path):
    page = (ROOT / "docs" / "architectures.md").read_text()
    for title, code in re.findall(r'```python title="(\w+\.py)"\n(.*?)```', page, flags=re.DOTALL):
        (tmp_path / title).write_text(code)
    done = subprocess.run([sys.executable, "train.py"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "Residual" in done.stdout


class Tied(nn.Module):
    """Two layers that are one."""

    def __init__(self, size):
        super().__init__()
        self.first = nn.Linear(size, size)
        self.second = self.first

    def forward(self, x):
        return self.second(torch.tanh(self.first(x)))


@final
@dataclasses.dataclass(frozen=True)
class MineTied(Architecture):
    def make_encoder(self, image_shape, latents):
        return nn.Sequential(nn.Flatten(), Tied(64), nn.Linear(64, latents.num_parameters))

    def make_decoder(self, num_inputs, image_shape):
        return nn.Sequential(nn.Linear(num_inputs, 64), Tied(64), nn.Unflatten(1, image_shape))


def test_tied_weights_stay_tied_and_are_saved(tmp_path):
    spec = dataclasses.replace(MINE, model=Autoencoder(MineTied(), latents=GaussianLatents(3)))
    (run,) = train([spec], seeds=[0], folder=tmp_path)
    model = run.model()
    assert model.encoder[1].first.weight is model.encoder[1].second.weight
    assert torch.equal(encode(model, Squares().load()).mean, run.codes().mean)


def test_a_model_without_batch_norm_is_left_as_it_is():
    model = Autoencoder(SMALL[0]).build((1, 8, 8), seed=0)
    before = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    set_population_statistics(model, Squares().load(), seed=0)
    assert all(torch.equal(tensor, before[name]) for name, tensor in model.state_dict().items())
