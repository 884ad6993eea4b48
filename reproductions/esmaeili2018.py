"""Code of esmaeili2018.toml: Esmaeili et al. 2018, the HFVAE, groups of latents and discrete ones."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import torch

from reproductions import figure
from reproductions.code.decomposition import CASES, compute_terms
from reproductions.code.digits import thick_digits, thickness_pictures
from reproductions.item import Code, Experiment, Numbers, Printed, Scale, Scores, of_each
from reproductions.pictures import of_best
from reproductions.words import all_of, at_least, at_most, distance_from_print, exactly, higher, middle, per_run, share_of, times
from unbraid import MIG, VAE, Autoencoder, BetaTCVAE, BetaVAE, DSprites, Run, RunSpec, Scoring, figures
from unbraid.datasets import MNIST, CelebA, FashionMNIST, ShadedFaces
from unbraid.datasets.subsets import OuterValues, RowRange
from unbraid.metrics import DCI, RMIG, ClusterAccuracy, ELBODecomposition, FactorVAEScore, InformativeLatents, Informativeness
from unbraid.metrics.model import Distortion
from unbraid.models import EsmaeiliCelebA, EsmaeiliDSprites, EsmaeiliMNIST, category_samples
from unbraid.models.distributions import BernoulliLatents, ConcreteLatents, GaussianLatents, GroupedLatents
from unbraid.objectives import HFVAE, BetaSVAE, DecomposedELBO
from unbraid.studies import Claim, Setting
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
_PRINTED = {"VAE": (0.71, 0.40), "beta-VAE": (0.72, 0.71), "beta-SVAE": (0.47, 0.19), "beta-TCVAE": (0.71, 0.31), "HFVAE": (0.78, 0.74)}
TC, INFORMATION, KL_OF_EACH = ("elbo-decomposition", "elbo-decomposition:mutual_information", "elbo-decomposition:dimension_wise_kl")
KL_TO_PRIOR = "KL of q(z) and p(z)"


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


def _pruning_claims(data: str, scale: Scale) -> list[Claim]:
    return [
        middle("HFVAE keeps 7 of its 10 latents, give or take one.", STYLE, STATED, 5.5, 8.5, central=True),
        share_of("It prunes at least one of the 10 in most seeds.", STYLE, STATED, high=9.5, central=True),
        higher("A VAE keeps more latents than HFVAE.", STYLE, "VAE", STATED),
    ]


def _style_counts(*labels: str) -> Callable[[str, Scale], list[Claim]]:
    names = {"MNIST": "digits", "Fashion-MNIST": "clothes", STATED: "clothes"}
    text = "7 of 10 latents, give or take one, hold information about {}."
    return lambda data, scale: [middle(text.format(names[label]), STYLE, label, 5.5, 8.5, central=label == "MNIST") for label in labels]


def _clothes_claims(data: str, scale: Scale) -> list[Claim]:
    return [
        share_of("More than one of 10 latents holds information about clothes in most seeds.", STYLE, STATED, 1.5, central=True),
        at_least("At least 7 of 10 latents hold information about clothes.", STYLE, STATED, 6.5),
    ]


def _category_controls(*labels: str) -> Callable[[str, Scale], list[Claim]]:
    text = "The category holds more than a nat in most runs, so it is one of the latents that the score counts."
    return lambda data, scale: [share_of(text, OF_CATEGORY, labels, 1.0)]


def _term_claims(data: str, scale: Scale) -> list[Claim]:
    vae, no_information, no_prior = "all terms", "without mutual information", "without KL of q(z) and p(z)"
    return [
        higher("Without the mutual information (panel b) codes hold more of the image.", INFORMATION, no_information, vae, central=True),
        higher("Without the KL of q(z) and p(z) (panel d) codes leave the prior.", KL_TO_PRIOR, no_prior, vae, central=True),
        Claim("Without the first term (panel a) all images map to the prior.", median_of("panel a"), below=0.0, central=True),
        Claim("Without the third term (panel c) p(x) leaves the data.", median_of("panel c"), above=0.0, central=True),
    ]


def median_of(metric: str) -> Any:
    """Returns a median that was not measured: the claim stays undecided."""
    from unbraid.studies import median

    return median(metric, "all terms")


def _scores_claims(suffix: str = "", text: str = "") -> Callable[[str, Scale], list[Claim]]:
    def claims(data: str, scale: Scale) -> list[Claim]:
        found = []
        for metric, name in ((SCORE, "FactorVAE score"), (EASTWOOD, "Eastwood score")):
            others, middle_ones = ([o for o in _TABLE2 if o != "HFVAE"], [o for o in _TABLE2 if o not in ("HFVAE", "beta-SVAE")])
            found += [higher(f"HFVAE has a higher {name} than {o}{text}.", metric + suffix, "HFVAE", o, central=not suffix) for o in others]
            found += [higher(f"{o} has a higher {name} than beta-SVAE{text}.", metric + suffix, o, "beta-SVAE") for o in middle_ones]
        return found

    return claims


def _label_claims(data: str, scale: Scale) -> list[Claim]:
    return [
        higher("Categories separate clothes better than digits.", ACCURACY, "Fashion-MNIST", "MNIST", central=True),
        higher("Categories of an HFVAE separate digits better than those of a beta-SVAE.", ACCURACY, "MNIST", "MNIST, beta-SVAE", central=True),
        middle("Categories do not separate shapes (chance: 1/3).", f"{ACCURACY}:shape", "dSprites", 0.233, 0.433),
        at_least("Digits become the categories: an accuracy of 0.6 or more.", ACCURACY, "MNIST", 0.6, central=True),
    ]


def _thick_claims(data: str, scale: Scale) -> list[Claim]:
    return [
        higher("Digits of an HFVAE stay what they are more than a beta-VAE's.", "kept-share", STATED, "beta-VAE 4", central=True),
        higher("So do a beta-SVAE's.", "kept-share", "beta-SVAE 4", "beta-VAE 4", central=True),
        higher("Categories of an HFVAE show one digit more than a beta-SVAE's.", "modal-share", STATED, "beta-SVAE 4", central=True),
    ]


def _unseen(of: str, article: str, text: str) -> Callable[[str, Scale], list[Claim]]:
    sentence = f"{article} {of} that has not seen {text} reconstructs them at most 10 % worse than one that has."
    pair = f"{of}, without them", f"{of}, all digits"
    return lambda data, scale: [times(sentence, "distortion", *pair, None, 1.1, central=True)]


def _face_claims(data: str, scale: Scale) -> list[Claim]:
    texts = (
        {"rmig:Smiling": "RMIG of smiling", "rmig:Eyeglasses": "RMIG of eyeglasses"} if data == "celeba" else {"rmig": "RMIG over pose and lighting"}
    )
    return [higher(f"{text} is higher.", metric, "HFVAE (5, 3)", "beta-VAE 8", central=True) for metric, text in texts.items()]


def _term_numbers(data: str, scale: Scale) -> Experiment:
    return Experiment(compute=compute_terms, cases=dict.fromkeys(CASES, tuple(range(5))))


def _term_number_claims(data: str, scale: Scale) -> list[Claim]:
    return [exactly(f"{case}: the loss is the distortion and these terms with these weights.", "difference", case, 0.0, 1e-9) for case in CASES]


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


def _curve_claims(data: str, scale: Scale) -> list[Claim]:
    return [
        at_least("At least half of the latents that end without information had some before.", "pruned-share", STATED, 0.5, central=True),
        share_of("There are such latents in most seeds.", "dead-latents", STATED, 0.5),
    ]


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


def _printed(metrics: Sequence[str]) -> tuple[Printed, ...]:
    return tuple(Printed(label, metric, value) for label, values in _PRINTED.items() for metric, value in zip(metrics, values, strict=True))


def _kl_to_prior(scores: Scores) -> Scores:
    return per_run({KL_TO_PRIOR: lambda run: run[TC] + run[KL_OF_EACH]})(scores)


def _distance_controls(data: str, scale: Scale) -> list[Claim]:
    text = "{}: both scores lie within 0.1 of the printed ones, on average."
    return [
        *_scores_claims(" | other", ", without the category")(data, scale),
        *(at_most(text.format(o), "distance from print", o, 0.1) for o in _TABLE2),
    ]


_PANELS = {"I(x; z), nats": INFORMATION, "KL(q(z_j) || p(z_j)), nats": KL_OF_EACH}
_COUNT = figure.per_metric("strip", {"informative latents, the category included": ACTIVE}, height=1.6)
_ACC = figure.per_metric("strip", {"accuracy under the best matching": ACCURACY})
_THICK, _NARROW = OuterValues("thickness", "digit", 7, side="high"), OuterValues("width", "digit", 0, side="low")
_STRIP_D = figure.per_metric("strip", {"distortion, nats ↓": "distortion"}, height=1.6)
CODE: dict[str, Code] = {
    "table1": Code(_term_numbers, _term_number_claims),
    "figure3": Code(_terms_left_out, _term_claims, derive=_kl_to_prior, draw=figure.per_metric("strip", _PANELS)),
    "figure5": Code(
        _traversed("MNIST", "Fashion-MNIST"),
        _style_counts("MNIST", "Fashion-MNIST"),
        _category_controls("MNIST", "Fashion-MNIST"),
        _style,
        _COUNT,
        of_best(_latents_shown),
    ),
    "figure6": Code(_pruning, _pruning_claims, _category_controls("VAE", STATED, STRONG), _style, _COUNT),
    "figure6-curve": Code(_curve_experiment, _curve_claims, draw=_draw_curves),
    "table2": Code(
        _table2,
        _scores_claims(),
        _distance_controls,
        all_of(distance_from_print(_printed((SCORE, EASTWOOD)))),
        figure.per_metric("strip", {"FactorVAE score": SCORE, "Eastwood (disentanglement)": EASTWOOD}),
    ),
    "labels": Code(_labels, _label_claims, draw=_ACC),
    "figure7": Code(
        _thick,
        _thick_claims,
        draw=figure.per_metric("strip", {"frames that keep the digit": "kept-share", "draws of the category's digit": "modal-share"}),
        pictures=of_best(thickness_pictures),
    ),
    "figure8": Code(_faces, _face_claims, draw=figure.per_metric("strip", {"RMIG ↑": "rmig"}), pictures=of_best(_all_latents)),
    "figure9a": Code(_left_out(_THICK), _unseen("HFVAE", "An", "thick sevens"), _unseen("VAE", "A", "thick sevens"), draw=_STRIP_D),
    "figure9b": Code(_left_out(_NARROW), _unseen("HFVAE", "An", "narrow zeros"), _unseen("VAE", "A", "narrow zeros"), draw=_STRIP_D),
    "figure11": Code(_traversed(STATED), _clothes_claims, _category_controls(STATED), _style, _COUNT, of_best(_latents_shown)),
    "table3": _weights(EsmaeiliMNIST(), _BOTH, (1, 28, 28), 20),
    "table4": _weights(EsmaeiliDSprites(), GroupedLatents((GaussianLatents(10), ConcreteLatents(3))), (1, 64, 64), 13),
    "table5": _weights(EsmaeiliCelebA(), GroupedLatents((GaussianLatents(20), BernoulliLatents(2))), (3, 64, 64), 22),
}
