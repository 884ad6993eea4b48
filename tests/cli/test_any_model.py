"""Train, score, report and encode with every kind of latents and of objective: what needs densities, a rate or means
must do without.
"""

import re

import numpy as np
import pytest

from tests.slow import slow_but
from tests.words import words
from unbraid.training.runs import Run

SMALL = (
    *words("--dataset dsprites --dataset.resolution 8 --dataset.shapes heart,square --dataset.num-scales 2"),
    *words("--dataset.num-orientations 1 --dataset.num-positions 4 --device cpu"),
    *words("--model.encoder.hidden 8 --model.encoder.decoder-hidden 8 --batch-size 8 --steps 3"),
)
CRITIC = "--critic.hidden 8 --critic.channels 2"
MODELS = {
    "hfvae-grouped": "--objective hfvae --model.latents grouped "
    "--model.latents.parts gaussian:2,concrete:3,bernoulli:2",
    "vae-discrete": "--objective vae --model.latents concrete --model.latents.categories 12",
    "aae-deterministic": f"--objective aae {CRITIC} --model.latents deterministic --model.latents.size 3",
    "infogan": f"--objective info-gan {CRITIC} --model.noise-inputs 2 --model.latents grouped "
    "--model.latents.parts gaussian:2:uniform-prior,concrete:3",
    "correlated-noise": "--objective beta-vae --model.latents correlated-gaussian --model.latents.size 3",
    "laplace": "--objective annealed-vae --model.latents laplace --model.latents.size 3",
    "learned-prior-and-variance": "--objective dip-vae --objective.mode ema --objective.kind ii "
    "--model.likelihood learned-gaussian --model.latents gaussian --model.latents.size 3 "
    "--model.latents.prior learned-gaussian-prior",
    "factor-vae-scheduled": f"--objective factor-vae --objective.gamma linear:0:10 {CRITIC} --model.latents.size 3",
}


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    return tmp_path_factory.mktemp("any")


@pytest.fixture
def trained(unbraid, folders, request):
    folder = folders / request.param
    if not folder.exists():
        outcome = unbraid("train", *SMALL, *words(MODELS[request.param]), "--seeds", "0", "--out", folder)
        assert outcome.code == 0, outcome.err
    return folder


# Groups, none with a density, none with an encoder of images, and what is learned beside the nets.
FAST = ["hfvae-grouped", "aae-deterministic", "infogan", "learned-prior-and-variance"]
every_model = pytest.mark.parametrize("trained", slow_but(FAST, MODELS), indirect=True)


@every_model
def test_it_is_scored(unbraid, trained):
    outcome = unbraid(
        "score", trained, "--device", "cpu", "--metrics", "mig:quantized,informativeness:quantized,misjed,sap"
    )
    assert outcome.code == 0, outcome.err
    assert "Traceback" not in outcome.err


@every_model
def test_its_report_shows_every_latent(unbraid, trained):
    outcome = unbraid("report", trained, "--out", trained / "report.html")
    assert outcome.code == 0, outcome.err
    page = (trained / "report.html").read_text()
    run = Run.open(next(trained.glob("*-seed0")))
    codes = run.codes()
    unused = re.search('<p class="unused">.*?</p>', page, re.DOTALL)
    for latent in range(codes.num_latents):
        if not unused or not re.search(rf"<sub>{latent}</sub>", unused[0]):
            assert re.search(rf"(as|for each category of) latent {latent}\b", page)
    assert 'aria-labelledby="information"' in page, "these images have factors, so there is a MIG"
    assert not re.search(r"\b(nan|inf)\b", page)


@pytest.mark.parametrize("trained", ["aae-deterministic"], indirect=True)
def test_a_score_that_needs_densities_says_what_to_do_without(unbraid, trained):
    outcome = unbraid("score", trained, "--device", "cpu", "--metrics", "mig:sampled")
    assert outcome.code == 2
    assert outcome.err.count("\n") == 1
    assert "Use the quantized estimator" in outcome.err
    outcome = unbraid("score", trained, "--device", "cpu", "--metrics", "mig")
    assert outcome.code == 0, outcome.err
    assert "left out: mig: needs posteriors with a std above 0" in outcome.out


@every_model
def test_new_images_are_encoded_into_codes_that_can_be_scored(unbraid, trained, tmp_path):
    run = Run.open(next(trained.glob("*-seed0")))
    images = np.random.default_rng(0).integers(0, 256, (12, 8, 8), dtype=np.uint8)
    np.savez(tmp_path / "images.npz", images=images, factors=np.arange(12)[:, None] % 3, factor_names=["hue"])
    outcome = unbraid("encode", run.folder, tmp_path / "images.npz", "--out", tmp_path / "codes.npz", "--device", "cpu")
    assert outcome.code == 0, outcome.err
    outcome = unbraid("score", tmp_path / "codes.npz", "--metric", "mig", "--metric.estimator", "quantized")
    assert outcome.code == 0, outcome.err
    with np.load(tmp_path / "codes.npz") as arrays:
        tables = [name for name in arrays if name.startswith("probabilities_")]
        assert len(tables) == len(run.codes().probabilities)


@pytest.mark.parametrize("trained", ["vae-discrete"], indirect=True)
def test_a_csv_of_discrete_latents_is_refused(unbraid, trained, tmp_path):
    run = next(trained.glob("*-seed0"))
    outcome = unbraid("encode", run, tmp_path / "images.npz", "--out", tmp_path / "codes.csv")
    assert outcome.code == 2
    assert ".npz file" in outcome.err
    assert list(tmp_path.iterdir()) == []
