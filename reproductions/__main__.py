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
    asked = [each for item in find_items(chosen.ids or NAMES) for each in _places(item, chosen)]
    failed = False
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


def _places(item: Item, chosen: argparse.Namespace) -> list[tuple[Item, str, Scale]]:
    """Returns the datasets and the scale at which an item is run: by default `laptop` without a GPU and `quick` with one,
    or else the smallest scale with a verdict. At `laptop` those are all datasets that have it, and the paper's own otherwise.
    """
    default: Scale = "quick" if torch.cuda.is_available() else "laptop"
    scales = {key: data.scales for key, data in item.on.items() if chosen.data in (None, key)}
    if not scales:
        item.data(chosen.data)
    scale = chosen.scale or default
    keys = [key for key in scales if scale in scales[key]]
    if not keys and not chosen.scale:
        return [(item, key, (*each[1:], "smoke")[0]) for key, each in scales.items()][:1]
    if not keys:
        print(f"{item.id} has no scale {scale!r}: {', '.join(f'{key} has {chr(44).join(each)}' for key, each in scales.items())}.")
    return [(item, key, scale) for key in keys[: None if scale == "laptop" else 1]]


def _page(chosen: argparse.Namespace) -> int:
    print("\n".join(map(str, write_pages(chosen.to))))
    return 0


if __name__ == "__main__":
    sys.exit(main())
