"""python -m reproductions list | show | run | page."""

import argparse
import sys
from pathlib import Path

from reproductions.catalogue import find_items, items
from reproductions.evidence import largest
from reproductions.item import SCALES
from reproductions.pages import NOT_RUN, text_of_item, write_pages
from reproductions.running import run_item
from unbraid.errors import UnbraidError
from unbraid.studies import StudyOptions


def main(arguments: list[str] | None = None) -> int:
    """Runs a command, and returns the exit status."""
    parser = argparse.ArgumentParser(prog="python -m reproductions", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    for name, text in (("list", "List items."), ("show", "Show items."), ("run", "Train, score and judge items.")):
        command = commands.add_parser(name, help=text)
        command.add_argument("ids", nargs="*" if name == "list" else "+", help="items or papers, such as chen2018/figure3a")
    command.add_argument("--scale", choices=SCALES, help="by default the smallest that gives a verdict")
    command.add_argument("--data", help="the dataset, by default the paper's own")
    command.add_argument("--setting", action="append", default=[], help="run this setting alone; may be repeated")
    command.add_argument("--budget", type=float, help="seconds; start nothing that cannot finish within them")
    command.add_argument("--device", default="auto")
    command.add_argument("--scorers", type=int, help="processes that compute scores")
    command.add_argument("--out", type=Path, default=Path("runs/reproductions"), help="where runs are kept")
    command.add_argument("--evidence", type=Path, help="where evidence is written, by default below --out")
    page = commands.add_parser("page", help="Write the pages of the docs.")
    page.add_argument("--to", type=Path, default=Path("docs/papers"))
    chosen = parser.parse_args(arguments)
    try:
        return {"list": _list, "show": _show, "run": _run, "page": _page}[chosen.command](chosen)
    except (UnbraidError, ValueError) as error:
        print(f"Error: {error}", file=sys.stderr)
        return 1


def _list(chosen: argparse.Namespace) -> int:
    for item in find_items(chosen.ids) if chosen.ids else items().values():
        for key, data in item.on.items():
            found = largest(item, key)
            scale, verdict = ("–", NOT_RUN) if found is None else (found.scale, found.verdict)
            print(f"{item.id:28} {key:14} {scale:6} {verdict:16} {data.needs and 'your files'}".rstrip())
    return 0


def _show(chosen: argparse.Namespace) -> int:
    print("\n\n".join(map(text_of_item, find_items(chosen.ids))))
    return 0


def _run(chosen: argparse.Namespace) -> int:
    options = StudyOptions(device=chosen.device, budget=chosen.budget, num_scorers=chosen.scorers, settings=tuple(chosen.setting))
    asked = [(item, chosen.data or item.original) for item in find_items(chosen.ids)]
    failed = False
    for place, (item, data) in enumerate(asked):
        scale = chosen.scale or item.data(data).default_scale
        ran = run_item(item, data, scale, chosen.out, options, evidence=chosen.evidence, beside=asked[place + 1 :])
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


def _page(chosen: argparse.Namespace) -> int:
    print("\n".join(map(str, write_pages(chosen.to))))
    return 0


if __name__ == "__main__":
    sys.exit(main())
