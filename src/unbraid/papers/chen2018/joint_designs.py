"""Figure 5: four joint distributions of two factors (a), and MIG under each of them (b)."""

import functools
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any, Literal

import numpy as np

from unbraid import figures
from unbraid.data import BaselFaces, ShadedFaces
from unbraid.data.dataset import FactorDataset
from unbraid.evaluation import Scoring
from unbraid.models import ChenConv
from unbraid.papers.calculation import Calculation
from unbraid.papers.chen2018.bench import (
    BASEL_FILE,
    LEAST_INFORMATION,
    METRICS,
    MIG,
    TOTAL_CORRELATION,
    Bench,
    basel_faces,
    if_learned,
    label,
    shaded_faces,
)
from unbraid.papers.chen2018.panel import STAND_IN
from unbraid.papers.item import Choice, Item, Scale
from unbraid.papers.work import StudyWork
from unbraid.runs.spec import RunSpec
from unbraid.sampling import ChenDesign, ChosenValues, Joint, Product, Table
from unbraid.sampling.chen_design import Design
from unbraid.studies.claims import Claim, Higher, MoreOftenAbove, PooledHigher, Within
from unbraid.studies.figures import run_table
from unbraid.studies.study import Setting, Study
from unbraid.studies.study_scores import StudyScores

DESIGNS: Mapping[Design, str] = {
    "A": "uniform and independent",
    "B": "not uniform, independent",
    "C": "uncorrelated, dependent",
    "D": "correlated",
}
POSE = ("azimuth", "elevation")
SIZES = (21, 11)
METHODS = (label("beta-VAE", 4), label("beta-TCVAE", 6), "InfoGAN")
_ROUNDING = 1e-9


def table_numbers(design: Design) -> dict[str, float]:
    """Returns what tells the designs apart: how much likelier the likeliest pair is, the correlation, what the factors
    tell of each other, and how far their marginals are from uniform, in nats.
    """
    table = ChenDesign(design, POSE).table(SIZES).numpy()
    rows, columns = table.sum(axis=1), table.sum(axis=0)
    places = np.linspace(-1, 1, SIZES[0]), np.linspace(-1, 1, SIZES[1])
    mean = rows @ places[0], columns @ places[1]
    spread = rows @ places[0] ** 2 - mean[0] ** 2, columns @ places[1] ** 2 - mean[1] ** 2
    covariance = float(places[0] @ table @ places[1] - mean[0] * mean[1])
    return {
        "likeliest to least likely": float(table.max() / table.min()),
        "least probability": float(table.min()),
        "correlation": covariance / math.sqrt(spread[0] * spread[1]),
        "mutual information": float((table * np.log(table / np.outer(rows, columns))).sum()),
        "missing entropy": float(sum(np.log(len(each)) + each @ np.log(each) for each in (rows, columns))),
    }


def _compute(labels: Mapping[str, Design], name: str, seed: int) -> Mapping[str, float]:
    return table_numbers(labels[name])


def tables_work() -> Calculation:
    """Returns the properties of the four tables that the paper states."""
    labels = {f"{design}: {words}": design for design, words in DESIGNS.items()}
    a, b, c, d = labels
    claims = (
        Within("All pairs have a probability above 0.", "least probability", (a, b, c, d), low=1e-4),
        Within(
            "The likeliest pair is 4 times as likely as the least likely, but in A.",
            *("likeliest to least likely", (b, c, d), 4 - 1e-4, 4 + 1e-4),
        ),
        Within("A and C and D have uniform marginals.", "missing entropy", (a, c, d), -_ROUNDING, _ROUNDING),
        Within("B has marginals that are not uniform.", "missing entropy", (b,), low=0.01),
        Within("In A and B the factors are independent.", "mutual information", (a, b), -_ROUNDING, _ROUNDING),
        Within("In C and D the factors are dependent.", "mutual information", (c, d), low=0.005),
        Within("In A, B and C the factors are uncorrelated.", "correlation", (a, b, c), -_ROUNDING, _ROUNDING),
        Within("In D the factors are correlated.", "correlation", (d,), low=0.1),
    )
    names = ("likeliest to least likely", "least probability", "correlation", "mutual information", "missing entropy")
    return Calculation(
        name="chen2018-figure5a",
        cases=dict.fromkeys(labels, (0,)),
        metrics=dict.fromkeys(names),
        compute=functools.partial(_compute, labels),
        claims=claims,
    )


def _draw_tables(scores: StudyScores) -> Any:
    return figures.joint_tables({design: ChenDesign(design, POSE).table(SIZES) for design in DESIGNS}, POSE)


def posed(dataset: FactorDataset, scale: Scale, design: Design) -> tuple[FactorDataset, Joint, ChosenValues | None]:
    """Returns images in which the pose alone varies, and how likely each of them is: of a data set with several people
    and lights, the first person in the middle light.
    """
    joint = ChenDesign(design, POSE)
    if isinstance(dataset, BaselFaces):
        sizes = {factor.name: factor.size for factor in dataset.factors}
        light = tuple(float(value == sizes["lighting"] // 2) for value in range(sizes["lighting"]))
        return dataset, Product((joint, Table(("lighting",), light))), ChosenValues("identity", (0,))
    if scale == "smoke":
        few = ShadedFaces(num_identities=1, num_azimuths=3, num_elevations=3, num_lightings=1, resolution=32)
        return few, joint, None
    return ShadedFaces(num_identities=1, num_lightings=1), joint, None


def designs_work(
    make: Callable[[Scale], Bench], name: str, scale: Scale, weights: Literal["biased", "uniform"]
) -> StudyWork:
    """Returns every method under every design. MIG is taken under the design itself or, of the same runs, under the
    uniform one; the other of the two is kept beside it.
    """
    bench, designs = make(scale), tuple(DESIGNS) if scale != "smoke" else ("A", "D")
    num_seeds = {"smoke": 2, "quick": 16}.get(scale, 40)
    bench = replace(bench, seeds=tuple(range(num_seeds)), net=bench.net if scale == "smoke" else ChenConv())
    settings = [setting for design in designs for setting in _settings(bench, scale, design)]
    scorings = (Scoring(factors=POSE), Scoring(factors=POSE, sampling=posed(bench.dataset, scale, "A")[1]))
    return StudyWork(
        Study(
            name=f"chen2018-{name}",
            settings=tuple(settings),
            metrics=METRICS,
            scorings=scorings if weights == "biased" else scorings[::-1],
            keep="scores",
            claims=tuple(_claims(designs)),
        )
    )


def _settings(bench: Bench, scale: Scale, design: Design) -> Iterator[Setting]:
    dataset, joint, subset = posed(bench.dataset, scale, design)
    num_steps, batch = (10, 4) if scale == "smoke" else (5_000, 128)

    def under_design(spec: RunSpec) -> RunSpec:
        return replace(spec, dataset=dataset, sampling=joint, subset=subset, batch_size=batch, num_steps=num_steps)

    specs = (bench.setting("beta-VAE", 4.0).spec, bench.setting("beta-TCVAE", 6.0).spec, bench.infogan())
    for method, spec in zip(METHODS, specs, strict=True):
        yield Setting(f"{design}, {method}", under_design(spec), bench.seeds)


def _claims(designs: tuple[Design, ...]) -> Iterator[Claim]:
    beta_vae, beta_tcvae, infogan = METHODS
    for design in designs:
        for other in (beta_vae, infogan):
            claim = Higher(
                f"Under {design}, beta-TCVAE has a higher MIG than {other.partition(' ')[0]}.",
                *(MIG, f"{design}, {beta_tcvae}", f"{design}, {other}"),
            )
            yield if_learned(claim, f"{design}, {infogan}") if other == infogan else claim
    plain = tuple(f"A, {method}" for method in METHODS)
    for design in designs[1:]:
        biased = tuple(f"{design}, {method}" for method in METHODS)
        yield PooledHigher(f"MIG is lower under {design} than under A.", MIG, plain, biased)
    last = designs[-1]
    yield MoreOftenAbove(
        f"Disentangled models are rarer under {last} than under A.",
        *(MIG, plain, tuple(f"{last}, {method}" for method in METHODS)),
    )


def _draw_boxes(scores: StudyScores) -> Any:
    return figures.box_plot(run_table(scores, [MIG]), MIG, label="MIG ↑")


_CHOICES = (
    Choice("tables", "shown without numbers; most to least likely is 4", "ours, with exactly the stated properties"),
    Choice("faces", '"all factors other than pose" fixed', "one person in one light: 21 x 11 = 231 images"),
    Choice("beta", "not stated", "4 and 6, as in figure 3"),
    Choice("net, batch, length", "not stated", "convolutions with BatchNorm, batch 128, 5,000 steps, Adam 0.001"),
    Choice("estimator of q(z)", "not stated", "minibatch weighted sampling with p(n)"),
    Choice("MIG", "under p(n) or uniform: not stated", "both; under p(n) here, uniform in the item of that name"),
    Choice("InfoGAN", "not stated", "as in figure 3, 5,000 steps"),
    Choice("seeds", "not stated", "16; 40 at the scale paper"),
)
_NOTES = (
    "There are 231 images, which a net may learn by heart, so the result follows beta and the length of training. The "
    "betas come from another data set, as in the paper: where beta-VAE is behind at 4, it may be ahead at another. "
    "With weights, the number of images in the estimator is a constant and nothing more. InfoGAN is compared under a "
    f"design only if its codes say at least {LEAST_INFORMATION:g} nats of the image there; where all methods are "
    "pooled, one that has not learned adds noise to both sides."
)


def _figure5b(key: str, make: Callable[[Scale], Bench], weights: Literal["biased", "uniform"], note: str = "") -> Item:
    stem = "chen2018/figure5b" + ("" if weights == "biased" else "-uniform")
    under = "under the design itself" if weights == "biased" else "under the uniform design, of the same models"

    def work(scale: Scale) -> Callable[[], StudyWork]:
        return lambda: designs_work(make, f"{stem.partition('/')[2]}-{key}", scale, weights)

    return Item(
        id=f"{stem}-stand-in" if note else stem,
        title=f"MIG when pairs of factors are not equally likely, {under}",
        claim=(
            "Disentangled models are rarer under sampling bias, and under each of four designs beta-TCVAE has a higher "
            "MIG than beta-VAE and InfoGAN."
        ),
        work={"smoke": work("smoke"), "quick": work("quick"), "paper": work("paper")},
        data="shaded faces" if note else "3D faces",
        seconds={"quick": 700, "paper": 1_250},
        choices=_CHOICES,
        draw=_draw_boxes,
        notes=_NOTES + note,
        columns=(MIG, TOTAL_CORRELATION),
        needs="" if note else BASEL_FILE,
        stand_in="" if note else f"{stem}-stand-in",
        stands_in_for=stem if note else "",
    )


FIGURE5A = Item(
    id="chen2018/figure5a",
    title="Four joint distributions of two factors, as we make them",
    claim=(
        "A is uniform and independent, B not uniform but independent, C uncorrelated but dependent, D correlated; the "
        "likeliest sample is 4 times as likely as the least likely, and none has probability 0."
    ),
    work={"smoke": tables_work, "paper": tables_work},
    data="none: tables are made",
    seconds={"paper": 1},
    choices=(_CHOICES[0],),
    draw=_draw_tables,
    notes=(
        "The paper shows these tables as pictures and prints no number of them, so they cannot be reproduced. These "
        "are a construction of ours with the properties that the paper states; what is judged is that the tables of "
        "figure 5 (b) here have them, and nothing that the paper measured. They may look different."
    ),
    trains=False,
)
FIGURE5B = _figure5b("basel-faces", basel_faces, "biased")
FIGURE5B_STAND_IN = _figure5b("shaded-faces", shaded_faces, "biased", STAND_IN)
FIGURE5B_UNIFORM = _figure5b("basel-faces", basel_faces, "uniform")
FIGURE5B_UNIFORM_STAND_IN = _figure5b("shaded-faces", shaded_faces, "uniform", STAND_IN)
