"""Code of esmaeili2018.toml: Esmaeili et al. 2018, the HFVAE, groups of latents and discrete ones."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import torch

from reproductions import figure
from reproductions.code.digits import thick_digits, thickness_pictures
from reproductions.item import Code, Numbers, Scale, family_and_weight, of_each, per_run
from reproductions.pictures import of_best
from reproductions.scales import Reduction
from unbraid import VAE, Autoencoder, BetaTCVAE, BetaVAE, DSprites, Run, RunSpec, Scoring, figures
from unbraid.datasets import MNIST, CelebA, FashionMNIST, ShadedFaces
from unbraid.datasets.subsets import OuterValues
from unbraid.metrics import Informativeness
from unbraid.models import EsmaeiliCelebA, EsmaeiliDSprites, EsmaeiliMNIST, category_samples
from unbraid.models.distributions import BernoulliLatents, ConcreteLatents, DiagonalGaussian, GaussianLatents, GroupedLatents, StandardNormalPrior
from unbraid.objectives import HFVAE, BetaSVAE, DecomposedELBO, InformationDropout, Objective, Step
from unbraid.training.optimizers import Adam

TC, KL_OF_EACH = "elbo-decomposition", "elbo-decomposition:dimension_wise_kl"
_BOTH, _STYLE = GroupedLatents((GaussianLatents(10), ConcreteLatents(10))), GaussianLatents(10)
_OBJECTIVES: dict[str, Callable[[float], Objective]] = {
    "VAE": lambda _: VAE(),
    "beta-VAE": BetaVAE,
    "beta-SVAE": BetaSVAE,
    "beta-TCVAE": lambda beta: BetaTCVAE(beta=beta, estimator="stratified_pairs"),
    "HFVAE (4, 3)": lambda _: HFVAE(alpha=1.0, beta=4.0, gamma=3.0),
    "HFVAE (5, 3)": lambda _: HFVAE(alpha=1.0, beta=5.0, gamma=3.0),
    "HFVAE (10, 3)": lambda _: HFVAE(alpha=1.0, beta=10.0, gamma=3.0),
    "all terms": lambda _: DecomposedELBO(estimator="stratified_pairs"),
    "without mutual information": lambda _: DecomposedELBO(mutual_information=0.0, estimator="stratified_pairs"),
    "without KL of q(z) and p(z)": lambda _: DecomposedELBO(total_correlation=0.0, dimension_wise_kl=0.0, estimator="stratified_pairs"),
}
LAPTOP = Reduction(
    {
        (MNIST, FashionMNIST): {"split": "test"},
        DSprites: {"resolution": 32, "num_scales": 4, "num_orientations": 4, "num_positions": 8},
        ShadedFaces: {"resolution": 32, "num_identities": 8, "num_azimuths": 9, "num_elevations": 5, "num_lightings": 5},
    },
    {Objective: 3_000},
    spec={"precision": "float32", "batch_size": 128},
)


def spec(data: str, scale: Scale, label: str, *, latents: Any = None, digits: Any = None) -> RunSpec:
    """Returns an objective on images of 28 by 28 pixels, with the nets of table 3, and a category unless it is a beta-VAE."""
    family, weight = family_and_weight(label)
    chosen = latents or (_STYLE if family == "beta-VAE" else _BOTH)
    model = Autoencoder(EsmaeiliMNIST(), latents=chosen)
    return RunSpec(digits or MNIST(), model, _OBJECTIVES[family](weight), optimizer=Adam(1e-3), num_steps=23_400, batch_size=512)


def _images(objective: str) -> Callable[..., RunSpec]:
    """Returns an objective on the images that a label names."""

    def spec_of(data: str, scale: Scale, label: str) -> RunSpec:
        images, _, other = label.partition(", ")
        if images == "dSprites":
            return _sprites(data, scale, "HFVAE")
        return spec(data, scale, f"{other} 4" if other else objective, digits=FashionMNIST() if images == "Fashion-MNIST" else MNIST())

    return spec_of


def _sprites(data: str, scale: Scale, label: str) -> RunSpec:
    discrete = label in ("HFVAE", "beta-SVAE")
    latents = GroupedLatents((GaussianLatents(10), ConcreteLatents(3))) if discrete else _STYLE
    model, objective = Autoencoder(EsmaeiliDSprites(), latents=latents), _OBJECTIVES[label if label != "HFVAE" else "HFVAE (4, 3)"](4.0)
    steps = 144_000 if scale == "paper" else 36_000
    return RunSpec(DSprites(), model, objective, num_steps=steps, batch_size=1024, optimizer=Adam(1e-3), precision="bf16")


def _left_out(kept: OuterValues) -> Code:
    """Returns an HFVAE and a VAE, each trained on all digits, and on those that are kept."""

    def spec_of(data: str, scale: Scale, label: str) -> RunSpec:
        family, _, images = label.partition(", ")
        whole = spec(data, scale, "HFVAE (4, 3)" if family == "HFVAE" else family, digits=MNIST(shape_factors=True))
        return whole if images == "all digits" else replace(whole, subset=kept)

    scorings = Scoring(part="all", subset=replace(kept, part="test")), Scoring(part="all", subset=kept)
    return Code(spec_of, lambda data: scorings)


def _faces(data: str, scale: Scale, label: str) -> RunSpec:
    family, weight = family_and_weight(label)
    latents = _TWENTY if family == "beta-VAE" else GroupedLatents((_TWENTY, BernoulliLatents(2)))
    dataset, model = CelebA() if data == "celeba" else ShadedFaces(), Autoencoder(EsmaeiliCelebA(), latents=latents)
    length: Any = {"num_steps": 24_800, "batch_size": 512, "precision": "bf16"}
    return RunSpec(dataset, model, _OBJECTIVES[family](weight), optimizer=Adam(1e-3), **length)


_TWENTY = GaussianLatents(20)
# The score of informative latents counts the category too, which holds more than a nat in every run.
_style = per_run({"informative latents of the style": lambda run: run["informative-latents"] - (run["informativeness:group_1"] > 0.01)})


_BATCH, _LATENTS, _IMAGES = 64, 6, 10_000
_PAIRS = ((0, 1, 2), (3, 4, 5))
_TERMS = ("rate", "mutual_information", "total_correlation", "total_correlation_within", "dimension_wise_kl")
_ROWS: dict[str, tuple[Any, tuple[float, ...], Any]] = {
    "VAE": (VAE(), (1, 0, 0, 0, 0), "each"),
    "beta-VAE 4": (BetaVAE(4.0), (4, 0, 0, 0, 0), "each"),
    "information dropout": (InformationDropout(beta=2.0, gamma=3.0), (0, 2, 3, 0, 0), "each"),
    "beta-TCVAE 4": (BetaTCVAE(beta=4.0, estimator="stratified_pairs"), (0, 1, 4, 0, 1), "each"),
    "HFVAE": (HFVAE(alpha=1.0, beta=4.0, gamma=3.0, groups=_PAIRS), (0, 1, 4, 3, 1), _PAIRS),
}
_SUMS: dict[str, Any] = {"all terms, latents apart": "each", "all terms, two groups": _PAIRS}
CASES = (*_ROWS, *_SUMS)


def compute_terms(label: str, seed: int) -> dict[str, float]:
    """Returns how far the loss of an objective is from its weighted terms, or the sum of the terms from the rate."""
    step = _batch(seed)
    distortion = -float(step.log_likelihood.mean())
    if label in _SUMS:
        log_q = step.posterior.log_prob(step.z).sum(dim=1)
        log_p = torch.distributions.Normal(0.0, 1.0).log_prob(step.z).sum(dim=1)
        return {"difference": abs(sum(_terms(step, _SUMS[label])[1:]) - float((log_q - log_p).mean()))}
    objective, weights, groups = _ROWS[label]
    expected = distortion + sum(w * term for w, term in zip(weights, _terms(step, groups), strict=True))
    return {"difference": abs(float(objective(step).total) - expected)}


def _batch(seed: int) -> Step:
    """Returns a batch of codes and likelihoods that no model made: identities hold for any."""
    generator = torch.Generator().manual_seed(seed)
    loc, log_var, noise = torch.randn(3, _BATCH, _LATENTS, generator=generator, dtype=torch.float64)
    posterior = DiagonalGaussian(loc, log_var)
    return Step(
        x=torch.rand(_BATCH, 1, 2, 2, generator=generator, dtype=torch.float64),
        posterior=posterior,
        z=posterior.rsample(noise),
        log_likelihood=-100 * torch.rand(_BATCH, generator=generator, dtype=torch.float64),
        prior=StandardNormalPrior(),
        dataset_size=_IMAGES,
        progress=torch.tensor(0.5, dtype=torch.float64),
    )


def _terms(step: Step, groups: Any) -> list[float]:
    """Returns each term alone: the loss with its weight 1 and all others 0, less the distortion."""

    def total(**weights: float) -> float:
        none = dict.fromkeys(_TERMS, 0.0)
        return float(DecomposedELBO(**{**none, **weights}, groups=groups, estimator="stratified_pairs", nested_weights=())(step).total)

    return [total(**{name: 1.0}) - total() for name in _TERMS]


_MOMENTS = tuple(range(0, 101, 5))


def _curves(run: Run) -> Numbers:
    """Returns the information of the ten style latents over training, by their rank at the end, and which share of
    those that end without any had some before.
    """
    steps, rows = run.history.latent_information()
    curves, nats = np.array(rows)[:, :10], np.array(Informativeness()(run.codes()).per_latent)[:10]
    dead, order = nats <= 0.01, np.argsort(-nats, kind="stable")
    found = {"information": float(nats.sum()), "dead-latents": float(dead.sum())}
    found["pruned-share"] = float((curves[:, dead].max(axis=0) > 0.05).mean()) if dead.any() else float("nan")
    for moment in _MOMENTS:
        place = int(np.abs(np.array(steps) - moment / 100 * run.spec.num_steps).argmin())
        found |= {f"information:{rank} at {moment} %": float(curves[place, latent]) for rank, latent in enumerate(order, 1)}
    return found


def _draw_curves(scores: Any) -> Any:
    axes = figure.subplots([f"{label}, median over seeds" for label in scores.settings], 3.2)
    for each, label in zip(axes, scores.settings, strict=True):
        table = [[scores.of_seeds(label, f"information:{rank} at {moment} %") for rank in range(1, 11)] for moment in _MOMENTS]
        values = [[float(np.median(found)) for found in row] for row in table]
        names = [f"rank {rank}" for rank in range(1, 11)]
        figures.latent_curves(list(_MOMENTS), values, names, label="I(x; z_d) in nats", axes=each)
    return axes[0]


def _weights(net: Any, latents: Any, shape: tuple[int, int, int], num_inputs: int) -> Code:
    def compute(label: str, seed: int) -> Numbers:
        with torch.device("meta"):  # weights are counted, not made
            made = net.make_encoder(shape, latents) if label == "encoder" else net.make_decoder(num_inputs, shape)
        return {"weights": sum(parameter.numel() for parameter in made.parameters())}

    return Code(compute=compute, cases={"encoder": (0,), "decoder": (0,)})


def _latents_shown(run: Run) -> dict[str, bytes]:
    """Returns the style latents of a run from -3 to 3, and draws from the prior by category."""
    categories = {"categories": category_samples(run.model(), num_draws=12, seed=0).png()} if run.spec.model.latents.num_discrete else {}
    return {"latents": run.traverse(latents=range(10), range=(-3.0, 3.0)).png(), **categories}


def _all_latents(run: Run) -> dict[str, bytes]:
    return {"latents": run.traverse(range=(-3.0, 3.0), order_by=list(Informativeness()(run.codes()).per_latent)).png()}


_PICTURES = of_best(_latents_shown)
CODE: dict[str, Code] = {
    "table1": Code(compute=compute_terms, cases=dict.fromkeys(CASES, range(5))),
    "figure3": Code(
        lambda data, scale, label: spec(data, scale, label, latents=GaussianLatents(2)),
        derive=per_run({"KL of q(z) and p(z)": lambda run: run[TC] + run[KL_OF_EACH]}),
    ),
    "figure5": Code(_images("HFVAE (4, 3)"), derive=_style, pictures=_PICTURES),
    "figure6": Code(derive=_style),
    "figure6-curve": Code(examine=lambda data: of_each(_curves), keeps_curves=True, draw=_draw_curves),
    "table2": Code(_sprites),
    "labels": Code(_images("HFVAE (10, 3)")),
    "figure7": Code(examine=lambda data: thick_digits, pictures=of_best(thickness_pictures)),
    "figure8": Code(_faces, pictures=of_best(_all_latents)),
    "figure9a": _left_out(OuterValues("thickness", "digit", 7, side="high")),
    "figure9b": _left_out(OuterValues("width", "digit", 0, side="low")),
    "figure11": Code(lambda data, scale, label: spec(data, scale, label, digits=FashionMNIST()), derive=_style, pictures=_PICTURES),
    "table3": _weights(EsmaeiliMNIST(), _BOTH, (1, 28, 28), 20),
    "table4": _weights(EsmaeiliDSprites(), GroupedLatents((_STYLE, ConcreteLatents(3))), (1, 64, 64), 13),
    "table5": _weights(EsmaeiliCelebA(), GroupedLatents((_TWENTY, BernoulliLatents(2))), (3, 64, 64), 22),
}
