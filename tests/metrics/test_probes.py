"""Probes in a fleet: each learns what it would learn alone, and what torch's own modules learn."""

import math

import pytest
import torch

from unbraid._internal import row_draws
from unbraid.metrics.predicting.prediction_tasks import PredictionTask
from unbraid.metrics.predicting.probes import Probe, ProbeTraining, _Fleet, trained_probes

CPU = torch.device("cpu")
SHORT = ProbeTraining(num_steps=15, batch_size=16, learning_rate=0.05)


def task(num_train=40, num_latents=3, num_values=3, seed=0):
    codes = row_draws.randn((num_train + 20, num_latents), seed, "test/codes")
    labels = (codes[:, 0] * 1.3 + 0.3 * codes[:, 1]).clamp(-1, 1).mul(num_values / 2).round().long()
    labels = 5 * (labels - labels.min())
    return PredictionTask("v", codes[:num_train], labels[:num_train], codes[num_train:], labels[num_train:])


def test_a_probe_learns_the_same_alone_and_among_others_of_other_widths_rows_and_kinds():
    first, second = task(), task(num_train=25, seed=1)
    probes = [
        Probe(first, 0, classifies=False),
        Probe(first, 4, classifies=True),
        Probe(second, 7, classifies=False),
        Probe(second, 2, classifies=True, hides=(1,)),
    ]
    together = trained_probes(probes, SHORT, CPU)
    for probe, losses in zip(probes, together, strict=True):
        (alone,) = trained_probes([probe], SHORT, CPU)
        torch.testing.assert_close(losses.losses, alone.losses, atol=1e-9, rtol=1e-9)


def layer_of(weight):
    return torch.nn.utils.skip_init(torch.nn.Linear, *weight.shape, dtype=torch.float64)


def modules(probe, weights):
    """The same probe of torch's layers, with the same weights at first."""
    hidden_w, hidden_b, output_w, output_b, linear = (weight[0] for weight in weights)
    if probe.hidden == 0:
        net = torch.nn.Sequential(layer_of(linear))
        pairs = [(net[0], linear, output_b)]
    else:
        net = torch.nn.Sequential(layer_of(hidden_w), torch.nn.ReLU(), layer_of(output_w))
        pairs = [(net[0], hidden_w, hidden_b), (net[2], output_w, output_b)]
    for layer, weight, bias in pairs:
        layer.weight.data, layer.bias.data = weight.T.clone(), bias[0].clone()
    return net


@pytest.mark.parametrize("hidden", [0, 5])
@pytest.mark.parametrize("classifies", [True, False])
def test_it_is_torchs_adam_on_torchs_layers(hidden, classifies):
    probe = Probe(task(), hidden, classifies)
    net = modules(probe, _Fleet.of([probe], CPU).initial_weights(SHORT.seed))
    optimizer = torch.optim.Adam(net.parameters(), lr=SHORT.learning_rate)
    decay = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda step: (1 + math.cos(math.pi * step / SHORT.num_steps)) / 2
    )
    train, test = probe.task.train_codes, probe.task.test_codes
    mean, std = train.mean(dim=0), train.std(dim=0, correction=0)
    loss_of = torch.nn.functional.cross_entropy if classifies else torch.nn.functional.mse_loss
    targets = probe.targets().long() if classifies else probe.targets()[:, None]
    for step in range(SHORT.num_steps):
        rows = (SHORT.batch(step) * len(train)).long()
        optimizer.zero_grad()
        loss_of(net(((train - mean) / std)[rows]), targets[rows]).backward()
        optimizer.step()
        decay.step()
    expected = probe.losses(net((test - mean) / std).detach())
    (found,) = trained_probes([probe], SHORT, CPU)
    torch.testing.assert_close(found.losses, expected.losses, atol=1e-9, rtol=1e-9)


def test_a_hidden_latent_is_not_seen():
    one, other = task(), task()
    other.train_codes[:, 0] = 0.5
    other.test_codes[:, 0] = 7.0
    both = trained_probes([Probe(each, 4, classifies=True, hides=(0,)) for each in (one, other)], SHORT, CPU)
    torch.testing.assert_close(both[0].losses, both[1].losses)


def test_a_value_that_was_never_seen_is_wrong():
    one = task()
    one.test_labels[:] = 999
    (losses,) = trained_probes([Probe(one, 0, classifies=True)], SHORT, CPU)
    assert float(losses.error()) == 1
