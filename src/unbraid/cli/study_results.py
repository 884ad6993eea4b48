"""The commands of `unbraid study` that show scores: table, figure, select and report."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from unbraid._internal import files
from unbraid.cli.console import echo, note, output
from unbraid.cli.options import Force, OutFolder, Packages, StudyFile, check_target, parse_names, parse_packages
from unbraid.cli.study import read_study
from unbraid.errors import SpecError

if TYPE_CHECKING:
    from unbraid.studies.evidence import Evidence
    from unbraid.studies.study import Study
    from unbraid.studies.study_scores import StudyScores

Kind = Literal[
    "box", "violin", "strip", "sorted-bars", "bars", "line", "scatter", "rate-distortion", "parallel", "correlation"
]
EvidenceFile = Annotated[
    Path | None,
    typer.Option(
        "--scores", metavar="FILE", help="Read scores from this file (of `study table --to FILE.json`), not from runs."
    ),
]


def study_table(
    file: StudyFile,
    out: OutFolder = Path("runs"),
    metrics: Annotated[
        str | None, typer.Option(metavar="NAMES", help="The metrics, separated by commas. Default: all.")
    ] = None,
    form: Annotated[
        Literal["wide", "long"],
        typer.Option(help="One row per setting (wide) or per score of each run (long)."),
    ] = "wide",
    to: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Write the table to .csv, .md, .tex (booktabs) or .parquet, or all numbers to .json."
        ),
    ] = None,
    *,
    force: Force = False,
    packages: Packages = None,
) -> None:
    """Show the scores of a study.

    The wide form shows medians and quartiles over seeds. The long form shows every score of every run.

    Examples:
      unbraid study table study.json --metrics mig,sap
      unbraid study table study.json --form long --to scores.csv
      unbraid study table study.json --to table.tex
    """
    from unbraid._internal.memory import no_garbage_collection
    from unbraid.cli.tables import print_rows
    from unbraid.studies import tables
    from unbraid.studies.claims.judgment import judge
    from unbraid.studies.collect import collect

    if to is not None:
        suffixes = (".csv", ".parquet", ".json") if form == "long" else (".csv", ".md", ".tex", ".parquet", ".json")
        check_target("--to", to, suffixes, force=force)
    study = read_study(file, parse_packages(packages), out)
    has_parts = form == "long" or bool(study.claims) or (to is not None and to.suffix == ".json")
    scores = collect(study, out, parts=has_parts)
    chosen = None if metrics is None else parse_names(metrics)
    if not scores.numbers:
        note(f"No run of the study has scores yet. Train and score its runs: unbraid study run {file} --out {out}")
    with no_garbage_collection():
        if to is not None:
            _write_table(study, scores, chosen, form, to)
            echo(f"The table is in {to}.")
        elif form == "long":
            output().print(str(tables.long_table(scores)), soft_wrap=True)
        else:
            print_rows(*tables.wide_rows(scores, chosen))
            for sentence in tables.factors_of(scores, chosen):
                echo(sentence, style="dim")
            if study.claims:
                judgment = judge(study.claims, scores)
                print_rows(*tables.claim_rows(judgment))
                echo(f"All claims: {judgment.text}. {tables.CLAIM_NOTE}", style="dim")


def _write_table(study: "Study", scores: "StudyScores", metrics: list[str] | None, form: str, to: Path) -> None:
    """Writes the scores of a study in the format of the suffix."""
    from unbraid.studies import tables
    from unbraid.studies.claims.judgment import judge
    from unbraid.studies.evidence import Circumstances, Evidence

    match to.suffix:
        case ".md":
            judged = "\n" + tables.claim_markdown(judge(study.claims, scores)) if study.claims else ""
            files.write_text(to, tables.wide_markdown(scores, metrics) + judged)
        case ".json":
            Evidence(study.name, scores, Circumstances.now().to_json()).save(to)
        case ".tex":
            files.write_text(to, tables.wide_latex(scores, metrics))
        case _:
            table = tables.long_table(scores) if form == "long" else tables.wide_table(scores, metrics)
            files.write_bytes(to, table.to_csv().encode() if to.suffix == ".csv" else table.to_parquet())


def study_figure(
    file: StudyFile,
    to: Annotated[Path, typer.Option(metavar="FILE", help="The file to write: .svg, .pdf or .png.")],
    out: OutFolder = Path("runs"),
    kind: Annotated[Kind, typer.Option(help="The kind of figure.")] = "box",
    metric: Annotated[
        str | None,
        typer.Option(metavar="NAMES", help="One metric; two for scatter; default for parallel and correlation: all."),
    ] = None,
    scores: EvidenceFile = None,
    *,
    force: Force = False,
    packages: Packages = None,
) -> None:
    """Draw the scores of a study.

    The drawn numbers are written to a .csv file with the same name. A family of settings has the same color and marker
    in every figure. The kind `line` shows means over the field in which the settings of a family differ.

    Examples:
      unbraid study figure study.json --kind box --metric mig --to mig.svg
      unbraid study figure study.json --kind scatter --metric mig,sap --to mig-sap.pdf
      unbraid study figure study.json --kind correlation --scores evidence.json --to agree.png
    """
    from unbraid import figures
    from unbraid.figures.saving import check_figure_place
    from unbraid.studies.figures import draw

    check_figure_place(to, overwrite=force)
    study = read_study(file, parse_packages(packages), out)
    figures.save(draw(_evidence(study, out, scores).scores, kind, parse_names(metric)), to, overwrite=force)
    echo(f"The figure is in {to}, and its numbers are in {to.with_suffix('.csv')}.")


def study_select(
    file: StudyFile,
    out: OutFolder = Path("runs"),
    by: Annotated[
        Literal["udr", "agreement", "wsepin", "elbo"], typer.Option(help="The criterion, which needs no labels.")
    ] = "udr",
    top: Annotated[int, typer.Option(metavar="NUMBER", min=1, help="The number of runs to list.")] = 10,
    packages: Packages = None,
) -> None:
    """Choose runs without labels.

    The command also prints the rank correlation of the criterion with scores that need labels. The criteria are: udr,
    one-sided matching of latents between seeds of a setting; agreement, correlation of informative latents of different
    seeds, matched one to one; wsepin, information about the image that only one latent has; elbo, the lower bound on
    the log-likelihood.

    Examples:
      unbraid study select study.json --by udr
      unbraid study select study.json --by wsepin --top 3
    """
    from unbraid.cli.tables import columns
    from unbraid.metrics.score_rows import number_text
    from unbraid.studies.collect import collect
    from unbraid.studies.select import agreement, choices
    from unbraid.studies.statistics import StatisticsError

    study = read_study(file, parse_packages(packages), out)
    scores = collect(study, out)
    echo(f"Comparing runs by {by} ...")
    chosen = choices(study, out, scores, by)
    supervised = [name for name in ("mig", "jemmig") if name in scores.higher_is_better]
    table = columns("run", "setting", "seed", by, *supervised)
    for choice in chosen[:top]:
        values = [scores.values(choice.setting, name).get(choice.seed) for name in supervised]
        shown = ["–" if value is None else number_text(value) for value in values]
        table.add_row(choice.run, choice.setting, str(choice.seed), number_text(choice.value), *shown)
    output().print(table)
    for name in supervised:
        try:
            found = agreement(scores, chosen, name)
        except StatisticsError as error:
            note(f"The rank correlation of {by} with {name} is undefined: {error}")
            continue
        low, high = found.interval
        echo(
            f"Rank correlation of {by} with {name} over {len(chosen)} runs: {found.value:+.2f} ({low:+.2f} to "
            f"{high:+.2f})."
        )


def study_report(
    file: StudyFile,
    out: OutFolder = Path("runs"),
    to: Annotated[Path, typer.Option(metavar="FILE", help="The page to write, an .html file.")] = Path("study.html"),
    scores: EvidenceFile = None,
    packages: Packages = None,
) -> None:
    """Write a page about a study.

    The page shows the question, the best setting with its uncertainty, every seed, the table of scores, the claims with
    their verdicts, the correlation of metrics, and the commands that repeat the study. It is a single file that needs
    no network.

    Examples:
      unbraid study report study.json
      unbraid study report study.json --scores evidence.json --to page.html
    """
    from unbraid.studies.report import write_study_report

    check_target("--to", to, (".html",), force=True)
    study = read_study(file, parse_packages(packages), out)
    found = _evidence(study, out, scores)
    echo(f"Writing {to} from {len(found.scores.runs)} runs ...")
    command = f"unbraid study run {file} --out {out}"
    written = write_study_report(study, found.scores, to, made_by=found.made_by, command=command)
    echo(f"The report is in {written.resolve().as_uri()}")


def _evidence(study: "Study", out: Path, file: Path | None) -> "Evidence":
    """Returns the scores of a study with their origin, read from the file or, if it is None, from the runs."""
    from unbraid.studies.collect import collect, swept_values
    from unbraid.studies.evidence import Circumstances, Evidence

    if file is None:
        return Evidence(study.name, collect(study, out), Circumstances.now().to_json())
    found = Evidence.load(file)
    if found.study != study.name:
        raise SpecError(f"Expected scores of {study.name!r}, but {file} has {found.study!r}. Name another.")
    return replace(found, scores=replace(found.scores, swept=swept_values(study.settings)))
