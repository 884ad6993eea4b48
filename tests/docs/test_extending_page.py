"""docs/extending.md: every class on the page is complete and is what the page says; all of them train together."""

import re
import runpy
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import pytest
import torch

from tests._internal.user_modules import fresh, imported
from tests.discovery import ROOT
from tests.metrics.test_mig import random_codes
from tests.training.optimizers.stacks import START, descended, gradients
from tests.training.squares import MLP_SPEC
from unbraid import MIG, Run
from unbraid.codes import Codes
from unbraid.datasets import FactorDataset
from unbraid.errors import SpecError
from unbraid.metrics import Metric
from unbraid.metrics.estimators import Estimator
from unbraid.metrics.reductions.statistics import Statistics
from unbraid.models import Architecture
from unbraid.models.distributions import Posterior
from unbraid.objectives import BetaTCVAE, FactorVAE, Objective
from unbraid.training import Critic, Fleet, Member
from unbraid.training.optimizers import Optimizer
from unbraid.training.runs import RunSpec

PAGE = (ROOT / "docs" / "extending.md").read_text()
FILES = dict(re.findall(r'```python title="(\w+\.py)"\n(.*?)```', PAGE, flags=re.DOTALL))
CONTRIBUTING = (ROOT / "CONTRIBUTING.md").read_text()
BUILT_ON = {"late_beta": "LateBeta", "sparse_tc": "SparseTC", "tc_and_dip": "TCAndDIP", "factor_tc": "FactorTC"}
MODULES = [name.removesuffix(".py") for name in FILES if name != "train.py"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder with the files of the page, from which they can be imported."""
    folder = tmp_path_factory.mktemp("extending")
    for name, text in FILES.items():
        (folder / name).write_text(text)
    with fresh(folder):
        yield folder


@pytest.fixture(scope="module")
def page(folder: Path) -> dict[str, ModuleType]:
    return {name: imported(name) for name in MODULES}


def test_there_are_seven_and_all_of_them_train_and_are_opened_again(folder, page, capsys):
    assert len(page) == 7 + len(BUILT_ON)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        names = runpy.run_path("train.py", run_name="__main__")
        run: Run = names["runs"][0]
        told = capsys.readouterr().out
    assert run.name.startswith("rate-target-")
    assert "mig" in told
    assert "active-units" in told
    kept = {path.stem for path in (folder / run.folder / "source").iterdir()}
    assert kept == set(MODULES) - {"active_units", "equal_widths", *BUILT_ON}


@pytest.mark.parametrize(("module", "name"), BUILT_ON.items())
def test_objectives_that_are_built_on_others_train_in_a_fleet_of_several_betas(module, name, page):
    made = getattr(page[module], name)
    critic = Critic(hidden=(4,)) if made.critic_reads == "codes" else None
    specs = [replace(MLP_SPEC, objective=made(beta=beta), critic=critic) for beta in (0.5, 2.0, 8.0)]
    together, alone = trained(*specs), torch.cat([trained(spec).weights for spec in specs])
    torch.testing.assert_close(together.weights, alone)
    assert len({tuple(row) for row in alone.tolist()}) == 3
    losses = together.advance()
    names = {"distortion", "rate", "mutual_information", "total_correlation", "dimension_wise_kl"}
    assert names <= losses.keys()
    assert ("critic" in losses) is (critic is not None)


def test_what_is_built_is_what_the_page_says(page):
    spec = replace(MLP_SPEC, objective=BetaTCVAE(beta=2.0))
    sparse = replace(MLP_SPEC, objective=page["sparse_tc"].SparseTC(beta=2.0, l1=0.0))
    torch.testing.assert_close(trained(sparse).weights, trained(spec).weights)
    heavy = replace(sparse, objective=page["sparse_tc"].SparseTC(beta=2.0, l1=50.0))
    assert trained(heavy).advance()["l1"] < trained(sparse).advance()["l1"]
    # Without schedules and penalties each is an objective that there is.
    factor = replace(MLP_SPEC, objective=FactorVAE(35.0), critic=Critic(hidden=(4,)))
    with_tc = replace(factor, objective=page["factor_tc"].FactorTC(35.0, beta=1.0))
    ours, theirs = trained(with_tc).advance(), trained(factor).advance()
    assert ours["critic"].item() == pytest.approx(theirs["critic"].item(), rel=0.2)


def trained(*specs: RunSpec, num_steps: int = 5) -> Fleet:
    fleet = Fleet([Member(spec, 0) for spec in specs], specs[0].training_data.load())
    for _ in range(num_steps):
        fleet.advance(log=False)
    return fleet


def test_the_estimator_errs_by_what_it_says_and_is_exact_where_widths_are_equal(page):
    estimator, statistics = page["equal_widths"].EqualWidths(), Statistics(random_codes(0))
    [(deviations, num_rows)] = estimator.deviations(statistics)
    for name, rows in deviations.items():
        assert rows.shape == (num_rows, *getattr(estimator.information(statistics), name).shape)
        torch.testing.assert_close(rows.mean(dim=0), torch.zeros_like(rows[0]), atol=1e-9, rtol=0)
    score = MIG(estimator)(random_codes(0))
    assert 0 <= score.value <= 1
    # Two values at -1 and 1, one std wide: total variance 2, within 1.
    noise = torch.tensor([-1.0, 1.0]).repeat(50)
    values = torch.tensor([0, 1]).repeat_interleave(50)
    codes = Codes.from_arrays((2.0 * values - 1 + noise)[:, None].numpy(), factors=values[:, None].numpy())
    found = estimator.information(Statistics(codes)).mutual_information
    torch.testing.assert_close(found, torch.full_like(found, 0.5 * torch.log(torch.tensor(2.0)).item()))


def test_the_metric_counts_the_latents_that_vary(page):
    mean = torch.stack([torch.linspace(0, 1, 20), torch.zeros(20)], dim=1)
    score = page["active_units"].ActiveUnits()(Codes.from_arrays(mean.numpy()))
    assert (score.value, len(score.per_latent)) == (0.5, 2)


def test_the_data_set_gives_what_it_says(page):
    data = page["crosses"].Crosses(6)
    images = data.load()
    assert (len(images), images.image_shape) == (data.num_images, data.image_shape) == (36, (1, 6, 6))
    pixels, factors = images[8]
    assert factors == {"row": 1, "column": 2}
    assert pixels[0, 1].eq(1).all()
    assert pixels[0, :, 2].eq(1).all()
    assert pixels.sum() == 11


def test_the_density_of_the_family_is_one_and_that_of_its_draws(page):
    z = torch.linspace(-60, 60, 200_001, dtype=torch.float64)[:, None]
    posterior = page["logistic"].Logistic(torch.full((1, 1), 0.5), torch.full((1, 1), 0.3))
    density = posterior.pairwise_log_prob(z)[:, 0, 0].exp()
    torch.testing.assert_close(torch.trapezoid(density, z[:, 0]), z.new_tensor(1.0), atol=1e-6, rtol=0)
    torch.testing.assert_close(posterior.log_prob(z[:1]), posterior.pairwise_log_prob(z[:1])[0])
    # The quantile of a draw is that of the noise: P(z <= loc) is one half.
    assert posterior.rsample(torch.zeros(1, 1)).item() == pytest.approx(0.5)


def test_the_optimizer_is_that_of_torch_and_leaves_the_failed_alone(page):
    steps = gradients(20)
    ours, state = descended(page["momentum"].Momentum(), START, steps, [0.1] * len(START))
    weights = START.clone().requires_grad_()
    theirs = torch.optim.SGD([weights], lr=0.1, momentum=0.9)
    for gradient in steps:
        weights.grad = gradient
        theirs.step()
    torch.testing.assert_close(ours, weights.detach(), rtol=1e-12, atol=1e-12)
    alive = torch.tensor([True, False, True])
    kept, _ = descended(page["momentum"].Momentum(), START, steps, alive=alive, state=state)
    assert torch.equal(kept[1], START[1])


def test_what_a_fleet_forbids_is_told_with_its_line(folder, page):
    text = FILES["rate_target.py"].replace(
        "        total =", "        if self.weight > 1:\n            rate = 2 * rate\n        total ="
    )
    (folder / "branching.py").write_text(text)
    spec = replace(MLP_SPEC, objective=imported("branching").RateTarget())
    with pytest.raises(SpecError, match=r"\d+ \(`if self\.weight"):
        Fleet([Member(spec, 0), Member(spec, 1)], spec.dataset.load()).advance()


@pytest.mark.parametrize(
    "kind",
    [Objective, Architecture, Metric, Estimator, FactorDataset, Posterior, Optimizer],
    ids=lambda kind: kind.__name__,
)
def test_what_a_class_must_answer_is_on_the_page_and_in_contributing(kind):
    for name in kind.__abstractmethods__:
        assert f"def {name}(" in PAGE, name
        assert re.search(rf"`[^`\n]*\b{name}\b", CONTRIBUTING), name
