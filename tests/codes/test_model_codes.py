"""Codes of a dataset from a module of one's own."""

import pytest
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from tests.training.squares import MLP_MODEL, Squares
from unbraid import Autoencoder, Codes
from unbraid.errors import CodesError
from unbraid.models import encode
from unbraid.models.distributions import ConcreteLatents

DATA = Squares()
MODEL = MLP_MODEL.build((1, 8, 8), seed=0)
IMAGES = DATA.open()
X, VALUES = IMAGES.batch(slice(None)), IMAGES.values


class Net(nn.Module):
    """The encoder of a model, with a layer that differs in training."""

    def __init__(self, returned="both"):
        super().__init__()
        self.encoder, self.dropout, self.returned = MODEL.encoder, nn.Dropout(0.5), returned

    def encode(self, x):
        mean, logvar = self.encoder(self.dropout(x)).chunk(2, dim=1)
        return mean if self.returned == "mean" else (mean, logvar) if self.returned == "both" else self.returned


def test_a_dataset_keeps_its_labels():
    found, expected = Codes.from_model(Net(), DATA, batch_size=7), encode(MODEL, IMAGES)
    torch.testing.assert_close(found.mean, expected.mean)
    torch.testing.assert_close(found.std, expected.std)
    assert found.factors == expected.factors
    assert Codes.from_model(MODEL, DATA).factor_names == ("row", "column")


@pytest.mark.parametrize(
    "dataset",
    [
        TensorDataset(X, VALUES),
        DataLoader(TensorDataset(X, VALUES), batch_size=5, generator=torch.Generator()),
        [(x, {"row": int(row), "column": int(column)}) for x, (row, column) in zip(X, VALUES, strict=True)],
    ],
    ids=["dataset", "loader", "mappings"],
)
def test_datasets_and_loaders_of_torch(dataset):
    found = Codes.from_model(Net(), dataset, batch_size=7)
    torch.testing.assert_close(found.mean, encode(MODEL, IMAGES).mean)
    for labels, column in zip(found.factors, VALUES.T, strict=True):
        assert torch.equal(labels.values, column)


def test_images_without_factors_and_deterministic_encoders():
    found = Codes.from_model(Net("mean"), TensorDataset(X))
    assert (found.std, found.factors) == (None, ())
    torch.testing.assert_close(found.mean, encode(MODEL, IMAGES).mean)


def test_a_module_in_training_stays_so():
    net = Net()
    Codes.from_model(net, DATA)
    assert net.training
    assert net.dropout.training


def test_what_is_no_code_is_refused():
    with pytest.raises(CodesError, match="a str"):
        Codes.from_model(Net("codes"), DATA)
    with pytest.raises(CodesError, match="empty"):
        Codes.from_model(Net(), [])
    discrete = Autoencoder(MLP_MODEL.encoder, latents=ConcreteLatents(3)).build((1, 8, 8), seed=0)
    with pytest.raises(CodesError, match="discrete"):
        Codes.from_model(discrete, DATA)
