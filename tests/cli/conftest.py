"""The command line, called in this process, and a few runs that it made."""

import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from tests.cli.scored_arrays import FACTORS
from tests.words import words
from unbraid import metrics
from unbraid.cli import main
from unbraid.cli.flags import known_fields
from unbraid.metrics import MIG

TINY = words(
    "--dataset dsprites --dataset.resolution 8 --dataset.shapes heart,square --dataset.num-scales 2 "
    "--dataset.num-orientations 1 --dataset.num-positions 4 --model.encoder.hidden 8 --model.encoder.decoder-hidden 8 "
    "--model.latents.size 2 --batch-size 8 --steps 2 --device cpu"
)


@dataclass
class Outcome:
    code: int
    out: str
    err: str


Unbraid = Callable[..., Outcome]


@pytest.fixture(scope="session", autouse=True)
def _made_flags() -> None:
    """Makes the flags before a test adds classes or imports nothing."""
    known_fields("train")


@pytest.fixture
def unbraid(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Unbraid:
    """What a command prints and leaves with, off screen."""
    for name in ("COLUMNS", "FORCE_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE"):
        monkeypatch.delenv(name, raising=False)

    def run(*arguments: object) -> Outcome:
        capsys.readouterr()
        with pytest.raises(SystemExit) as left:
            main([str(argument) for argument in arguments])
        captured = capsys.readouterr()
        code = left.value.code
        return Outcome(code if isinstance(code, int) else 0 if code is None else 1, captured.out, captured.err)

    return run


@pytest.fixture
def tiny() -> list[str]:
    """Flags that make training a matter of a moment."""
    return list(TINY)


@pytest.fixture(scope="session")
def _trained_once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("trained") / "runs"
    with pytest.raises(SystemExit) as left:
        main(
            [
                "train",
                *TINY,
                *words("--objective vae --objective beta-tcvae --objective.beta 4 --seeds 0-1 --out"),
                str(folder),
            ]
        )
    assert left.value.code == 0
    return folder


@pytest.fixture
def trained(_trained_once: Path, tmp_path: Path) -> Path:
    """A folder of its own with four finished runs: a VAE and a beta-TCVAE, two seeds each."""
    return Path(shutil.copytree(_trained_once, tmp_path / "runs"))


@pytest.fixture
def arrays() -> dict[str, np.ndarray]:
    """Codes of two factors, as arrays."""
    rng = np.random.default_rng(0)
    return {"mean": FACTORS + 0.1 * rng.standard_normal((60, 2)), "std": np.full((60, 2), 0.3), "factors": FACTORS}


@pytest.fixture
def _few_metrics(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every metric has tests of its own: here "all" is MIG, and its quantized variant."""
    for name, cls in list(vars(metrics).items()):
        if isinstance(cls, type) and issubclass(cls, metrics.Metric) and cls not in (metrics.Metric, MIG):
            monkeypatch.delattr(metrics, name)
    monkeypatch.setattr("unbraid.metrics.selection.VARIANTS", ("mig:quantized",))
    monkeypatch.setattr("unbraid.metrics.selection.LEFT_OUT", {"mig:sampled": "is slow; ask for it by name."})
