"""A model in the explorer: a decoder, the codes of its images, and the information of each latent."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, final

from jaxtyping import Float, Int64
from torch import Tensor, nn

from unbraid._internal.arrays import as_floats
from unbraid.codes import Codes
from unbraid.errors import CodesError
from unbraid.metrics.estimators import Quantized
from unbraid.metrics.evaluate import evaluate
from unbraid.metrics.latent_readings import Reading, factor_shares, read_latents
from unbraid.metrics.metric import Score
from unbraid.metrics.mig import MIG
from unbraid.metrics.scoring import Scoring
from unbraid.metrics.unused_latents import unused_latents
from unbraid.models.autoencoder import AutoencoderModule
from unbraid.models.categories import likeliest
from unbraid.models.distributions.likelihoods import Likelihood
from unbraid.models.trained.latent_moves import Decoder, Place, decoding, places
from unbraid.training.runs.run import Run


@final
@dataclass(frozen=True, eq=False)
class ExploredModel:
    """Holds a decoder with its codes.

    `net` is the decoder as a module, from codes (and `num_noise` zeros) to the image that is shown; None if it is no
    module.
    """

    name: str
    decoder: Decoder
    net: nn.Module | None
    num_noise: int
    where: tuple[Place, ...]
    codes: Codes
    mig: Score | None

    @classmethod
    def from_run(cls, run: Run, name: str) -> "ExploredModel":
        codes = run.codes()
        kept = [score for score in run.scores(Scoring()) if score.metric == "MIG"]
        mig = kept[0] if kept else _mig(lambda metric: run.score([metric], progress=False).scores[0], codes)
        return cls._from_model(name, run.model(), codes, mig)

    @classmethod
    def from_decoder(cls, decoder: Any, given: Any) -> "ExploredModel":
        """Returns the model of any decoder: a module of torch, or a function, or a model of unbraid."""
        codes = given if isinstance(given, Codes) else Codes.from_arrays(as_floats("codes", given))
        mig = _mig(lambda metric: evaluate(codes, [metric], progress=False).scores[0], codes)
        if isinstance(decoder, AutoencoderModule):
            return cls._from_model("decoder", decoder, codes, mig)
        if not callable(decoder):
            raise CodesError(
                f"decoder is {type(decoder).__name__}; expected a module of torch, or a function from codes to images."
            )
        net = decoder if isinstance(decoder, nn.Module) else None
        return cls("decoder", decoder, net, 0, places(decoder, codes, 0), codes, mig)

    @classmethod
    def _from_model(cls, name: str, model: AutoencoderModule, codes: Codes, mig: Score | None) -> "ExploredModel":
        net = nn.Sequential(model.decoder, _AsShown(model.likelihood))
        where = places(model, codes, 0)
        if len(where) != codes.num_latents:
            raise CodesError(f"The codes have {codes.num_latents} latents, and the model {len(where)}. Give its own.")
        return cls(name, model, net, model.noise_inputs, where, codes, mig)

    @property
    def score(self) -> float | None:
        """MIG, or None where it is not known."""
        return None if self.mig is None or math.isnan(self.mig.value) else self.mig.value

    @property
    def num_columns(self) -> int:
        return self.where[-1].first + self.where[-1].width

    def columns(self, rows: Int64[Tensor, " row"]) -> Float[Tensor, "row column"]:
        """Returns the codes of these images as decoder input."""
        return likeliest(self.codes, rows, [place.width for place in self.where])

    def decode(self, columns: Float[Tensor, "code column"]) -> Float[Tensor, "code ..."]:
        """Returns the images that torch decodes, clipped to [0, 1]."""
        with decoding(self.decoder, self.num_columns) as decode:
            return decode(columns).float().clamp(0, 1)

    def readings(self) -> list[Reading]:
        """Returns every latent, the most informative first.

        Where codes have no width, and so no information, those whose means spread most come first.
        """
        try:
            return read_latents(self.codes, self.mig)
        except CodesError:
            spread, unused = self.codes.mean.double().std(dim=0, correction=0).tolist(), unused_latents(self.codes)
            order = sorted(range(len(spread)), key=lambda latent: -spread[latent])
            return [Reading(latent, math.nan, is_unused=bool(unused[latent])) for latent in order]

    def shares(self) -> list[list[float]] | None:
        """Returns the share of each factor that each latent explains, from 0 to 1; NaN where a factor never varies."""
        return None if self.mig is None else factor_shares(self.mig).tolist()


@final
class _AsShown(nn.Module):
    """Turns the output of the decoder into the image that is shown."""

    def __init__(self, likelihood: Likelihood) -> None:
        super().__init__()
        self._likelihood = likelihood

    def forward(self, output: Tensor) -> Tensor:
        return self._likelihood.mean(output)


def _mig(measure: Callable[[MIG], Score], codes: Codes) -> Score | None:
    """Returns a MIG for its tables: exact, or through bins where codes have no densities.

    It is None without factors that it takes.
    """
    if not codes.factors:
        return None
    for metric in (MIG(), MIG(Quantized())):
        try:
            return measure(metric)
        except CodesError:
            continue
    return None
