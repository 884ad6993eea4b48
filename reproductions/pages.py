"""Pages of the docs, written before the site is built: a summary, and one page per paper with its figures."""

import math
import shutil
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from reproductions.catalogue import papers
from reproductions.evidence import FOLDER, Found, command_of, find_all
from reproductions.figure import drawn
from reproductions.item import Data, Item, Paper
from reproductions.rows import claims_of
from reproductions.scales import experiment_of
from unbraid import figures
from unbraid.config import text_of
from unbraid.studies import Claim, judge, median

NOT_RUN, DEFINITION = "not run", "checked definition"
_VERDICTS = ("reproduced", "in part", "not reproduced", "undecided")
_CHANGED = "†"
_ABOUT = (
    "Every table and figure of five papers is an item that one command trains, scores and judges, whatever comes out. "
    "A verdict follows from kept scores by [one rule](../claims.md), and every item is run by "
    "`python -m reproductions run chen2018/table1` in a checkout ([how](../reproduce.md)). Scale is a separate column: "
    '"laptop" is a small experiment of our own on the claim, which has nothing to do with the numbers that the paper prints, and '
    '"quick" is a smaller experiment than the paper\'s. A checked definition compares numbers that need no training, '
    "and is counted apart. " + _CHANGED + " marks items whose claims were changed after scores were known. "
    "[What we found in the papers on the way](errors.md)."
)
Evidences = Mapping[tuple[str, str], Sequence[Found]]
"""The evidence of each item and dataset, the largest scale first."""


def write_pages(folder: Path, evidence: Path = FOLDER) -> list[Path]:
    """Writes `index.md`, a page per paper and their figures into the folder, and returns the pages."""
    (folder / "figures").mkdir(parents=True, exist_ok=True)
    found = {(item.id, key): find_all(item, key, evidence) for paper in papers().values() for item in paper.items for key in item.on}
    written = [folder / "index.md", *(folder / f"{name}.md" for name in papers())]
    for page, text in zip(written, (index(found), *(page_of(paper, found) for paper in papers().values())), strict=True):
        page.write_text(text, encoding="utf-8")
    for each in (each for of_item in found.values() for each in of_item):
        _draw(each, folder / "figures")
    return written


def index(found: Evidences) -> str:
    """Returns the summary: counts, the items that were run, the checked definitions, and the rest folded away."""
    counts, ran, definitions, rest = [], [], [], []
    for paper in papers().values():
        pairs = [(item, key) for item in paper.items for key in item.on]
        by_scale: dict[str, list[str]] = {}
        for item, key in pairs:
            if not found[item.id, key]:
                rest.append([f"`{item.id}`", item.title, _data(item.on[key]), _cost(item.on[key])])
            for each in found[item.id, key]:
                by_scale.setdefault(each.scale + ", stand-ins" * (key != item.original), []).append(each.judged.verdict)
                if each.judged.verdict == DEFINITION:
                    definitions.append([_link(each), item.title, _changed(each)])
                else:
                    claims = ", ".join(f"{count} {name}" for name, count in each.judged.counts.items() if count)
                    ran.append([_link(each), item.title, item.on[key].name, each.scale, _verdict(each), claims])
        first, *others = paper.authors.split(", ")
        link = f"[{first}{' et al.' if others else ''}]({paper.id}.md), {len(paper.items)} items"
        missing = [key != item.original for item, key in pairs if not found[item.id, key]]
        left = f"{missing.count(False)} + {missing.count(True)} stand-ins"
        for scale, verdicts in sorted(by_scale.items()) or [("–", [])]:
            counts.append([link, scale, *(verdicts.count(verdict) or "–" for verdict in (*_VERDICTS, DEFINITION)), left])
            link = left = ""
    heads = ["item", "what it is", "data", "scale", "verdict", "claims"]
    return "\n\n".join(
        [
            "---\nhide: [toc]\n---",  # its tables take the width
            "# Papers, reproduced or not",
            _ABOUT,
            _table(["paper", "scale", *_VERDICTS, "checked definitions", NOT_RUN], counts),
            "## Items that were run",
            _table(heads, ran),
            "## Checked definitions",
            _table(["item", "what it is", ""], definitions),
            "## Not run yet",
            _folded(f"{len(rest)} items and stand-ins", _table(["item", "what it is", "data", "cost"], rest)),
            "",
        ]
    )


def page_of(paper: Paper, found: Evidences) -> str:
    """Returns the page of a paper: items that were run, in the paper's order, then the rest folded away."""
    pairs = [(item, key) for item in paper.items for key in item.on]
    head = f"{paper.reference}. {paper.without_items} [All papers](index.md).".replace("  ", " ")
    rest = [
        [f"`{item.id}`", f"{item.title}. {item.quote}", item.place, _data(item.on[key]), _command(item, key, item.on[key].scales[-1])]
        for item, key in pairs
        if not found[item.id, key]
    ]
    parts = [f"# {paper.authors}: {paper.title}", head, *(_section(found[item.id, key]) for item, key in pairs if found[item.id, key])]
    if rest:
        table = _table(["item", "what the paper claims", "place", "data", "command and cost"], rest)
        parts += ["## Not run yet", _folded(f"{len(rest)} items and stand-ins", table)]
    return "\n\n".join([*parts, ""])


def _section(scales: Sequence[Found]) -> str:
    """Returns the section of an item on a dataset: the verdict at every scale, side by side, then each with its figure."""
    item, key = scales[0].item, scales[0].data
    data, name = item.on[key], _anchor(item, key)
    stand_in = f", with {data.name} as a stand-in" if key != item.original else ""
    parts = [f"## {item.title}{stand_in} {{#{name}}}"]
    parts.append("An experiment of ours, and no claim of the paper." if item.is_ours else f"> {item.quote}\n>\n> {item.place}")
    rows = [[each.scale, f"**Verdict: {_verdict(each)}**", f"{each.num_runs} of {each.num_asked}", data.name] for each in scales]
    parts.append(_table(["scale", "verdict", "runs", "data"], rows))
    for each in scales:
        parts += ([f"### {each.scale} {{#{_anchor(item, key)}-{each.scale}}}"] if len(scales) > 1 else []) + _at_scale(each)
    if data.settings:
        rows = [each.split(" | ") for each in data.settings]
        parts.append(_folded("Settings", _table(["what", "the paper states", "taken here"], rows)))
    made = [_made(each) for found in scales for each in found.made_by]
    parts.append("\n".join([*(f"- Run it: {_command(item, key, each.scale)}" for each in scales), *made]))
    if limits := " ".join(filter(None, (item.notes, data.notes))):
        parts.append(f"**Limits.** {limits}")
    return "\n\n".join(parts)


def _at_scale(found: Found) -> list[str]:
    item, parts = found.item, []
    if found.scale == "laptop":
        spec = experiment_of(item, found.data, found.scale).settings[0].spec
        trained = f"{spec.num_steps:,} steps of {spec.batch_size} images"
        parts.append(f"What is small here: `{text_of(spec.dataset)}`, `{text_of(spec.model.encoder)}`, {trained}. No number of the paper is judged.")
    if found.claims_changed:
        why = item.changed or "they are written for the one rule by which all claims are judged today"
        parts.append(f"{_CHANGED} Claims were restated after these scores were known: {why}.")
    parts.append(_claims_table(found.judged.claims))
    if found.controls:
        parts.append("Controls of ours, which do not count:\n\n" + _claims_table(found.controls))
    if item.printed and found.scale != "laptop":
        rows = [[p.setting, f"`{p.metric}`", f"{p.value:g}", _ours(found, p.setting, p.metric, p.times)] for p in item.printed]
        parts.append(_folded("Printed numbers beside ours", _table(["setting", "score", "printed", "ours"], rows)))
    columns = [name for name in item.scores if any(name in by for by in found.numbers.values())]
    if columns:
        rows = [[label, *(_ours(found, label, name) for name in columns)] for label in found.scores.settings]
        parts.append(_folded("Scores of every setting: median, 95 % interval, seeds", _table(["setting", *(f"`{c}`" for c in columns)], rows)))
    stem = f"figures/{_stem(found)}"
    if _is_drawn(found):
        parts.append(f"![{item.title}]({stem}.svg)")
    return [*parts, *(f"![{item.title}]({stem}{_suffix(found, path)}.png)" for path in found.pictures)]


def _claims_table(claims: Sequence[Any]) -> str:
    rows = [[each.claim.sentence + (" (central)" if each.claim.central else ""), each.verdict, each.reason] for each in claims]
    return _table(["claim", "verdict", "what was found"], rows)


def _ours(found: Found, label: str, metric: str, times: float = 1.0) -> str:
    """Returns the median over seeds with its 95 % interval, not adjusted for others."""
    values = found.numbers.get(label, {}).get(metric, {})
    if not values:
        return "–"
    [each] = judge([Claim("shown", median(metric, label), above=0.0)], found.numbers).claims
    if each.value is None:
        return "–"
    seeds = f"{len(values)} seed{'s' * (len(values) > 1)}"
    if each.interval is None or not all(map(math.isfinite, each.interval)):
        return f"{times * each.value:.4g} ({seeds})"
    low, high = each.interval
    return f"{times * each.value:.4g} ({times * low:.3g} to {times * high:.3g}, {seeds})"


def _is_drawn(found: Found) -> bool:
    """Whether there is anything to draw: numbers of more than one seed or setting, but for items with figures of their own."""
    return bool(found.item.code.draw or found.judged.verdict != DEFINITION or not isinstance(found.item.figure, str))


def figure_of(found: Found) -> Any:
    """Draws the figure of an item."""
    experiment, claims = experiment_of(found.item, found.data, found.scale), [each.claim for each in found.judged.claims]
    central = [name for claim in claims if claim.central or not any(each.central for each in claims) for name in claim.quantity.metrics_used]
    labels = [*(each.label for each in experiment.settings), *([experiment.tuned.label] if experiment.tuned else []), *experiment.cases]
    draw = found.item.code.draw or partial(drawn, found.item.figure, list(dict.fromkeys(central)), labels)
    return draw(found.scores_with_derived)


def _draw(found: Found, folder: Path) -> None:
    if _is_drawn(found):
        figures.save(figure_of(found), folder / f"{_stem(found)}.svg", overwrite=True)
    for path in found.pictures:
        shutil.copyfile(path, folder / f"{_stem(found)}{_suffix(found, path)}.png")


def _stem(found: Found) -> str:
    return f"{found.item.paper}-{_anchor(found.item, found.data)}-{found.scale}"


def _suffix(found: Found, path: Path) -> str:
    return path.stem[path.stem.index(f"-{found.scale}-") + len(found.scale) + 1 :]


def _verdict(found: Found) -> str:
    return f"{found.verdict} {_changed(found)}".rstrip()


def _changed(found: Found) -> str:
    return _CHANGED if found.claims_changed else ""


def _anchor(item: Item, key: str) -> str:
    return (item.name if key == item.original else f"{item.name}-{key}").lower()


def _link(found: Found) -> str:
    return f"[{found.item.id}]({found.item.paper}.md#{_anchor(found.item, found.data)})"


def _data(data: Data) -> str:
    return f"{data.name}, your files" if data.needs else data.name


def _cost(data: Data) -> str:
    return ", ".join(f"{scale} {_duration(seconds)}" for scale, seconds in data.seconds.items())


def _duration(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def _command(item: Item, key: str, scale: Any) -> str:
    return f"`{' '.join(command_of(item, key, scale))}` ({_cost(item.on[key])})"


def _made(made: Any) -> str:
    note = f" ({made['note']})" if made.get("note") else ""
    where = f"{made['date']}, commit {made['commit']}, {made['machine']}, torch {made['torch']}"
    return f"- Made by `{made['command']}`, {where}, {_duration(float(made['seconds']))}{note}"


def _folded(title: str, content: str) -> str:
    return f"<details markdown>\n<summary>{title}</summary>\n\n{content}\n\n</details>"


def _table(heads: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    lines = [list(heads), ["---"] * len(heads), *([str(cell).replace("|", "\\|") for cell in row] for row in rows)]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def text_of_item(item: Item) -> str:
    """Returns an item for the terminal: the paper's words, what was found, and what a run will decide."""
    lines = [f"{item.id}: {item.title}", f"{item.place}: {item.quote}"]
    for key, data in item.on.items():
        found = find_all(item, key)
        lines.append(f"\non {_data(data)} ({_cost(data)}): " + ("" if found else NOT_RUN))
        for each in found:
            lines.append(f"  {each.scale}: {_verdict(each)}")
            lines += [f"    {claim.verdict}: {claim.claim.sentence} {claim.reason}" for claim in each.judged.claims]
        if not found:
            lines += [f"  - {claim.sentence}" for claim in claims_of(item, key, data.scales[-1])]
        lines += ["", *data.settings]
    printed = [f"printed: {each.setting}, {each.metric}: {each.value:g}" for each in item.printed]
    return "\n".join([*lines, "", *printed, item.notes])
