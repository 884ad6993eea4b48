"""Code of esmaeili2018.toml: Esmaeili et al. 2018, the HFVAE, groups of latents and discrete ones."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import torch

from reproductions import figure
from reproductions.code.digits import thick_digits, thickness_pictures
from reproductions.item import Code, Experiment, Numbers, Scale, of_each, per_run
from reproductions.pictures import of_best
from unbraid import MIG, VAE, Autoencoder, BetaTCVAE, BetaVAE, DSprites, Run, RunSpec, Scoring, figures
from unbraid.datasets import MNIST, CelebA, FashionMNIST, ShadedFaces
from unbraid.datasets.subsets import OuterValues, RowRange
from unbraid.metrics import DCI, RMIG, ClusterAccuracy, ELBODecomposition, FactorVAEScore, InformativeLatents, Informativeness
from unbraid.metrics.model import Distortion
from unbraid.models import EsmaeiliCelebA, EsmaeiliDSprites, EsmaeiliMNIST, category_samples
from unbraid.models.distributions import BernoulliLatents, ConcreteLatents, DiagonalGaussian, GaussianLatents, GroupedLatents, StandardNormalPrior
from unbraid.objectives import HFVAE, BetaSVAE, DecomposedELBO, InformationDropout, Step
from unbraid.studies import Setting
from unbraid.training.optimizers import Adam

ACTIVE, ACCURACY, OF_CATEGORY = "informative-latents", "cluster-accuracy", "informativeness:group_1"
STYLE = "informative latents of the style"
STATED, STRONG = "HFVAE (4, 3)", "HFVAE (10, 3)"
_HFVAE = {STATED: HFVAE(alpha=1.0, beta=4.0, gamma=3.0), STRONG: HFVAE(alpha=1.0, beta=10.0, gamma=3.0)}
_BOTH = GroupedLatents((GaussianLatents(10), ConcreteLatents(10)))
SCORE, EASTWOOD = "factor-vae-score", "dci:forest:num_refits=0"
_TABLE2 = {
    "VAE": VAE(),
    "beta-VAE": BetaVAE(4.0),
    "beta-SVAE": BetaSVAE(4.0),
    "beta-TCVAE": BetaTCVAE(beta=4.0, estimator="stratified_pairs"),
    "HFVAE": _HFVAE[STATED],
}
TC, INFORMATION, KL_OF_EACH = ("elbo-decomposition", "elbo-decomposition:mutual_information", "elbo-decomposition:dimension_wise_kl")


def _digits(objective: Any, scale: Scale, dataset: Any, latents: Any = _BOTH) -> RunSpec:
    """Returns a run on images of 28 by 28 pixels, with the nets of table 3. The smallest scale sees 600 images."""
    tiny = scale == "smoke"
    net = EsmaeiliMNIST(hidden=(32,), branch_width=16, decoder_hidden=(16, 32)) if tiny else EsmaeiliMNIST()
    length = {"num_steps": 4, "batch_size": 64, "subset": RowRange(0, 600)} if tiny else {"num_steps": 23_400, "batch_size": 512}
    return RunSpec(dataset, Autoencoder(net, latents=latents), objective, optimizer=Adam(1e-3), **length)


def _settings(specs: Mapping[str, RunSpec], scale: Scale) -> tuple[Setting, ...]:
    return tuple(Setting(label, spec, tuple(range(1 if scale == "smoke" else 8)), label) for label, spec in specs.items())


_DIGIT_STUDY = {"metrics": (InformativeLatents(), Informativeness(), ClusterAccuracy()), "keep": "best", "best_by": ACCURACY}


def _pruning(data: str, scale: Scale) -> Experiment:
    losses: dict[str, Any] = {"VAE": VAE(), "beta-TCVAE 4": BetaTCVAE(beta=4.0, estimator="stratified_pairs"), **_HFVAE}
    return Experiment(_settings({n: _digits(each, scale, MNIST()) for n, each in losses.items()}, scale), _DIGIT_STUDY)


def _traversed(*sets: str) -> Callable[[str, Scale], Experiment]:
    def experiment(data: str, scale: Scale) -> Experiment:
        images: dict[str, Any] = {"MNIST": MNIST(), "Fashion-MNIST": FashionMNIST(), STATED: FashionMNIST()}
        return Experiment(_settings({name: _digits(_HFVAE[STATED], scale, images[name]) for name in sets}, scale), _DIGIT_STUDY)

    return experiment


def _sprites(label: str, scale: Scale) -> RunSpec:
    tiny, discrete = scale == "smoke", label in ("HFVAE", "beta-SVAE")
    small = EsmaeiliDSprites(hidden=(32, 32), branch_width=16, decoder_hidden=(16, 32, 32))
    latents = GroupedLatents((GaussianLatents(10), ConcreteLatents(3))) if discrete else GaussianLatents(10)
    return RunSpec(
        DSprites(resolution=32, num_orientations=4, num_positions=4) if tiny else DSprites(),
        Autoencoder(small if tiny else EsmaeiliDSprites(), latents=latents),
        _TABLE2[label],
        num_steps={"smoke": 4, "paper": 144_000}.get(scale, 36_000),
        batch_size=64 if tiny else 1024,
        optimizer=Adam(1e-3),
        precision="float32" if tiny else "bf16",
    )


def _table2(data: str, scale: Scale) -> Experiment:
    metrics = (FactorVAEScore(), DCI("forest", num_refits=0), MIG())
    study = {"metrics": metrics, "scorings": (Scoring(discrete="columns"), Scoring(discrete="left_out")), "keep": "scores"}
    return Experiment(_settings({label: _sprites(label, scale) for label in _TABLE2}, scale), study)


def _labels(data: str, scale: Scale) -> Experiment:
    specs = {
        "MNIST": _digits(_HFVAE[STRONG], scale, MNIST()),
        "MNIST, beta-SVAE": _digits(BetaSVAE(4.0), scale, MNIST()),
        "Fashion-MNIST": _digits(_HFVAE[STRONG], scale, FashionMNIST()),
        "dSprites": _sprites("HFVAE", scale),
    }
    return Experiment(_settings(specs, scale), _DIGIT_STUDY)


def _terms_left_out(data: str, scale: Scale) -> Experiment:
    losses = {
        "all terms": DecomposedELBO(estimator="stratified_pairs"),
        "without mutual information": DecomposedELBO(mutual_information=0.0, estimator="stratified_pairs"),
        "without KL of q(z) and p(z)": DecomposedELBO(total_correlation=0.0, dimension_wise_kl=0.0, estimator="stratified_pairs"),
    }
    specs = {label: _digits(each, scale, MNIST(), GaussianLatents(2)) for label, each in losses.items()}
    return Experiment(_settings(specs, scale), {"metrics": (ELBODecomposition(), InformativeLatents()), "keep": "scores"})


def _thick(data: str, scale: Scale) -> Experiment:
    specs = {"beta-VAE 4": _digits(BetaVAE(4.0), scale, MNIST(), GaussianLatents(10)), "beta-SVAE 4": _digits(BetaSVAE(4.0), scale, MNIST())}
    specs |= {label: _digits(each, scale, MNIST()) for label, each in _HFVAE.items()}
    return Experiment(_settings(specs, scale), _DIGIT_STUDY, examine=thick_digits(tiny=scale == "smoke"))


def _left_out(kept: OuterValues) -> Callable[[str, Scale], Experiment]:
    """Returns an HFVAE and a VAE, each trained on all digits, and on those that are kept."""

    def experiment(data: str, scale: Scale) -> Experiment:
        digits, specs = MNIST(split="test" if scale == "smoke" else "train", shape_factors=True), dict[str, RunSpec]()
        for label, objective in (("HFVAE", _HFVAE[STATED]), ("VAE", VAE())):
            whole = replace(_digits(objective, scale, digits), subset=None)
            specs |= {f"{label}, all digits": whole, f"{label}, without them": replace(whole, subset=kept)}
        seen = () if scale == "smoke" else (Scoring(part="all", subset=kept),)
        scorings = (Scoring(part="all", subset=replace(kept, part="test")), *seen)
        return Experiment(_settings(specs, scale), {"metrics": (Distortion(),), "scorings": scorings, "keep": "scores"})

    return experiment


def _faces(data: str, scale: Scale) -> Experiment:
    tiny, photographs = scale == "smoke", data == "celeba"
    small = ShadedFaces(num_identities=4, num_azimuths=7, num_elevations=5, num_lightings=5, resolution=32)
    binary = GroupedLatents((GaussianLatents(20), BernoulliLatents(2)))
    net = EsmaeiliCelebA(channels=(8, 8, 16, 16), branch_width=16, decoder_hidden=16) if tiny else EsmaeiliCelebA()
    length: Any = {"num_steps": 4, "batch_size": 32} if tiny else {"num_steps": 24_800, "batch_size": 512, "precision": "bf16"}
    compared = {"HFVAE (5, 3)": (HFVAE(alpha=1.0, beta=5.0, gamma=3.0), binary), "beta-VAE 8": (BetaVAE(8.0), GaussianLatents(20))}
    specs = {
        label: RunSpec(
            CelebA() if photographs else small if tiny else ShadedFaces(), Autoencoder(net, latents=z), loss, optimizer=Adam(1e-3), **length
        )
        for label, (loss, z) in compared.items()
    }
    factors = ("Smiling", "Eyeglasses") if photographs else ("azimuth", "elevation", "lighting")
    study = {"metrics": (RMIG(), MIG()), "scorings": (Scoring(factors=factors),), "keep": "best", "best_by": "rmig"}
    return Experiment(_settings(specs, scale), study)


# The score of informative latents counts the category too, which holds more than a nat in every run.
_style = per_run({STYLE: lambda run: run[ACTIVE] - (run[OF_CATEGORY] > 0.01)})


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


def _curve_experiment(data: str, scale: Scale) -> Experiment:
    specs = {"VAE": _digits(VAE(), scale, MNIST()), STATED: _digits(_HFVAE[STATED], scale, MNIST())}
    every = 2 if scale == "smoke" else 234
    return Experiment(_settings(specs, scale), _DIGIT_STUDY, examine=of_each(_curves), latent_information_every=every)


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

    return Code(lambda data, scale: Experiment(compute=compute, cases={"encoder": (0,), "decoder": (0,)}))


def _latents_shown(run: Run) -> dict[str, bytes]:
    """Returns the style latents of a run from -3 to 3, and draws from the prior by category."""
    categories = {"categories": category_samples(run.model(), num_draws=12, seed=0).png()} if run.spec.model.latents.num_discrete else {}
    return {"latents": run.traverse(latents=range(10), range=(-3.0, 3.0)).png(), **categories}


def _all_latents(run: Run) -> dict[str, bytes]:
    return {"latents": run.traverse(range=(-3.0, 3.0), order_by=list(Informativeness()(run.codes()).per_latent)).png()}


_PANELS = {"I(x; z), nats": INFORMATION, "KL(q(z_j) || p(z_j)), nats": KL_OF_EACH}
_COUNT = figure.per_metric("strip", {"informative latents, the category included": ACTIVE}, height=1.6)
_ACC = figure.per_metric("strip", {"accuracy under the best matching": ACCURACY})
_THICK, _NARROW = OuterValues("thickness", "digit", 7, side="high"), OuterValues("width", "digit", 0, side="low")
_STRIP_D = figure.per_metric("strip", {"distortion, nats ↓": "distortion"}, height=1.6)
CODE: dict[str, Code] = {
    "table1": Code(lambda data, scale: Experiment(compute=compute_terms, cases=dict.fromkeys(CASES, tuple(range(5))))),
    "figure3": Code(
        _terms_left_out, derive=per_run({"KL of q(z) and p(z)": lambda run: run[TC] + run[KL_OF_EACH]}), draw=figure.per_metric("strip", _PANELS)
    ),
    "figure5": Code(_traversed("MNIST", "Fashion-MNIST"), derive=_style, draw=_COUNT, pictures=of_best(_latents_shown)),
    "figure6": Code(_pruning, derive=_style, draw=_COUNT),
    "figure6-curve": Code(_curve_experiment, draw=_draw_curves),
    "table2": Code(_table2, draw=figure.per_metric("strip", {"FactorVAE score": SCORE, "Eastwood (disentanglement)": EASTWOOD})),
    "labels": Code(_labels, draw=_ACC),
    "figure7": Code(
        _thick,
        draw=figure.per_metric("strip", {"frames that keep the digit": "kept-share", "draws of the category's digit": "modal-share"}),
        pictures=of_best(thickness_pictures),
    ),
    "figure8": Code(_faces, draw=figure.per_metric("strip", {"RMIG ↑": "rmig"}), pictures=of_best(_all_latents)),
    "figure9a": Code(_left_out(_THICK), draw=_STRIP_D),
    "figure9b": Code(_left_out(_NARROW), draw=_STRIP_D),
    "figure11": Code(_traversed(STATED), derive=_style, draw=_COUNT, pictures=of_best(_latents_shown)),
    "table3": _weights(EsmaeiliMNIST(), _BOTH, (1, 28, 28), 20),
    "table4": _weights(EsmaeiliDSprites(), GroupedLatents((GaussianLatents(10), ConcreteLatents(3))), (1, 64, 64), 13),
    "table5": _weights(EsmaeiliCelebA(), GroupedLatents((GaussianLatents(20), BernoulliLatents(2))), (3, 64, 64), 22),
}
