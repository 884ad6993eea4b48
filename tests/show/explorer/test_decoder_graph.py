"""A decoder as a list of layers."""

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional

from tests.show.explorer.decoders import NUM_INPUTS, decoder_of, small
from unbraid.models.layers.initial_weights import seeded
from unbraid.show.explorer.decoder_graph import UnknownLayerError, decoder_graph


def kinds(decoder: nn.Module) -> list[str]:
    return [layer.kind for layer in decoder_graph(decoder, NUM_INPUTS).layers]


def test_batch_norm_is_a_scale_and_reshapes_are_left_out():
    assert kinds(decoder_of(small("ChenConv"), (1, 32, 32))) == [
        *["linear", "scale", "relu"],
        *["transposed", "scale", "relu"] * 2,
        "transposed",
    ]


def test_a_crop_and_a_broadcast_are_numbers_put_elsewhere():
    assert kinds(decoder_of(small("Conv"), (1, 28, 28)))[-1] == "arrangement"
    assert kinds(decoder_of(small("SpatialBroadcast"), (1, 16, 16))) == [
        "arrangement",
        "convolution",
        "relu",
        "convolution",
    ]


class Written(nn.Module):
    """A forward pass of one's own, in functions and methods, with the broadcast written out."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Linear(NUM_INPUTS, 8), nn.Conv2d(10, 1, 3, padding=1)
        self.register_buffer("rows", torch.linspace(-1, 1, 16).reshape(1, 1, 16, 1).expand(1, 2, 16, 16))

    def forward(self, z: Tensor) -> Tensor:
        x = functional.elu(self.first(z).tanh(), alpha=0.5)
        x = x.view(x.shape[0], 8, 1, 1).expand(-1, -1, 16, 16)
        x = torch.cat([x, self.rows.expand(x.shape[0], -1, -1, -1)], dim=1)
        return torch.sigmoid(functional.leaky_relu(self.second(x), 0.2))


def test_a_layer_is_what_it_does_however_it_is_written():
    graph = decoder_graph(seeded(Written, 0), NUM_INPUTS)
    # tanh leaves nothing beyond -1 to 1, and the ELU is found all the same.
    assert [layer.kind for layer in graph.layers] == [
        "linear",
        "tanh",
        "elu",
        "arrangement",
        "arrangement",
        "convolution",
        "leaky",
        "sigmoid",
    ]
    assert graph.layers[2].settings["slope"] == pytest.approx(0.5)
    assert graph.layers[6].settings["slope"] == pytest.approx(0.2)


class Residual(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(NUM_INPUTS, NUM_INPUTS)

    def forward(self, z: Tensor) -> Tensor:
        return self.layer(z) + z


class Decides(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(NUM_INPUTS, NUM_INPUTS)

    def forward(self, z: Tensor) -> Tensor:
        return self.layer(z) if z.sum() > 0 else z


@pytest.mark.parametrize(
    ("make", "named"),
    [
        (lambda: nn.Sequential(nn.Linear(NUM_INPUTS, 4), nn.SiLU()), "SiLU"),
        (lambda: nn.Sequential(nn.Linear(NUM_INPUTS, 4), nn.Softmax(dim=1)), "Softmax"),
        (
            lambda: nn.Sequential(
                nn.Unflatten(1, (NUM_INPUTS, 1, 1)), nn.Conv2d(NUM_INPUTS, NUM_INPUTS, 1, groups=NUM_INPUTS)
            ),
            "groups=5",
        ),
        (
            lambda: nn.Sequential(nn.Unflatten(1, (1, NUM_INPUTS)), nn.Linear(NUM_INPUTS, 3)),
            r"Linear .*\(1, 5\)",
        ),
        (Residual, "chain: add"),
        (Decides, "Decides"),
    ],
)
def test_what_the_page_cannot_compute_is_named(make, named):
    with pytest.raises(UnknownLayerError, match=named):
        decoder_graph(seeded(make, 0), NUM_INPUTS)


def test_weights_that_are_no_numbers_are_refused():
    net = seeded(lambda: nn.Linear(NUM_INPUTS, 4), 0)
    net.weight.data[0, 0] = torch.nan
    with pytest.raises(UnknownLayerError, match="not finite"):
        decoder_graph(net, NUM_INPUTS)
