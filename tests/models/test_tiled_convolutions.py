"""Convolutions whose kernels lie side by side, as products of matrices, against torch's own."""

import pytest
import torch
from torch import nn
from torch.nn.functional import conv2d, conv_transpose2d
from torch.utils._python_dispatch import TorchDispatchMode

from tests.models.nets import SMALL, a_draw
from unbraid.models import Autoencoder, SpatialBroadcast
from unbraid.models.distributions import GaussianLatents
from unbraid.models.layers import matrix_products
from unbraid.models.layers.initial_weights import seeded
from unbraid.models.layers.tiled_convolutions import TiledConv2d, TiledConvTranspose2d, grown, shrunk

KERNELS = ((1, 1), (2, 2), (3, 3), (4, 4), (2, 4), (3, 1))
WAYS = {"shrunk": (shrunk, conv2d), "grown": (grown, conv_transpose2d)}


@pytest.fixture
def on_a_gpu(monkeypatch):
    """Layers compute as they do on a GPU."""
    monkeypatch.setattr(matrix_products, "are_used_for", lambda x: True)


def with_gradients(function, inputs, **options):
    """The result, and the gradient of each input."""
    inputs = [each.detach().requires_grad_() for each in inputs]
    result = function(*inputs, **options)
    return result.detach(), *torch.autograd.grad(result, inputs, a_draw(*result.shape, seed=3))


@pytest.mark.parametrize("tiles", [(1, 1), (2, 3)], ids=["the whole map", "many tiles"])
@pytest.mark.parametrize("kernel", KERNELS, ids=str)
@pytest.mark.parametrize("way", WAYS)
def test_values_and_gradients_are_those_of_torch(way, kernel, tiles):
    (ours, torchs), (rows, columns) = WAYS[way], tiles
    if way == "shrunk":
        inputs = a_draw(2, 3, rows * kernel[0], columns * kernel[1]), a_draw(5, 3, *kernel, seed=1), a_draw(5, seed=2)
    else:
        inputs = a_draw(2, 3, rows, columns), a_draw(3, 5, *kernel, seed=1), a_draw(5, seed=2)
    expected = with_gradients(torchs, inputs, stride=kernel)
    torch.testing.assert_close(with_gradients(ours, inputs), expected, rtol=1e-12, atol=1e-12)
    assert ours(*inputs[:2]).allclose(torchs(*inputs[:2], stride=kernel), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize(
    ("ours", "torchs", "size"),
    [(TiledConv2d, nn.Conv2d, (3, 3)), (TiledConvTranspose2d, nn.ConvTranspose2d, (1, 1))],
)
def test_a_layer_over_the_whole_map_is_torchs_and_on_the_cpu_to_the_bit(ours, torchs, size, bias, request):
    layer = seeded(lambda: ours(3, 4, (3, 3), bias=bias), 0)
    reference = seeded(lambda: torchs(3, 4, kernel_size=(3, 3), bias=bias), 0)
    assert repr(layer).removeprefix("Tiled") == repr(reference)
    assert list(layer.state_dict()) == list(reference.state_dict())
    assert all(torch.equal(mine, its) for mine, its in zip(layer.parameters(), reference.parameters(), strict=True))
    x = a_draw(2, 3, *size).float()
    assert torch.equal(layer(x), reference(x))
    request.getfixturevalue("on_a_gpu")
    torch.testing.assert_close(layer(x), reference(x))


@pytest.mark.parametrize(
    ("layer", "size"), [(TiledConv2d(2, 3, (2, 2)), (4, 5)), (TiledConvTranspose2d(2, 3, (2, 2)), (4, 5))], ids=str
)
def test_where_kernels_overlap_a_layer_is_torchs(on_a_gpu, layer, size):
    torchs = nn.functional.conv2d if isinstance(layer, nn.Conv2d) else nn.functional.conv_transpose2d
    x = a_draw(1, 2, *size).float()
    assert torch.equal(layer(x), torchs(x, layer.weight, layer.bias))


@pytest.mark.parametrize(
    "architecture",
    [each for each in SMALL if not isinstance(each, SpatialBroadcast)],  # its kernels overlap everywhere
    ids=lambda each: type(each).__name__,
)
def test_every_net_has_products_and_no_convolutions_on_a_gpu(on_a_gpu, architecture):
    model = Autoencoder(architecture, latents=GaussianLatents(4)).build((1, 32, 32), seed=0)
    with _Called() as called:
        model.decoder(model.encoder(torch.zeros(2, 1, 32, 32))[:, :4]).sum().backward()
    assert "aten.mm.default" in called.names
    assert not [name for name in called.names if "convolution" in name]


class _Called(TorchDispatchMode):
    """Notes the names of all operations."""

    def __init__(self):
        super().__init__()
        self.names = set()

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        self.names.add(str(function))
        return function(*args, **kwargs or {})
