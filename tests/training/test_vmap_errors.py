"""What cannot be done where models are trained side by side is told in words, with the line of the user's code."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import pytest
import torch
from torch import Tensor, nn

from tests.training.squares import MLP_SPEC
from unbraid import train
from unbraid.errors import SpecError
from unbraid.models import Autoencoder
from unbraid.models.architecture import Architecture
from unbraid.objectives.objective import Loss, Objective, Step
from unbraid.training.fleet import Fleet
from unbraid.training.state import Member

DOINGS: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "branch": lambda weight, distortion: distortion if weight > 1 else 2 * distortion,  # line of branch
    "float": lambda weight, distortion: float(weight) * distortion,
    "max": lambda weight, distortion: 1 * max(weight, distortion),
    "draw": lambda weight, distortion: distortion + torch.randn(()),
    "numpy": lambda weight, distortion: distortion * float(distortion.detach().numpy()),
    "mask": lambda weight, distortion: distortion[None][distortion[None] > 0].sum(),
    "tensor": lambda weight, distortion: distortion,
}


@dataclass(frozen=True)
class Doing(Objective):
    """An objective that does what may not be done."""

    what: str
    weight: float = 2.0

    def __call__(self, step: Step) -> Loss:
        return Loss(DOINGS[self.what](self.weight, -step.log_likelihood.mean()), {})


@dataclass(frozen=True)
class Bare(Objective):
    """An objective that returns no Loss."""

    def __call__(self, step: Step) -> Loss:
        distortion = -step.log_likelihood.mean()
        return distortion  # what is returned


@dataclass(frozen=True)
class ForEachImage(Objective):
    """An objective that forgets the mean."""

    def __call__(self, step: Step) -> Loss:
        loss = Loss(-step.log_likelihood.mean(), {})
        object.__setattr__(loss, "total", -step.log_likelihood)  # the tests check shapes where users do not
        return loss


class Noisy(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x + 0.1 * torch.randn_like(x)  # noise in a net


@dataclass(frozen=True)
class Drawing(Architecture):
    """Nets that draw."""

    is_of_torch: bool

    def make_encoder(self, image_shape, latents):
        random = nn.Dropout(0.1) if self.is_of_torch else Noisy()
        return nn.Sequential(nn.Flatten(), random, nn.Linear(torch.Size(image_shape).numel(), latents.num_parameters))

    def make_decoder(self, num_inputs, image_shape):
        size = torch.Size(image_shape).numel()
        return nn.Sequential(nn.Linear(num_inputs, size), nn.Unflatten(1, image_shape))


def take_a_step(**fields):
    spec = replace(MLP_SPEC, **fields)
    Fleet([Member(spec, seed) for seed in (0, 1)], spec.dataset.load()).advance()


@pytest.mark.parametrize(
    ("what", "complaint"),
    [
        (
            "branch",
            r"test_vmap_errors\.py, line \d+ \(`.branch.: .*line of branch`\), in <lambda>, .*branches on its value",
        ),
        ("float", r"float\(weight\) \* distortion.*torch\.where"),
        ("max", r"max\(weight, distortion\).*torch\.maximum"),
        ("draw", r"distortion \+ torch\.randn.*draws random numbers.*draw_shapes\(\)"),
        ("numpy", r"detach\(\)\.numpy\(\)"),
        ("mask", r".*torch\.where\(mask,.*0\)"),
    ],
)
def test_an_objective_is_told_the_line_and_what_to_write_instead(what, complaint):
    with pytest.raises(SpecError, match=complaint):
        take_a_step(objective=Doing(what))


@pytest.mark.parametrize("seeds", [[0], [0, 1]])
def test_of_what_goes_wrong_at_the_first_step_no_folder_is_left(tmp_path, seeds):
    with pytest.raises(SpecError, match="Tensor"):
        train(replace(MLP_SPEC, objective=Bare()), seeds, folder=tmp_path / "runs")
    assert not (tmp_path / "runs").exists()


def test_what_may_be_done_is_done():
    take_a_step(objective=Doing("tensor"))


def test_a_tensor_is_no_loss():
    with pytest.raises(SpecError, match=r"Bare\.__call__ returns"):
        take_a_step(objective=Bare())


def test_nor_is_a_number_for_each_image():
    with pytest.raises(SpecError, match=r"shape \(\d+,\).*\.mean\(\)"):
        take_a_step(objective=ForEachImage())


def test_a_net_that_draws_is_told_its_line_or_its_layer():
    with pytest.raises(SpecError, match=r"net`\), in Noisy\.forward"):
        take_a_step(model=Autoencoder(Drawing(is_of_torch=False)))
    with pytest.raises(SpecError, match="draws random numbers"):
        take_a_step(model=Autoencoder(Drawing(is_of_torch=True)))
