"""`unbraid score`."""

from pathlib import Path
from typing import Annotated

import typer

from unbraid.cli.console import note, say
from unbraid.cli.flags import Flag, Given, known_flags, with_flags
from unbraid.cli.options import Device, Packages, parse_packages

_PANELS = {"": "What to compute", "metric.": "Fields of --metric", "dataset.": "Fields of --dataset"}


def score_flags() -> dict[str, Flag]:
    """Returns the flags of metrics, and those of `train` that choose the images of an encoder."""
    images = {
        path: flag for path, flag in known_flags("train").items() if path == "dataset" or path.startswith("dataset.")
    }
    return known_flags("score") | images


@with_flags(score_flags, _PANELS)
def score(
    given: Given,
    what: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="RUNS",
            help="Runs, folders of runs, or .npz, .safetensors or .csv files of codes.",
            show_default=False,
        ),
    ] = None,
    encoder: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="FILE",
            help="An encoder of any framework, an .onnx file: the images of --dataset are encoded and scored.",
            show_default=False,
        ),
    ] = None,
    outputs: Annotated[
        str | None,
        typer.Option(
            metavar="MEANINGS",
            help="What the encoder outputs, where names do not show it: mean=dense_3,log_var=dense_4.",
            show_default=False,
        ),
    ] = None,
    metrics: Annotated[
        str | None,
        typer.Option(
            metavar="NAMES",
            help="all, unsupervised, model, or names such as mig,sap,dci:boosted_trees,elbo. Default: all.",
            show_default=False,
        ),
    ] = None,
    part: Annotated[
        str | None,
        typer.Option(
            metavar="train|test|all",
            help="Of runs: the images trained on, those that the subset held out, or both. Default: train.",
            show_default=False,
        ),
    ] = None,
    factors: Annotated[
        str | None,
        typer.Option(
            metavar="NAMES", help="The factors to look at, such as scale,position_x. Default: all.", show_default=False
        ),
    ] = None,
    one_vs_rest: Annotated[
        str | None,
        typer.Option(
            metavar="NAMES",
            help="Factors to replace by a binary attribute for each of their values, such as digit. Default: none.",
            show_default=False,
        ),
    ] = None,
    sampling: Annotated[
        str | None,
        typer.Option(
            metavar="JOINT",
            help="Of runs: other weights of images than in training, such as uniform:shape,scale; or data, for none.",
            show_default=False,
        ),
    ] = None,
    discrete: Annotated[
        str | None,
        typer.Option(
            metavar="columns|left_out",
            help="How metrics that do not take discrete latents see them. Default: such metrics are refused.",
            show_default=False,
        ),
    ] = None,
    groups: Annotated[
        str | None,
        typer.Option(
            metavar="pca",
            help="Score each group of latents as one, its first principal component. Default: each latent by itself.",
            show_default=False,
        ),
    ] = None,
    fraction: Annotated[
        str | None,
        typer.Option(
            metavar="SHARE", help="Score a random share of the images, such as 0.1. Default: 1.", show_default=False
        ),
    ] = None,
    like: Annotated[
        str | None,
        typer.Option(
            metavar="CODE",
            help="The settings of published code: disentanglement-lib, chen, kumar, do-tran, infomec, infomec-discrete "
            "or disdiff.",
            show_default=False,
        ),
    ] = None,
    fit: Annotated[
        str | None,
        typer.Option(
            metavar="part|train",
            help="Of runs, with --part test: fit predictors on the images trained on. Default: on some of the part.",
            show_default=False,
        ),
    ] = None,
    step: Annotated[
        str | None,
        typer.Option(
            metavar="NUMBER",
            help="Of runs: the model as it was after this step, of which they keep a snapshot. Default: the last.",
            show_default=False,
        ),
    ] = None,
    save: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Keep the scores in a .json, .csv or .md file as well.", show_default=False),
    ] = None,
    *,
    force: Annotated[bool, typer.Option("--force", help="Replace the file of --save if it exists.")] = False,
    seed: Annotated[
        int | None,
        typer.Option(metavar="NUMBER", min=0, help="The seed of whatever is random. Default: 0.", show_default=False),
    ] = None,
    device: Device = "auto",
    packages: Packages = None,
) -> None:
    """Score runs, or codes from anywhere.

    The scores of a run are kept in its folder. A file of codes holds mean, std (or log_var, or samples) and factors,
    one row an image; factor_names and weights are optional. A .csv has the columns mean_0, ..., std_0, ...,
    factor:NAME.

    Examples:
      unbraid score codes.npz
      unbraid score codes.npz --metrics mig,sap,dci --save scores.csv
      unbraid score runs
      unbraid score runs --metrics elbo,mig --part test --factors scale,position_x,position_y
      unbraid score runs --metric mig --metric.estimator quantized --metric.estimator.num-bins 50
      unbraid score --encoder encoder.onnx --dataset dsprites --fraction 0.1
    """
    import unbraid.cli.score_cards as cards
    from unbraid._internal.device import resolve_device
    from unbraid.cli.encoders import EncodersAsked
    from unbraid.cli.saved_cards import check_save, save_cards
    from unbraid.codes import Codes
    from unbraid.codes.codes_file import SUFFIXES
    from unbraid.metrics.evaluate import NO_GROUPS
    from unbraid.metrics.selection import select

    asked_encoders, what = EncodersAsked.of(encoder, outputs, given), what or []
    asked_encoders.check(what)
    chosen = cards.chosen_metrics(
        {path: texts for path, texts in given.items() if path not in asked_encoders.images}, metrics, like
    )
    if chosen is not None:
        select(chosen, seed)
    scoring = cards.chosen_scoring(
        part=part,
        factors=factors,
        sampling=sampling,
        discrete=discrete,
        fraction=fraction,
        fit=fit,
        step=step,
        one_vs_rest=one_vs_rest,
        groups=groups or ("pca" if like == "disdiff" else None),
    )
    if save is not None:
        check_save(save, [*what, *asked_encoders.paths], force=force)
    place = resolve_device(device)
    files = [path for path in what if path.suffix.lower() in SUFFIXES and not path.is_dir()]
    folders = [path for path in what if path not in files]
    runs = cards.finished_runs(folders, parse_packages(packages)) if folders else []
    if scoring.groups is not None and any(len(run.spec.model.latents.groups) <= 1 for run in runs):
        note(NO_GROUPS)
    # All are read before any is scored: what cannot be read is found out at once.
    codes = {path: Codes.load(path) for path in dict.fromkeys(files)}
    asked = "all" if chosen is None else chosen
    carded = [
        *cards.of_files(codes, asked, scoring, seed, place),
        *cards.of_files(asked_encoders.codes(scoring), asked, scoring, seed, place, is_drawn=True),
        *cards.score_cards(runs, asked, scoring, seed=seed, device=place),
    ]
    if save is not None:
        save_cards(save, {each.name: each.card for each in carded})
    cards.show(carded, is_short=chosen is None and len(runs) > 1 and len(carded) == len(runs))
    if save is not None:
        say(f"The scores are in {save}.")
    cards.complain_of_failures(carded)
