"""Convolutions as products of matrices, against torch's own."""

import copy

import pytest
import torch
from torch import nn
from torch.func import functional_call, grad, stack_module_state, vmap
from torch.fx.experimental.proxy_tensor import make_fx
from torch.nn.functional import conv2d, conv_transpose2d

from tests.models.nets import SMALL, a_draw
from tests.training.squares import CONV_SPEC
from unbraid.models import MLP, Autoencoder, Conv
from unbraid.models.distributions import GaussianLatents
from unbraid.models.layers import matrix_products, strided_convolutions
from unbraid.models.layers.initial_weights import seeded
from unbraid.models.layers.strided_convolutions import Conv2d, ConvTranspose2d, doubled, halved
from unbraid.training import Critic, Fleet, Member

WAYS = {"down": (halved, conv2d), "up": (doubled, conv_transpose2d)}
CHANNELS = ((1, 1), (1, 3), (1, 32), (2, 5), (3, 2), (5, 5), (5, 1), (32, 1), (32, 5))


@pytest.fixture
def on_a_gpu(monkeypatch):
    """Layers compute as they do on a GPU."""
    monkeypatch.setattr(matrix_products, "are_used_for", lambda x: True)


def drawn(way, fan_in, fan_out, size, draw=a_draw):
    """An image or two, kernels and a bias."""
    kernels = (fan_out, fan_in) if way == "down" else (fan_in, fan_out)
    return draw(2, fan_in, *size, seed=0), draw(*kernels, 4, 4, seed=1), draw(fan_out, seed=2)


def with_gradients(function, inputs, **options):
    """The result, and the gradient of each input."""
    inputs = [each.detach().requires_grad_() for each in inputs]
    result = function(*inputs, **options)
    direction = a_draw(*result.shape, seed=3).to(result.dtype)
    return result.detach(), *torch.autograd.grad(result, inputs, direction)


# ---- the functions


@pytest.mark.parametrize("by_patches", [True, False])
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(("fan_in", "fan_out"), CHANNELS)
def test_values_and_gradients_are_those_of_torch_either_way(monkeypatch, way, by_patches, fan_in, fan_out):
    monkeypatch.setattr(strided_convolutions, "_by_patches", lambda weight: by_patches)
    ours, torchs = WAYS[way]
    for size in ((2, 4), (8, 6), (7, 5), (4, 3)):
        inputs = drawn(way, fan_in, fan_out, size)
        expected = with_gradients(torchs, inputs, stride=2, padding=1)
        torch.testing.assert_close(with_gradients(ours, inputs), expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("way", WAYS)
def test_without_a_bias_nothing_is_added(way):
    ours, torchs = WAYS[way]
    x, weight, _ = drawn(way, 3, 2, (4, 6))
    torch.testing.assert_close(ours(x, weight), torchs(x, weight, stride=2, padding=1), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize(("way", "fan_in", "fan_out"), [("down", 2, 5), ("down", 1, 3), ("up", 2, 5), ("up", 3, 1)])
def test_gradients_have_the_gradients_of_torchs(way, fan_in, fan_out):
    ours, torchs = WAYS[way]
    inputs = drawn(way, fan_in, fan_out, (4, 6))

    def steepness(x, weight, bias, convolve, **options):
        """How much the gradients weigh, of a loss that is not linear in any input."""
        loss = convolve(x, weight, bias, **options).pow(3).sum()
        return torch.stack(
            [each.square().sum() for each in torch.autograd.grad(loss, (x, weight, bias), create_graph=True)]
        )

    expected = with_gradients(steepness, inputs, convolve=torchs, stride=2, padding=1)
    torch.testing.assert_close(with_gradients(steepness, inputs, convolve=ours), expected, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize(("way", "by_patches", "most"), [("down", False, 8), ("up", True, 16)])
def test_in_bfloat16_a_sum_of_four_is_rounded_once(monkeypatch, way, by_patches, most):
    monkeypatch.setattr(strided_convolutions, "_by_patches", lambda weight: by_patches)

    def whole(*shape, seed):
        """Numbers such that each of the four is at most 256. Up to there bfloat16 has all whole numbers, and beyond,
        where their sum is, not all.
        """
        return (a_draw(*shape, seed=seed) * 1000).round() % (most + 1)

    ours, torchs = WAYS[way]
    x, weight, bias = drawn(way, 1, 1, (16, 16), draw=whole)
    exact = torchs(x, weight, bias, stride=2, padding=1)
    assert (exact.bfloat16() != exact).any()
    assert torch.equal(ours(x.bfloat16(), weight.bfloat16(), bias.bfloat16()), exact.bfloat16())


@pytest.mark.parametrize(("fan_in", "fan_out"), [(1, 8), (4, 5), (8, 1)])
@pytest.mark.parametrize("way", WAYS)
def test_channels_lie_next_to_each_other_in_memory(way, fan_in, fan_out):
    inputs = drawn(way, fan_in, fan_out, (8, 8))
    assert fan_out == 1 or WAYS[way][0](*inputs).stride(1) == 1


def net():
    """Both ways, by blocks and by patches."""
    layers = Conv2d(1, 3), nn.ReLU(), Conv2d(3, 4), nn.ReLU(), ConvTranspose2d(4, 3), nn.ReLU(), ConvTranspose2d(3, 1)
    return nn.Sequential(*layers).double()


@pytest.fixture
def members():
    return [seeded(net, seed) for seed in range(3)]


@pytest.fixture
def loss(members):
    return lambda weights, x: (functional_call(members[0], weights, x) - x).square().sum()


def stacked(members):
    return {name: each.detach() for name, each in stack_module_state(members)[0].items()}


def test_mapped_over_members_each_gets_the_gradients_it_gets_alone(on_a_gpu, members, loss):
    images = a_draw(3, 2, 1, 8, 8)
    together = vmap(grad(loss))(stacked(members), images)
    for i, member in enumerate(members):
        alone = grad(loss)({name: each.detach() for name, each in member.named_parameters()}, images[i])
        torch.testing.assert_close({name: each[i] for name, each in together.items()}, alone, rtol=1e-12, atol=1e-12)


def test_a_traced_fleet_has_products_and_neither_convolutions_nor_gradients_scattered_into_zeros(
    on_a_gpu, members, loss
):
    traced = make_fx(vmap(grad(loss)), tracing_mode="fake")(stacked(members), a_draw(3, 2, 1, 8, 8))
    names = [str(node.target) for node in traced.graph.nodes if node.op == "call_function"]
    # Each layer: the result, the gradient of its weights and, but for the first, that of its input.
    assert names.count("aten.bmm.default") == 3 * 4 - 1
    for slow in (
        "convolution",
        "slice_backward",
        "select_backward",
        "unfold_backward",
        "index_put",
        "as_strided",
        "scatter",
    ):
        assert not [name for name in names if slow in name]


@pytest.mark.parametrize("size", [(16, 16), (48, 48), (20, 100)])
def test_as_products_a_net_for_any_size_reconstructs_as_on_a_cpu(size, request):
    model = Autoencoder(Conv(channels=(3, 4), hidden=8), latents=GaussianLatents(2)).build((1, *size), seed=0).double()
    images = a_draw(2, 1, *size).sigmoid()
    on_the_cpu = model.reconstruct(images)
    request.getfixturevalue("on_a_gpu")
    torch.testing.assert_close(model.reconstruct(images), on_the_cpu, rtol=1e-12, atol=1e-12)


# ---- the layers


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize(("ours", "torchs"), [(Conv2d, nn.Conv2d), (ConvTranspose2d, nn.ConvTranspose2d)])
def test_a_layer_has_the_weights_of_torchs_and_on_the_cpu_its_results_to_the_bit(ours, torchs, bias):
    layer = seeded(lambda: ours(3, 4, bias=bias), 0)
    reference = seeded(lambda: torchs(3, 4, kernel_size=4, stride=2, padding=1, bias=bias), 0)
    assert repr(layer) == repr(reference)
    assert list(layer.state_dict()) == list(reference.state_dict())
    assert all(torch.equal(mine, its) for mine, its in zip(layer.parameters(), reference.parameters(), strict=True))
    x = a_draw(2, 3, 6, 8).float()
    assert torch.equal(layer(x), reference(x))


@pytest.mark.parametrize("layer", [Conv2d, ConvTranspose2d])
def test_elsewhere_than_on_a_cpu_a_layer_multiplies_also_when_it_is_mapped(layer, monkeypatch):
    called = []
    for name, function in (("halved", halved), ("doubled", doubled)):
        monkeypatch.setattr(
            strided_convolutions, name, lambda *inputs, function=function: called.append(function) or function(*inputs)
        )
    with torch.device("meta"):
        made, images = layer(3, 4), torch.zeros(5, 2, 3, 8, 8)
    made(images[0])
    vmap(made)(images)
    assert called == [halved if layer is Conv2d else doubled] * 2


def test_a_transposed_layer_asked_for_a_size_gives_it(on_a_gpu):
    layer = seeded(lambda: ConvTranspose2d(2, 3), 0)
    assert layer(torch.zeros(1, 2, 4, 4), output_size=[9, 9]).shape == (1, 3, 9, 9)


@pytest.mark.parametrize("size", [28, 32])
@pytest.mark.parametrize(
    "architecture", [each for each in SMALL if not isinstance(each, MLP)], ids=lambda each: type(each).__name__
)
def test_every_net_computes_the_same_with_products(architecture, size, monkeypatch):
    latents = GaussianLatents(4)
    encoder = seeded(lambda: architecture.make_encoder((1, size, size), latents), 0).double()
    decoder = seeded(lambda: architecture.make_decoder(4, (1, size, size)), 1).double()
    images, codes = a_draw(3, 1, size, size), a_draw(3, 4)
    expected = copy.deepcopy(encoder)(images), copy.deepcopy(decoder)(codes)
    monkeypatch.setattr(matrix_products, "are_used_for", lambda x: True)
    torch.testing.assert_close((encoder(images), decoder(codes)), expected, rtol=1e-10, atol=1e-10)


def test_a_critic_of_images_with_an_odd_number_of_pixels_computes_the_same(monkeypatch):
    critic = seeded(lambda: Critic(hidden=(5,), channels=(4, 3)).for_images((1, 14, 11), 2), 0).double()
    images = a_draw(3, 1, 14, 11)
    expected = critic(images)
    monkeypatch.setattr(matrix_products, "are_used_for", lambda x: True)
    torch.testing.assert_close(critic(images), expected, rtol=1e-12, atol=1e-12)


def test_a_fleet_learns_the_same_with_products(monkeypatch):
    def trained():
        fleet = Fleet([Member(CONV_SPEC, seed) for seed in (0, 1)], CONV_SPEC.dataset.load())
        for _ in range(5):
            fleet.advance()
        return fleet.weights

    expected = trained()
    monkeypatch.setattr(matrix_products, "are_used_for", lambda x: True)
    torch.testing.assert_close(trained(), expected, rtol=1e-9, atol=1e-9)
