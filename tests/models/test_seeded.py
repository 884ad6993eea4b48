"""Initial weights come from their seed and from nothing else."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
import torch
from torch import nn

from tests.models.nets import ARCHITECTURES
from unbraid.models import MLP, Autoencoder
from unbraid.models.layers.initial_weights import seeded


def from_the_global_generator(make, seed):
    """What `make` returns when torch's global generator starts from the seed: what the weights of a seed have always
    been.
    """
    with torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(seed)
        return make()


def in_threads(function, arguments):
    with ThreadPoolExecutor(len(arguments)) as pool:
        return list(pool.map(function, arguments))


def assert_same_weights(one, other):
    assert one.state_dict().keys() == other.state_dict().keys()
    for name, expected in other.state_dict().items():
        assert torch.equal(one.state_dict()[name], expected), name


@pytest.mark.parametrize("kind", ARCHITECTURES, ids=lambda kind: kind.__name__)
def test_the_weights_of_a_seed_are_those_of_torchs_global_generator(kind):
    shape = (1, 28, 28) if "MNIST" in kind.__name__ else (1, 64, 64)
    config = Autoencoder(kind())
    expected = from_the_global_generator(lambda: config._assemble(shape), 11)
    assert_same_weights(config.build(shape, seed=11), expected)


@pytest.mark.parametrize(
    "draw",
    [
        lambda: torch.rand(50),
        lambda: torch.randn(50),
        lambda: torch.randn_like(torch.zeros(50)),
        lambda: torch.randperm(50),
        lambda: torch.randint(9, (50,)),
        lambda: torch.normal(torch.zeros(50), 2.0),
        lambda: torch.bernoulli(torch.full((50,), 0.3)),
        lambda: nn.init.orthogonal_(torch.empty(5, 5)),
        lambda: nn.init.trunc_normal_(torch.empty(50)),
    ],
)
def test_whatever_is_drawn_comes_from_the_seed(draw):
    assert torch.equal(seeded(draw, 3), from_the_global_generator(draw, 3))


def test_a_generator_of_ones_own_is_left_alone():
    drawn = seeded(lambda: torch.rand(5, generator=torch.Generator().manual_seed(1)), 3)
    assert torch.equal(drawn, torch.rand(5, generator=torch.Generator().manual_seed(1)))


def test_threads_that_draw_at_the_same_time_do_not_meet():
    both_have_begun = threading.Barrier(2, timeout=60)

    def drawn(seed):
        def make():
            before = torch.rand(50)
            both_have_begun.wait()
            return torch.cat([before, torch.rand(50)])

        return seeded(make, seed)

    for seed, got in enumerate(in_threads(drawn, [0, 1])):
        assert torch.equal(got, from_the_global_generator(lambda: torch.cat([torch.rand(50), torch.rand(50)]), seed))


def test_threads_build_the_model_of_their_seed():
    config = Autoencoder(MLP(hidden=(30, 30), decoder_hidden=(30, 30)))
    expected = [config.build((1, 8, 8), seed) for seed in range(8)]
    for built in zip(
        *in_threads(lambda seed: [config.build((1, 8, 8), seed) for _ in range(4)], range(8)), strict=True
    ):
        for one, other in zip(built, expected, strict=True):
            assert_same_weights(one, other)
