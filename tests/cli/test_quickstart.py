"""`unbraid quickstart`."""

import importlib
from dataclasses import replace

import pytest

from unbraid.cli.quickstart import config
from unbraid.datasets import DSprites
from unbraid.models import MLP, Autoencoder
from unbraid.models.distributions import GaussianLatents
from unbraid.objectives import VAE


@pytest.fixture
def smaller(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same commands with less to compute."""

    def small(objective, num_steps):
        dataset = DSprites(resolution=8, shapes=("heart",), num_scales=2, num_orientations=1, num_positions=6)
        return replace(
            config(objective, num_steps),
            dataset=dataset,
            model=Autoencoder(MLP((8,), (8,)), latents=GaussianLatents(2)),
        )

    monkeypatch.setattr(importlib.import_module("unbraid.cli.quickstart"), "config", small)


def test_the_config_is_small_and_has_factors_to_find():
    spec = config(VAE(), num_steps=5)
    assert spec.dataset.num_images < 10_000
    assert sum(factor.size > 1 for factor in spec.dataset.factors) >= 2


@pytest.mark.usefixtures("smaller")
def test_it_trains_scores_and_reports_and_the_second_time_only_reports(unbraid, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    arguments = ["quickstart", "--steps", "2", "--seeds", "0", "--device", "cpu"]
    first = unbraid(*arguments)
    assert first.code == 0, first.err
    page = tmp_path / "runs" / "quickstart" / "report.html"
    assert page.is_file()
    explorer = page.with_name("explorer.html")
    assert f"The report is in {page.as_uri()}\nThe explorer is in {explorer.as_uri()}\n" in first.out
    assert explorer.read_text().count('"precision":"half"') == 2
    assert 'href="explorer.html"' in page.read_text()
    assert [line.split()[0] for line in first.out.splitlines() if line.startswith(("vae ", "beta-tcvae, "))] == [
        "vae",
        "beta-tcvae,",
    ]
    assert (
        first.err == "Note: shape, orientation (constant in these codes): undefined, and left out of every average.\n"
    )

    page.unlink()
    second = unbraid(*arguments)
    assert second.code == 0, second.err
    assert page.is_file()
    assert "2 of 2" in second.out
    assert "Training" not in second.out


@pytest.mark.usefixtures("smaller")
def test_it_goes_on_where_it_was_stopped(unbraid, tmp_path):
    arguments = ["quickstart", "--steps", "2", "--seeds", "0", "--device", "cpu", "--out", tmp_path]
    assert unbraid(*arguments).code == 0
    stopped = next(tmp_path.glob("vae-*"))
    (stopped / "finished.json").unlink()
    outcome = unbraid(*arguments)
    assert outcome.code == 0, outcome.err
    assert (stopped / "finished.json").exists()
