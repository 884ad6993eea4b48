"""Golden values of the metrics that need joint entropies, and of MISJED."""

from collections.abc import Callable
from dataclasses import replace

import torch

from tests.golden.values import Arrays, Values, codes_of, has_densities
from unbraid.codes import Codes
from unbraid.information.exact_joint import MAX_JOINT_IMAGES
from unbraid.information.posteriors import Draws
from unbraid.information.quantized import Masses
from unbraid.metrics.elbo_decomposition import ELBODecomposition
from unbraid.metrics.estimators import Exact, Quantized
from unbraid.metrics.indin import INDIN
from unbraid.metrics.informativeness import Informativeness
from unbraid.metrics.metric import Score
from unbraid.metrics.misjed import MISJED
from unbraid.metrics.reductions.statistics import Statistics
from unbraid.metrics.sampled_metric import Conditional
from unbraid.metrics.separability import Separability
from unbraid.metrics.sepin import SEPIN

CONDITIONALS: tuple[Conditional, ...] = ("analytic", "mc")
MASSES: tuple[Masses, ...] = ("erf_edge", "rectangle")


def sampling(arrays: Arrays) -> Values:
    if not has_densities(arrays):
        return {}
    statistics = Statistics(codes_of(arrays), draws=Draws.of(arrays["z"], arrays["ids"].long()))
    found: Values = {}
    for conditional in CONDITIONALS:
        told = Informativeness(conditional=conditional).of(statistics)
        shared = Separability(conditional=conditional).of(statistics)
        sepin, indin = SEPIN(conditional=conditional).of(statistics), INDIN(conditional=conditional).of(statistics)
        decomposition = ELBODecomposition(conditional=conditional).of(statistics)
        found[f"sampling/{conditional}"] = {
            "H_zi": told.tables["latent_entropy"],
            "H_znoti": shared.tables["entropy_of_others"],
            "H_z": told.tables["joint_entropy"][0],
            "H_zi_given_x": told.tables["latent_entropy_given_image"],
            "I_x_zi": list(told.per_latent),
            "I_x_z": told.value,
            "I_x_znoti": sepin.tables["informativeness_of_others"],
            "SEP": list(shared.per_latent),
            "SEPIN": list(sepin.per_latent),
            "INDIN": list(indin.per_latent),
            "rho": sepin.tables["shares"],
            "WSEPIN": sepin.value,
            "WINDIN": indin.value,
            "SEPIN_at_k": _at_every_k(sepin),
            "INDIN_at_k": _at_every_k(indin),
            "TC": decomposition.value,
        }
    return found


def misjed(arrays: Arrays) -> Values:
    found: Values = {}
    for masses in MASSES:
        score = MISJED(Quantized(num_bins=50, masses=masses))(codes_of(arrays))
        found[f"misjed/{masses}/50"] = {
            "MISJED": score.tables["misjed"],
            "MISJED_norm": score.tables["misjed_normalized"],
        }
    return found


def elbo_decomposition(arrays: Arrays) -> Values:
    """The codes hold no reconstruction: log p(x | z) is 0, and the ELBO is minus the KL."""
    if not has_densities(arrays):
        return {}
    draws = Draws.of(arrays["z_per_datum"], torch.arange(len(arrays["mu"])))
    score = ELBODecomposition().of(Statistics(codes_of(arrays), draws=draws))
    kl = score.parts["kl"].value
    return {
        "elbo_decomposition": {
            "logpx": -0.0,
            "dependence": score.value,
            "information": score.parts["mutual_information"].value,
            "dimwise_kl": score.parts["dimension_wise_kl"].value,
            "kl": kl,
            "elbo": -kl,
        }
    }


def exact_in_the_plane(arrays: Arrays) -> Values:
    """Of the posteriors as they are, and, where the file has a `rho`, of posteriors with that correlation."""
    codes = codes_of(arrays)
    if not has_densities(arrays) or codes.mean.shape[1] != 2 or len(codes) > MAX_JOINT_IMAGES:
        return {}
    found: Values = {"exact2d": _in_the_plane(codes)}
    if "rho" in arrays:
        rho = float(arrays["rho"])
        correlation = torch.tensor([[1.0, rho], [rho, 1.0]], dtype=torch.float64)
        covariance = arrays["sigma"][:, :, None] * correlation * arrays["sigma"][:, None]
        found[f"exact2d_corr{rho:g}"] = _in_the_plane(replace(codes, std=None, covariance=covariance))
    return found


def _in_the_plane(codes: Codes) -> Values:
    score = Informativeness(Exact())(codes)
    each, joint = torch.tensor(score.per_latent, dtype=torch.float64), score.parts["joint"].value
    given_image = float(Statistics(codes).posteriors.entropy().joint)
    sepin = joint - each.flip(0)
    return {
        "H_z": joint + given_image,
        "H_z_given_x": given_image,
        "I_x_z": joint,
        "I_x_zi": each,
        # Posteriors that correlate latents do so beyond what the images share.
        "TC": float(score.tables["latent_entropy"].sum()) - joint - given_image,
        "SEP": float(each.sum()) - joint,
        "SEPIN": sepin,
        "WSEPIN": each @ sepin / each.sum(),
    }


METRICS: tuple[Callable[[Arrays], Values], ...] = (sampling, misjed, elbo_decomposition, exact_in_the_plane)


def _at_every_k(score: Score) -> list[float]:
    """SEPIN@1, SEPIN@2, ..., in this order."""
    return [score.parts[f"{score.metric}@{k}"].value for k in range(1, len(score.per_latent) + 1)]
