"""Models as ONNX files, in onnxruntime and in torch."""

import sys

import numpy as np
import onnx
import onnxruntime
import pytest
import torch
from torch import nn

from tests.integrations.quick_exports import quick_exports
from tests.models.nets import SMALL
from tests.slow import slow_but
from unbraid.errors import RunError, SpecError
from unbraid.integrations.export import TOLERANCE, EncoderGraph, export_onnx, graphs_of
from unbraid.models import MLP, Autoencoder, InfoGANConv, SplitConv
from unbraid.models.distributions import (
    BernoulliLatents,
    BernoulliLikelihood,
    ConcreteLatents,
    ContinuousBernoulliLikelihood,
    CorrelatedGaussianLatents,
    DeterministicLatents,
    GaussianLatents,
    GaussianLikelihood,
    GroupedLatents,
    LaplaceLatents,
    LearnedGaussianLikelihood,
)

pytestmark = pytest.mark.slow

TINY = MLP(hidden=(5,), decoder_hidden=(5,))
GAUSSIAN = Autoencoder(TINY, latents=GaussianLatents(3))
FAMILIES = {
    "laplace": (
        Autoencoder(TINY, latents=LaplaceLatents(3), likelihood=ContinuousBernoulliLikelihood()),
        ["mean", "std"],
    ),
    "concrete": (
        Autoencoder(TINY, latents=ConcreteLatents(4), likelihood=GaussianLikelihood(sigmoid=True)),
        ["probabilities_0"],
    ),
    "grouped": (
        Autoencoder(
            TINY,
            latents=GroupedLatents(
                (
                    CorrelatedGaussianLatents(2),
                    DeterministicLatents(1),
                    ConcreteLatents(3, hard=True),
                    BernoulliLatents(2),
                )
            ),
            likelihood=LearnedGaussianLikelihood(),
            noise_inputs=2,
        ),
        ["mean", "std", "covariance", "probabilities_0", "probabilities_1", "probabilities_2"],
    ),
}


@pytest.fixture(autouse=True, scope="module")
def _exports_in_less_time():
    with quick_exports():
        yield


def built(config, size=16):
    model = config.build((1, size, size), seed=3)
    with torch.no_grad():
        for weight in model.parameters():  # the biases of some layers begin at 0
            weight.add_(0.05 * torch.randn(weight.shape, generator=torch.Generator().manual_seed(1)))
    return model.eval().requires_grad_(False)


def relative(ours, theirs):
    return float((ours - torch.from_numpy(theirs)).abs().max() / ours.abs().max())


def outputs(path, inputs):
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    return session.run(None, {session.get_inputs()[0].name: inputs.numpy()})


@pytest.fixture(scope="module")
def exported(tmp_path_factory):
    """A model with Gaussian latents, and its two files."""
    model = built(GAUSSIAN, size=8)
    folder = tmp_path_factory.mktemp("exported")
    return model, folder, export_onnx(model, folder, facts={"digest": "0a1b2c"})


# tests/models/test_architecture.py requires every architecture among the small nets. Here most kinds of layers
# go first: an export takes a second or two.
FIRST = [net for net in SMALL if isinstance(net, SplitConv | InfoGANConv)]


@pytest.mark.parametrize("net", slow_but(FIRST, SMALL), ids=lambda net: type(net).__name__)
def test_every_architecture_gives_in_onnxruntime_what_it_gives_in_torch_for_batches_of_any_size(net, tmp_path):
    model = built(Autoencoder(net, latents=GaussianLatents(4)))
    encoder, decoder = export_onnx(model, tmp_path)
    assert max(encoder.largest_difference, decoder.largest_difference) <= TOLERANCE == 1e-5
    for batch_size in (1, 7):
        images = torch.rand(batch_size, 1, 16, 16, generator=torch.Generator().manual_seed(batch_size))
        posterior = model.encode(images)
        mean, std = outputs(encoder.path, images)
        assert relative(posterior.mean, mean) <= 1e-5
        assert relative(posterior.std, std) <= 1e-5
        (image,) = outputs(decoder.path, posterior.mean)
        assert image.shape == (batch_size, 1, 16, 16)
        assert relative(model.decode(posterior.mean), image) <= 1e-5
    for path in tmp_path.iterdir():
        assert not {node.op_type for node in onnx.load(path).graph.node} & {
            *("RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike", "Multinomial", "Bernoulli"),
            "Dropout",
        }
    assert sorted(path.name for path in tmp_path.iterdir()) == ["decoder.onnx", "encoder.onnx"]


@pytest.mark.parametrize("family", slow_but(["grouped"], FAMILIES))
def test_every_family_of_latents_is_told_by_named_outputs(family, tmp_path):
    config, names = FAMILIES[family]
    model = built(config, size=8)
    encoder, decoder = export_onnx(model, tmp_path)
    assert [output.name for output in onnx.load(encoder.path).graph.output] == names
    images = torch.rand(3, 1, 8, 8, generator=torch.Generator().manual_seed(0))
    passed, found = model(images), dict(zip(names, outputs(encoder.path, images), strict=True))
    if "mean" in names:
        assert relative(passed.posterior.mean, found["mean"]) <= 1e-5
        np.testing.assert_allclose(found["std"], passed.posterior.std, rtol=1e-5)
    for number, table in enumerate(passed.posterior.probabilities):
        np.testing.assert_allclose(found[f"probabilities_{number}"], table, rtol=1e-5)
    (image,) = outputs(decoder.path, passed.code)
    assert relative(passed.images, image) <= 1e-5


def test_the_std_of_a_laplace_latent_is_that_of_its_draws():
    posterior = LaplaceLatents(1).posterior(torch.tensor([[0.5, -1.0]]).repeat(200_000, 1), torch.ones(()))
    drawn = posterior.rsample(torch.randn(200_000, 1, generator=torch.Generator().manual_seed(0)))
    assert float(drawn.std()) == pytest.approx(float(posterior.std[0, 0]), rel=0.01)


def test_a_file_says_what_it_is_and_nothing_of_where_it_was_made(exported):
    _, _, (encoder, decoder) = exported
    model = onnx.load(encoder.path)
    onnx.checker.check_model(model)
    assert (model.producer_name, model.graph.name) == ("unbraid", "encoder")
    facts = {each.key: each.value for each in model.metadata_props}
    assert facts["unbraid.latents"] == "gaussian:size=3"
    assert (facts["unbraid.likelihood"], facts["unbraid.digest"]) == ("bernoulli", "0a1b2c")
    assert model.graph.input[0].name == "images"
    assert model.graph.input[0].type.tensor_type.shape.dim[0].dim_param == "batch"
    assert onnx.load(decoder.path).graph.input[0].name == "code"
    content = encoder.path.read_bytes()
    assert b".py" not in content
    assert b"site-packages" not in content


def test_a_model_is_exported_to_the_same_bytes_again_and_an_old_file_is_replaced_only_if_asked(exported):
    model, folder, before = exported
    with pytest.raises(RunError, match="encoder.onnx exists."):
        export_onnx(model, folder)
    after = export_onnx(model, folder, force=True, facts={"digest": "0a1b2c"})
    assert [each.sha256 for each in after] == [each.sha256 for each in before]


def test_a_difference_from_torch_writes_nothing(exported, tmp_path, monkeypatch):
    model, *_ = exported
    true = EncoderGraph.outputs
    monkeypatch.setattr(EncoderGraph, "outputs", lambda graph, inputs: [each + 1e-4 for each in true(graph, inputs)])
    with pytest.raises(RunError, match="1 inputs"):
        export_onnx(model, tmp_path)
    assert not list(tmp_path.iterdir())


def test_a_model_in_float64_is_exported_in_float32_and_stays_what_it_was(exported):
    model, *_ = exported
    double = built(GAUSSIAN, size=8).double()
    graphs = graphs_of(double)
    assert [next(graph.parameters()).dtype for graph in graphs] == [torch.float32] * 2
    assert next(double.parameters()).dtype == torch.float64
    assert isinstance(graphs[0], EncoderGraph)
    assert relative(graphs[0].outputs(graphs[0].inputs(2))[0], model.encode(graphs[0].inputs(2)).mean.numpy()) < 1e-5


class Counting(nn.Module):
    """A net of one's own that takes the size of a batch for a constant."""

    def forward(self, x):
        return x.flatten(1)[:, :6] * torch.ones(len(x), 6)


def test_a_net_that_takes_a_batch_for_a_constant_is_refused_with_advice(tmp_path):
    model = built(GAUSSIAN, size=8)
    model.encoder = Counting()
    with pytest.raises(RunError, match=r"use x.shape\[0\]"):
        export_onnx(model, tmp_path)


def test_without_the_packages_the_error_names_the_extra(exported, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    with pytest.raises(SpecError, match=r"install 'unbraid\[onnx\]'"):
        export_onnx(exported[0], tmp_path)


def test_the_likelihoods_link_is_part_of_the_decoder(exported):
    model, _, (_, decoder) = exported
    codes = 3 * torch.randn(20, 3, generator=torch.Generator().manual_seed(0))
    (image,) = outputs(decoder.path, codes)
    assert isinstance(model.likelihood, BernoulliLikelihood)
    assert image.min() > 0
    assert image.max() < 1
