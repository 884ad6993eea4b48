"""Table 5: what single latents do in faces, on CelebA and on drawn faces, which stand in for it."""

import functools
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from unbraid import figures
from unbraid.data import AttributeFaces, CelebA
from unbraid.data.dataset import FactorDataset
from unbraid.distributions import GaussianLatents, GaussianLikelihood
from unbraid.metrics import TopAttributes
from unbraid.model_scores import ReconstructionError
from unbraid.models import Autoencoder, Conv
from unbraid.papers.best_latents import best_latents
from unbraid.papers.item import Choice, Item, Scale
from unbraid.papers.kumar2017.chairs import SHOWN, picture_claims
from unbraid.papers.kumar2017.runs import SHARED_CHOICES, SQUARED, TEST, Size, seconds, setting, study
from unbraid.papers.panels import side_by_side
from unbraid.papers.work import StudyWork
from unbraid.recipes import text_of
from unbraid.sampling import RandomSplit, RowRange, Subset
from unbraid.studies.figures import run_table
from unbraid.studies.study_scores import StudyScores

_REACH = 3.0
_LABELLED = TopAttributes(min_std=0.05, attributes=("Smiling", "Black_Hair", "Blond_Hair"))
_DRAWN = TopAttributes(min_std=0.05, attributes=("mouth_width", "azimuth", "hair_shade"))


def _sizes(
    images: FactorDataset, few: FactorDataset, num_steps: int, asked: TopAttributes, split: tuple[Subset, Subset]
) -> Mapping[Scale, Size]:
    """Returns what is trained at each scale: on all images, or on `few` to see that everything works; `split` is the
    subset that is trained on, of all and of few.
    """
    whole = Size(
        dataset=images,
        model=Autoencoder(Conv(hidden=256), latents=GaussianLatents(32), likelihood=GaussianLikelihood()),
        num_steps=num_steps,
        batch_size=64,
        betas=(4.0,),
        weights=(10.0,),
        seeds=tuple(range(5)),
        seeds_of_grid=(),
        tuning_seeds=(),
        rate=1e-4,
        metrics=(asked, ReconstructionError()),
        scorings=(TEST,),
        subset=split[0],
    )
    tiny = replace(
        whole,
        dataset=few,
        model=Autoencoder(Conv((4, 4, 4, 4), 8), latents=GaussianLatents(4), likelihood=GaussianLikelihood()),
        num_steps=4,
        batch_size=16,
        seeds=(0,),
        precision="float32",
        subset=split[1],
    )
    return {"smoke": tiny, "quick": whole, "paper": replace(whole, seeds=tuple(range(20)))}


_NINE_TENTHS = (RandomSplit(0.9), RandomSplit(0.9))
_FACES = AttributeFaces(attributes="continuous")
_FEW_FACES = AttributeFaces(num_people=24, poses_per_person=3, resolution=32, attributes="continuous")
_ON_CELEBA = _sizes(CelebA(), CelebA(), 100_000, _LABELLED, _NINE_TENTHS)
_ON_FACES = _sizes(_FACES, _FEW_FACES, 14_000, _DRAWN, (RowRange(0, 18_000), RowRange(0, 36)))
_SECONDS_OF_A_MODEL = {"celeba": 11.0, "faces": 2.5}


def _table5(name: str, asked: TopAttributes, size: Size) -> StudyWork:
    followed = text_of(asked)
    claims = picture_claims(f"{followed}:margin", "The latents of these properties follow them by a wider margin")
    settings = [setting(size, label, size.seeds) for label in SHOWN]
    return StudyWork(study(name, size, settings, claims, best_by=followed))


def _works(name: str, asked: TopAttributes, sizes: Mapping[Scale, Size]) -> dict[Scale, Callable[[], StudyWork]]:
    return {scale: functools.partial(_table5, name, asked, size) for scale, size in sizes.items()}


def _costs(kind: str, sizes: Mapping[Scale, Size]) -> dict[Scale, float]:
    return {
        scale: seconds(len(SHOWN) * len(size.seeds), _SECONDS_OF_A_MODEL[kind])
        for scale, size in sizes.items()
        if scale != "smoke"
    }


def _drawn_of(asked: TopAttributes) -> Callable[[StudyScores], Any]:
    """Returns what draws how well single latents follow the properties, and the error beside it."""

    def drawn(scores: StudyScores) -> Any:
        followed = text_of(asked)
        table = run_table(scores, [followed, SQUARED])
        left, right = side_by_side(["The latent of a property", "Sharpness"], height=1.6)
        figures.strip_plot(table, followed, label="|correlation| with it ↑", axes=left)
        return figures.strip_plot(table, SQUARED, label="squared error per pixel ↓", axes=right)

    return drawn


_CHOICES = (
    Choice("nets, latents", "the CNN of Higgins et al.", "Conv(hidden=256), 32 latents, Gaussian likelihood"),
    Choice("optimiser, batch, steps", "not stated", "Adam 1e-4, 64, 100,000"),
    Choice("split", "90 % and 10 %", "the same, at random; all scores are of the tenth"),
    Choice("which DIP-VAE", "the best by Z-diff; its weight is not stated", "lambda_od 10, the default"),
    Choice("models shown", "not stated", "of five seeds the one whose latents follow the properties best"),
    Choice("latents shown", "picked by hand", "the most informative of DIP-VAE, and the matched ones of the others"),
    Choice("range", "not stated", "-3 to 3"),
    *(choice for choice in SHARED_CHOICES if choice.what == "precision"),
)

TABLE5 = Item(
    id="kumar2017/table5",
    title="What single latents do, on CelebA",
    claim="Smile, azimuth and hair colour are single latents, cleaner in DIP-VAE than in VAE and beta-VAE 4.",
    work=_works("table5", _LABELLED, _ON_CELEBA),
    data="CelebA",
    seconds=_costs("celeba", _ON_CELEBA),
    choices=_CHOICES,
    draw=_drawn_of(_LABELLED),
    pictures=lambda work, folder: best_latents(work, folder, SHOWN, _REACH),
    columns=(text_of(_LABELLED), SQUARED),
    needs="img_align_celeba.zip and list_attr_celeba.txt",
    stand_in="kumar2017/table5-stand-in",
    notes=(
        "The paper prints pictures, which are no proof. What is judged is a substitute: how much more the latent of a "
        "smile, of black and of blond hair follows it than anything else (CelebA has no label of the azimuth), and "
        "whether pictures stay as sharp as those of the VAE."
    ),
)

TABLE5_STAND_IN = replace(
    TABLE5,
    id="kumar2017/table5-stand-in",
    title="What single latents do, on drawn faces",
    work=_works("table5-stand-in", _DRAWN, _ON_FACES),
    data="attribute faces (drawn)",
    seconds=_costs("faces", _ON_FACES),
    choices=(
        Choice("images", "CelebA", "2,000 drawn people, ten random poses each; the last 200 people are held out"),
        *(replace(choice, taken="Adam 1e-4, 64, 14,000") if "steps" in choice.what else choice for choice in _CHOICES),
    ),
    draw=_drawn_of(_DRAWN),
    columns=(text_of(_DRAWN), SQUARED),
    needs="",
    stand_in="",
    stands_in_for="kumar2017/table5",
    notes=(
        "Drawn faces do not smile: the width of the mouth, the azimuth and the shade of the hair take the place of the "
        "three properties. No number of the paper may be compared with these."
    ),
)
