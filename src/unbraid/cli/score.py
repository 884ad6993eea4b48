"""`unbraid score`: metrics of runs, of files of codes, and of ONNX encoders."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from unbraid._internal import files
from unbraid.cli.console import echo, note
from unbraid.cli.flags import ConfigFlags, Fields, Given, known_fields
from unbraid.cli.options import Device, Force, Packages, check_target, parse_packages
from unbraid.cli.runs import open_runs, select_with_model
from unbraid.errors import CodesError, SpecError

if TYPE_CHECKING:
    from unbraid.codes import Codes
    from unbraid.metrics.scoring import Scoring
    from unbraid.metrics.selection import Metrics
    from unbraid.training.runs.run import Run

_PANELS = {"": "What to compute", "metric.": "Fields of --metric", "dataset.": "Fields of --dataset"}


def _score_fields() -> Fields:
    """Returns the fields of metrics, of `Scoring`, and of the dataset to encode."""
    return {**known_fields("score"), "dataset": known_fields("train")["dataset"]}


@ConfigFlags(_score_fields, _PANELS)
def score(
    given: Given,
    what: Annotated[
        list[Path] | None,
        typer.Argument(metavar="RUNS", help="Runs, folders of runs, or files of codes (.npz, .safetensors, .csv)."),
    ] = None,
    encoder: Annotated[
        list[Path] | None,
        typer.Option(metavar="FILE", help="Encode the images of --dataset with this .onnx file."),
    ] = None,
    outputs: Annotated[
        str | None,
        typer.Option(
            metavar="MEANINGS",
            help="Meanings of unrecognized outputs of the encoder: mean=dense_3,log_var=dense_4.",
        ),
    ] = None,
    metrics: Annotated[
        str | None,
        typer.Option(
            metavar="NAMES",
            help="Compute all, unsupervised, model, or names such as mig,sap,dci:boosted_trees,elbo. Default: all.",
        ),
    ] = None,
    sampling: Annotated[
        str | None,
        typer.Option(
            metavar="JOINT",
            help="Image weights instead of the weights in training: uniform:shape,scale, or data for equal weights.",
        ),
    ] = None,
    like: Annotated[
        str | None,
        typer.Option(
            metavar="CODE",
            help="Use the settings of published code: disentanglement-lib, chen, kumar, do-tran, infomec, "
            "infomec-discrete or disdiff.",
        ),
    ] = None,
    save: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Also write the scores to a .json, .csv or .md file.")
    ] = None,
    *,
    force: Force = False,
    seed: Annotated[
        int | None, typer.Option(metavar="NUMBER", min=0, help="The seed of random draws. Default: 0.")
    ] = None,
    device: Device = "auto",
    packages: Packages = None,
) -> None:
    """Score runs, or codes from anywhere.

    The scores of a run are saved in its folder. A file of codes has the arrays mean, std (or log_var, or samples) and
    factors, with one row per image. The arrays factor_names and weights are optional. A .csv file has the columns
    mean_0, ..., std_0, ..., factor:NAME.

    Examples:
      unbraid score codes.npz
      unbraid score codes.npz --metrics mig,sap,dci --save scores.csv
      unbraid score runs
      unbraid score runs --metrics elbo,mig --part test --factors scale,position_x,position_y
      unbraid score runs --metric mig --metric.estimator quantized --metric.estimator.num-bins 50
      unbraid score --encoder encoder.onnx --dataset dsprites --fraction 0.1
    """
    import unbraid.cli.score_cards as cards
    from unbraid._internal.device import resolve_device, wide_device
    from unbraid.codes import Codes
    from unbraid.codes.codes_file import SUFFIXES
    from unbraid.metrics.evaluate import NO_GROUPS
    from unbraid.metrics.scorecard import SUFFIXES as SCORE_SUFFIXES
    from unbraid.metrics.selection import select

    what, encoders = what or [], list(dict.fromkeys(encoder or []))
    by_field: dict[str, dict[str, Sequence[str]]] = {"dataset": {}, "metric": {}, "": {}}
    for path, texts in given.items():
        by_field.get(path.partition(".")[0], by_field[""])[path] = texts
    images = by_field["dataset"]
    _check_sources(what, encoders, images, outputs)
    meanings = None if outputs is None else _parsed_outputs(outputs)
    chosen = _chosen_metrics(by_field["metric"], metrics, like)
    if chosen is not None:
        select(chosen, seed)
    scoring = _chosen_scoring(by_field[""], sampling, like)
    if save is not None:
        if any(save.resolve() == path.resolve() for path in (*what, *encoders)):
            raise SpecError(f"--save is {save}, which is also an input file. Name another file.")
        check_target("--save", save, SCORE_SUFFIXES, force=force)
        if not save.parent.is_dir():
            raise SpecError(f"--save is {save}. {files.no_folder(save.parent)} Create the folder first.")
    place = wide_device(resolve_device(device))
    paths = [path for path in what if path.suffix.lower() in SUFFIXES and not path.is_dir()]
    runs = _runs_in([path for path in what if path not in paths], parse_packages(packages))
    if scoring.groups is not None and any(len(run.spec.model.latents.groups) <= 1 for run in runs):
        note(NO_GROUPS)
    # All files are read before any is scored, so that an unreadable file fails at once.
    codes, asked = {path: Codes.load(path) for path in dict.fromkeys(paths)}, "all" if chosen is None else chosen
    encoded = _encoded(encoders, meanings, images, scoring)
    found = [
        *cards.cards_of_codes(codes, asked, scoring, seed, place),
        *cards.cards_of_codes(encoded, asked, scoring, seed, place, is_drawn=True),
        *cards.score_cards(runs, asked, scoring, seed=seed, device=place),
    ]
    if save is not None:
        cards.save_cards(save, {each.name: each.card for each in found})
    cards.show(found, is_short=chosen is None and len(runs) > 1 and len(found) == len(runs))
    if save is not None:
        echo(f"The scores are in {save}.")
    cards.report_failures(found)


def _check_sources(what: Sequence[Path], encoders: Sequence[Path], images: Given, outputs: str | None) -> None:
    """Raises SpecError if there is nothing to score, or if the flags of an encoder are incomplete."""
    if not encoders and not what:
        raise SpecError(
            "There is nothing to score. Name runs, files of codes, or an encoder: --encoder encoder.onnx --dataset "
            "dsprites."
        )
    if not encoders and (images or outputs):
        raise SpecError("--dataset and --outputs require --encoder, which is missing. Add --encoder encoder.onnx.")
    if encoders and "dataset" not in images:
        raise SpecError(f"--encoder {encoders[0]} requires --dataset. Name a dataset, such as --dataset dsprites.")


def _chosen_metrics(given: Given, metrics: str | None, like: str | None) -> "Metrics | None":
    """Returns the metrics chosen by --metric, --metrics or --like, or None without these flags."""
    from unbraid.cli.build import build_kind
    from unbraid.metrics.metric import Metric
    from unbraid.metrics.mig import MIG
    from unbraid.metrics.published import like as like_published

    ways = {"--metric": bool(given), "--metrics": metrics is not None, "--like": like is not None}
    if sum(ways.values()) > 1:
        used = " and ".join(name for name, is_used in ways.items() if is_used)
        raise SpecError(f"Expected only one of --metric, --metrics and --like, got {used}. Leave out all but one.")
    if given:
        built: list[Metric] = build_kind(Metric, "metric", given, MIG())
        return built
    return like_published(like) if like is not None else metrics


def _chosen_scoring(given: Given, sampling: str | None, like: str | None) -> "Scoring":
    """Returns the `Scoring` that the flags describe."""
    from unbraid.cli.build import build
    from unbraid.config import parse
    from unbraid.datasets.weights import Joint
    from unbraid.metrics.scoring import Scoring

    [scoring, *others] = build(Scoring, given, Scoring(groups="pca") if like == "disdiff" else None)
    if others:
        raise SpecError(f"Expected one value per flag of scoring, got {len(others) + 1} combinations. Give one each.")
    if sampling is not None and sampling != "data":
        sampling = parse(sampling, Joint, "--sampling")
    return replace(scoring, sampling=sampling)


def _runs_in(folders: Sequence[Path], packages: Sequence[str]) -> "list[Run]":
    """Returns the finished runs with weights in these folders."""
    from unbraid.codes.codes_file import SUFFIXES

    if not folders:
        return []
    for path in folders:
        if path.is_file():
            raise CodesError(f"Expected runs or files of codes ({', '.join(SUFFIXES)}), got {path}. Convert the file.")
    found, named = open_runs(folders, packages), {folder.resolve() for folder in folders}
    for run in found:
        if run.status != "finished" and run.folder.resolve() in named:
            run.codes()  # raises an error if the unfinished run itself was named
    return select_with_model(found, "score")


def _encoded(
    encoders: Sequence[Path], outputs: Mapping[str, str] | None, images: Given, scoring: "Scoring"
) -> "Mapping[Path, Codes]":
    """Returns the codes of the scored fraction of images, by the path of the encoder."""
    from unbraid.cli.build import build_kind
    from unbraid.datasets.dataset import FactorDataset
    from unbraid.integrations.onnx_encoder import OnnxEncoder

    if not encoders:
        return {}
    opened = [OnnxEncoder.open(path, outputs) for path in encoders]
    datasets = build_kind(FactorDataset, "dataset", images, None)
    if len(datasets) > 1:
        raise SpecError(f"The flags describe {len(datasets)} datasets; expected one. Give each flag one value.")
    factor_images = datasets[0].open()
    rows = scoring.rows(len(factor_images))
    factor_images = factor_images if rows is None else factor_images.select(rows)
    found = {}
    for each in opened:
        echo(f"Encoding {len(factor_images):,} images with {each.path} ...")
        found[each.path] = each.encode(factor_images)
    return found


def _parsed_outputs(text: str) -> dict[str, str]:
    """Parses a text such as `mean=dense_3,log_var=dense_4` into output names by meaning."""
    pairs = [entry.partition("=") for entry in text.split(",")]
    if any(not (meaning.strip() and equals and name.strip()) for meaning, equals, name in pairs):
        raise SpecError(f"--outputs is {text!r}; expected MEANING=NAME pairs. Write mean=dense_3,log_var=dense_4.")
    return {meaning.strip(): name.strip() for meaning, _, name in pairs}
