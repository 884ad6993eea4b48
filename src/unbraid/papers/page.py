"""Pages of the docs: one per paper, and the summary of all items."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from unbraid import figures, files
from unbraid.errors import UnbraidError
from unbraid.evaluation.score_rows import in_markdown
from unbraid.papers.evidence_files import ItemEvidence, best_evidence
from unbraid.papers.item import Item, Paper
from unbraid.papers.judgement import Judgement
from unbraid.papers.registry import papers
from unbraid.papers.summary import (
    NOT_RUN,
    cost_text,
    differences,
    made_text,
    printed_rows,
    short_names,
    verdict_text,
    with_short_names,
)
from unbraid.runs.kept_scores import question_key
from unbraid.studies.claims import Verdict
from unbraid.studies.tables import wide_markdown

_VERDICTS: tuple[Verdict, ...] = ("reproduced", "in part", "not reproduced", "undecided")
_MOST_ROWS = 40  # of a table of settings; longer ones are in the evidence


_SUMMARY = re.compile(r"<!-- papers[^\n]*-->\n(.*?)<!-- /papers -->", re.DOTALL)
_ABOUT = (
    "Every table and figure of five papers is an item that one command trains, scores and judges: `unbraid papers run "
    "chen2018/table1` ([how to run, go on and judge](../reproduce.md)). A verdict follows from kept scores by a test, "
    'and may be "not reproduced"; where the test was not fixed before the scores were known, the page says so. What '
    "has not been run says so too. Costs are those of one H200, or of two cores where nothing is trained. [What we "
    "found in the papers on the way](errors.md). This page is written by `unbraid papers page`."
)


def write_pages(folder: Path, evidence: Path) -> list[Path]:
    """Writes a page per paper with its figures, and the summary `index.md`, and returns the pages."""
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for paper in papers().values():
        found = {item.id: best_evidence(item, evidence) for item in paper.items}
        for item in paper.items:
            _draw(item, found[item.id], folder)
        page = folder / f"{paper.id}.md"
        files.write_text(page, paper_page(paper, found))
        written.append(page)
    index = folder / "index.md"
    files.write_text(index, index_page(evidence))
    return [index, *written]


def put_summary(path: Path, evidence: Path) -> None:
    """Writes how many items have which verdict between the marks that the file has for it."""
    text = files.read_bytes(path).decode()
    found = _SUMMARY.search(text)
    if found is None:
        raise UnbraidError(
            f"{path} has no place for the summary; expected a line that begins '<!-- papers' and, below "
            "it, '<!-- /papers -->'."
        )
    files.write_text(path, text[: found.start(1)] + f"\n{counts_table(evidence)}\n" + text[found.end(1) :])


def index_page(evidence: Path) -> str:
    """Returns the summary: how many items there are by verdict, and a table of all."""
    parts = [
        "# Papers, reproduced or not",
        _ABOUT,
        counts_table(evidence),
    ]
    for paper in papers().values():
        parts += [
            f"## {paper.authors}: {paper.title}",
            f"[The page of this paper]({paper.id}.md)",
        ]
        rows = [
            [
                f"[{item.name}]({paper.id}.md#{item.name.lower()})",
                item.title,
                _data(item),
                verdict_text(item, best_evidence(item, evidence)),
                cost_text(item),
            ]
            for item in paper.items
        ]
        parts.append(_table(["item", "what it is", "data", "verdict", "cost"], rows))
    return "\n\n".join(parts) + "\n"


def counts_table(evidence: Path) -> str:
    """Returns how many items of each paper have which verdict, stand-ins counted apart."""
    rows = []
    for paper in papers().values():
        for stand_ins in (False, True):
            chosen = [item for item in paper.items if bool(item.stands_in_for) is stand_ins]
            if not chosen:
                continue
            found = [best_evidence(item, evidence) for item in chosen]
            verdicts = [each.judgement.verdict for each in found if each is not None]
            counts = [str(verdicts.count(verdict) or "–") for verdict in _VERDICTS]
            name = f"{paper.id}, stand-ins" if stand_ins else paper.id
            rows.append([name, str(len(chosen)), *counts, str(found.count(None) or "–")])
    return _table(["paper", "items", *_VERDICTS, NOT_RUN], rows)


def paper_page(paper: Paper, found: Mapping[str, ItemEvidence | None]) -> str:
    """Returns the page of a paper: every item in the paper's order."""
    origin = (
        f"{paper.reference}. Written by `unbraid papers page` from the files in `evidence/{paper.id}/`; verdicts are "
        f"computed from the scores in them. {paper.without_items} [All papers](index.md)."
    ).replace("  ", " ")
    head = [
        f"# {paper.authors}: {paper.title}",
        origin,
        _table(
            ["item", "what it is", "verdict"],
            [
                [f"[{item.name}](#{item.name.lower()})", item.title, verdict_text(item, found[item.id])]
                for item in paper.items
            ],
        ),
    ]
    return "\n\n".join([*head, *(_section(item, found[item.id]) for item in paper.items)]) + "\n"


def _section(item: Item, found: ItemEvidence | None) -> str:
    parts = [f"## {item.name}", f"**{_sentence(item.title)}** {item.claim}"]
    if item.stands_in_for:
        parts.append(
            f"> **A stand-in.** The data of `{item.stands_in_for}` are not at hand; this uses {item.data} instead. "
            "It says nothing of the paper's numbers."
        )
    if item.choices:
        rows = [[choice.what, choice.stated, choice.taken] for choice in item.choices]
        table = _table(["what", "the paper states", "taken here"], rows)
        parts.append(_folded("Settings", table))
    parts += _results(item, found) if found is not None else _not_run(item)
    if item.notes:
        parts.append(item.notes)
    return "\n\n".join(parts)


def _results(item: Item, found: ItemEvidence) -> list[str]:
    judged = found.judgement
    parts = [f"**Verdict: {verdict_text(item, found)}.** {_counted(judged)}".strip()]
    claims = [
        [claim.told, decision.verdict, decision.reason]
        for claim, decision in zip(judged.claims, judged.decisions, strict=True)
    ]
    if claims:
        parts.append(_table(["claim", "verdict", "reason"], claims))
    if item.printed:
        parts.append(_table(["setting", "score", "printed", "ours"], printed_rows(item, found.scores)))
    if item.trains and len(found.scores.settings) <= _MOST_ROWS:
        parts.append(wide_markdown(found.scores, item.columns or None).strip())
        parts += _other_scorings(item, found)
    short = short_names(found.scores.metrics)
    parts = [with_short_names(part, short) for part in parts]
    if told := {name: kind for name, kind in short.items() if any(kind in part for part in parts)}:
        parts.append("In full: " + ", ".join(f"{kind} is `{name}`" for name, kind in told.items()) + ".")
    parts += [f"![{item.title}]({name})" for name in _images(item, found)]
    parts += [_made_by(found)]
    return parts


def _counted(judged: Judgement) -> str:
    """Returns how many claims of the paper came to which verdict, where they differ."""
    verdicts = judged.verdicts
    counts = {verdict: verdicts.count(verdict) for verdict in _VERDICTS if verdict in verdicts}
    if len(counts) < 2:
        return ""
    return f"Of {len(verdicts)} claims: " + ", ".join(f"{count} {verdict}" for verdict, count in counts.items()) + "."


def _other_scorings(item: Item, found: ItemEvidence) -> list[str]:
    """Returns a table for each scoring beside the first, and how it differs from that."""
    studies, parts = item.at(found.scale).studies, []
    first, *others = studies[0].scorings if studies else ()
    for other in others:
        scores = found.scores.under(question_key("", other.changes()).strip())
        if shown := [name for name in item.columns or scores.metrics if scores.with_any_score(name)]:
            parts.append(f"The same models, scored otherwise ({differences(first, other)}):")
            parts.append(wide_markdown(scores, shown).strip())
    return parts


def _not_run(item: Item) -> list[str]:
    """Returns what to type, what it costs, the printed numbers, and the claims that will be decided."""
    scale = item.default_scale
    needs = f" It needs {_sentence(item.needs)}" if item.needs else ""
    stand_in = (
        f" Its stand-in is [{item.stand_in}](#{item.stand_in.partition('/')[2].lower()})." if item.stand_in else ""
    )
    command = f"`unbraid papers run {item.id} --scale {scale}` ({cost_text(item)})"
    parts = [f"**{NOT_RUN.capitalize()}.** {command}.{needs}{stand_in}"]
    claims = [[claim.told] for claim in item.at(scale).claims]
    if claims:
        parts.append(_folded("What will be decided", _table(["claim"], claims)))
    if item.printed:
        rows = [[each.setting, each.metric, f"{each.value:g}"] for each in item.printed]
        table = _table(["setting", "score", "printed"], rows)
        parts.append(_folded("Printed numbers", table))
    return parts


def _folded(title: str, content: str) -> str:
    """Returns content that a click shows."""
    return f"<details markdown>\n<summary>{title}</summary>\n\n{content}\n\n</details>"


def _sentence(text: str) -> str:
    """Returns the text with a full stop at its end, unless it has one, or another mark that ends a sentence."""
    return text if text.endswith((".", "?", "!")) else f"{text}."


def _made_by(found: ItemEvidence) -> str:
    """Returns how to repeat it, where and when it was made, and what a note in the evidence says of that."""
    lines = [f"`{made['command']}`, {made_text(made)}" for made in found.made_by]
    return "<small>" + "; ".join(lines) + ".</small>"


def _images(item: Item, found: ItemEvidence) -> list[str]:
    """Returns the paths of the figure and the pictures of an item, as its page names them."""
    stem = f"figures/{item.paper}-{item.name}"
    drawn = [f"{stem}.svg"] if item.draw is not None else []
    return [*drawn, *(f"{stem}-{name}.png" for name in found.pictures)]


def _draw(item: Item, found: ItemEvidence | None, folder: Path) -> None:
    """Writes the figure and the pictures of an item into the folder of the pages."""
    if found is None:
        return
    for name in _images(item, found):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        if name.endswith(".svg") and item.draw is not None:
            figures.save(item.draw(found.scores), folder / name, overwrite=True)
    for (_, path), name in zip(found.pictures.items(), _images(item, found)[-len(found.pictures) :], strict=False):
        files.write_bytes(folder / name, files.read_bytes(path))


def _data(item: Item) -> str:
    return f"{item.data}, your files" if item.needs else item.data


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [heads, ["---"] * len(heads), *([_cell(cell) for cell in row] for row in rows)]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def _cell(text: str) -> str:
    """Returns a text as Markdown shows it; links of ours stay links."""
    return text if re.fullmatch(r"\[[\w.-]+\]\([\w./#-]*\)", text) else in_markdown(text)
