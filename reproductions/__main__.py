"""python -m reproductions list | show | run | page."""

import argparse
import itertools
import math
import sys
from pathlib import Path
from statistics import median

import torch

from reproductions.catalogue import NAMES, find_items
from reproductions.evidence import FOLDER, find_all
from reproductions.item import SCALES, Item, Scale
from reproductions.pages import NOT_RUN, text_of_item, write_pages
from reproductions.running import run_item, tune_item
from unbraid.errors import DataError, UnbraidError
from unbraid.studies import StudyOptions


def main(arguments: list[str] | None = None) -> int:
    """Runs a command, and returns the exit status."""
    parser = argparse.ArgumentParser(prog="python -m reproductions", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    for name, text in (("list", "List items."), ("show", "Show items."), ("run", "Train, score and judge items.")):
        command = commands.add_parser(name, help=text)
        command.add_argument("ids", nargs="+" if name == "show" else "*", help="items or papers, such as chen2018/figure3a; by default all")
        command.add_argument("--evidence", type=Path, help="where evidence lies; `run` writes it below --out by default")
    command.add_argument("--scale", choices=SCALES, help="by default laptop, or quick with a GPU")
    command.add_argument("--data", help="the dataset, by default the paper's own; at laptop all that have this scale")
    command.add_argument("--setting", action="append", default=[], help="run this setting alone; may be repeated")
    command.add_argument("--budget", type=float, help="seconds; start nothing that cannot finish within them")
    command.add_argument("--device", default="auto")
    command.add_argument("--scorers", type=int, help="processes that compute scores")
    command.add_argument("--out", type=Path, default=Path("runs/reproductions"), help="where runs are kept")
    command.add_argument("--tuning", type=int, help="print medians at laptop of so many seeds that are never tested, and judge nothing")
    page = commands.add_parser("page", help="Write the pages of the docs.")
    page.add_argument("--to", type=Path, default=Path("docs/papers"))
    chosen = parser.parse_args(arguments)
    try:
        return {"list": _list, "show": _show, "run": _run, "page": _page}[chosen.command](chosen)
    except (UnbraidError, ValueError) as error:
        print(f"Error: {error}", file=sys.stderr)
        return 1


def _list(chosen: argparse.Namespace) -> int:
    for item in find_items(chosen.ids or NAMES):
        for key, data in item.on.items():
            found = find_all(item, key, chosen.evidence or FOLDER)
            for scale, verdict in [(str(each.scale), each.verdict) for each in found] or [("–", NOT_RUN)]:
                print(f"{item.id:28} {key:14} {scale:6} {verdict:16} {data.needs and 'your files'}".rstrip())
    return 0


def _show(chosen: argparse.Namespace) -> int:
    print("\n\n".join(map(text_of_item, find_items(chosen.ids))))
    return 0


def _run(chosen: argparse.Namespace) -> int:
    options = StudyOptions(device=chosen.device, budget=chosen.budget, num_scorers=chosen.scorers, settings=tuple(chosen.setting))
    asked = [each for item in find_items(chosen.ids or NAMES) for each in places(item, chosen.data, chosen.scale)]
    failed = not asked
    if not asked:
        print(f"None of these items has the scale {chosen.scale!r}. `show` lists the scales of an item.", file=sys.stderr)
    for place, (item, data, scale) in enumerate(asked):
        beside = [(other, key) for other, key, at in asked[place + 1 :] if (other.paper, at) == (item.paper, scale)]
        if chosen.tuning:
            scores = tune_item(item, data, chosen.tuning, chosen.out, options)
            for label, metric in itertools.product(scores.settings, scores.metrics):
                print(f"{item.id}, {label}: {metric} {median(scores.of_seeds(label, metric) or [math.nan]):.4g}")
            continue
        try:
            ran = run_item(item, data, scale, chosen.out, options, evidence=chosen.evidence, beside=beside)
        except DataError as error:
            print(f"Error: {error}", file=sys.stderr)
            failed = True
            continue
        for name, why in ran.failures.items():
            print(f"{name}: {why}", file=sys.stderr)
        failed |= bool(ran.failures)
        if scale == "smoke":
            print(f"{item.id} on {data}: smoke, no verdict")
            continue
        for each in ran.found.judged.claims:
            print(f"{each.verdict}: {each.claim.sentence} {each.reason}")
        left = f" {ran.num_left} runs are left; the same command continues." if ran.num_left else ""
        print(f"{item.id} on {data}, {scale}: {ran.found.verdict}.{left} Kept in {ran.evidence}.")
    return int(failed)


def places(item: Item, data: str | None, scale: Scale | None) -> list[tuple[Item, str, Scale]]:
    """Returns the datasets and the scale at which an item is run: by default `laptop`, or `quick` with a GPU, and the
    smallest scale with a verdict if it has neither. At `laptop` those are all datasets that have it, else the paper's own.
    """
    on = {data: item.data(data)} if data else item.on
    chosen: Scale = scale or ("quick" if torch.cuda.is_available() else "laptop")
    keys = [key for key, each in on.items() if chosen in each.scales]
    if not keys and not scale:
        key, each = next(iter(on.items()))
        return [(item, key, (*each.scales[1:], "smoke")[0])]
    return [(item, key, chosen) for key in keys[: None if chosen == "laptop" else 1]]


def _page(chosen: argparse.Namespace) -> int:
    print("\n".join(map(str, write_pages(chosen.to))))
    return 0


if __name__ == "__main__":
    sys.exit(main())
