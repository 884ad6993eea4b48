"""Evidence of items: small files that travel, `PAPER/ITEM-SCALE.json`, of which several unite."""

import itertools
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, final

from unbraid import files
from unbraid.errors import UnbraidError
from unbraid.papers.item import Item, Scale
from unbraid.papers.judgement import Judgement, judge
from unbraid.papers.work import digest_of, measured_by
from unbraid.studies.circumstances import Circumstances
from unbraid.studies.evidence import Evidence
from unbraid.studies.study_scores import StudyScores

_CALL = ("command", "date", "commit", "machine", "torch", "unbraid", "seconds", "note")
"""What is kept of a call that added runs to a file."""


@final
@dataclass(frozen=True)
class ItemEvidence:
    """The united scores of an item at one scale, how each file was made, and the pictures that came with them."""

    item: Item
    scale: Scale
    scores: StudyScores
    made_by: tuple[Mapping[str, Any], ...]
    pictures: Mapping[str, Path]

    @property
    def judgement(self) -> Judgement:
        """Returns what the scores say of the item."""
        return judge(self.item, self.scale, self.scores)

    @property
    def seconds(self) -> float:
        """Returns how long the runs took, summed over files."""
        return sum(float(made.get("seconds", 0.0)) for made in self.made_by)


def committed_evidence() -> Path:
    """Returns the folder of the evidence that the project itself has made: in a checkout the one at its root, elsewhere
    the one that was installed.
    """
    here = Path(__file__).resolve()
    in_checkout = here.parents[3] / "evidence"
    return in_checkout if in_checkout.is_dir() else here.parent / "evidence"


def keep_evidence(
    item: Item,
    scale: Scale,
    scores: StudyScores,
    folder: Path,
    *,
    seconds: float,
    pictures: Mapping[str, bytes] | None = None,
    settings: Sequence[str] = (),
) -> Path:
    """Writes the scores of an item into the folder of evidence, and returns the file. What an earlier file of the same
    definition has, and these scores lack, stays. `settings` are those that were asked for, if not all were.
    """
    if scale == "smoke":
        raise UnbraidError(f"{item.id}: what is run at the scale 'smoke' says nothing and is never kept as evidence.")
    path = folder / item.paper / f"{item.name}-{scale}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    digest = digest_of(item.at(scale))
    chosen = [word for label in settings for word in ("--setting", label)]
    made_by = {
        **Circumstances.now(["unbraid", "papers", "run", item.id, "--scale", scale, *chosen]).to_json(),
        "item": item.id,
        "scale": scale,
        "definition": digest,
        "measured": measured_by(item.at(scale)),
        "seconds": round(seconds, 1),
    }
    if path.exists():
        earlier = Evidence.load(path)
        if earlier.made_by.get("definition") == digest:
            scores = united([scores, earlier.scores])
            made_by = _after(earlier.made_by, made_by)
        else:
            path.rename(_free_name(path.with_suffix(".json.of-another-definition")))
    Evidence(item.id, scores, made_by).save(path)
    for name, content in (pictures or {}).items():
        files.write_bytes(path.with_name(f"{item.name}-{scale}-{name}.png"), content)
    return path


def _after(earlier: Mapping[str, Any], latest: dict[str, Any]) -> dict[str, Any]:
    """Returns what made a file to which runs were added: the latest call, and under "earlier" those before it that
    differ in more than their seconds.
    """
    before, told = list(earlier.get("earlier", ())), {name: earlier[name] for name in _CALL if name in earlier}
    if all(latest.get(name) == told.get(name) for name in _CALL if name not in ("seconds", "note")):
        latest["seconds"] = round(latest["seconds"] + float(told.get("seconds", 0.0)), 1)
        latest |= {name: text for name, text in told.items() if name == "note"}
    else:
        before = [told, *before]
    return {**latest, "earlier": before} if before else latest


def judge_anew(item: Item, scale: Scale, folder: Path, because: str) -> list[Path]:
    """Lets evidence that was made under other claims of an item be judged by those of today, and returns its files.
    Raises if what is measured has changed too: settings, seeds, metrics.

    The files say `because` of what, with the date: a reader must know that these claims were not fixed before the
    scores were known.
    """
    because = " ".join(because.split())
    if not because:
        raise UnbraidError("No reason was given for judging anew. Say what changed of the claims, and why.")
    work, changed = item.at(scale), []
    for path in _paths(item, scale, folder):
        evidence = Evidence.load(path)
        if evidence.study == item.id and evidence.made_by.get("definition") == digest_of(work):
            continue
        if evidence.study != item.id or evidence.made_by.get("measured") != measured_by(work):
            why = (
                f"was measured otherwise: settings, seeds or metrics of {item.id} have changed since"
                if "measured" in evidence.made_by
                else "does not say what was measured, as evidence of 0.2.0 did not"
            )
            raise UnbraidError(f"{path} {why}. Run `unbraid papers run {item.id} --scale {scale}` again.")
        said = (
            f"judged on {time.strftime('%Y-%m-%d')} by claims that were changed when the scores were known: {because}"
        )
        note = "; ".join(filter(None, (evidence.made_by.get("note", ""), said)))
        made_by = {**evidence.made_by, "definition": digest_of(work), "note": note}
        changed.append(Evidence(item.id, evidence.scores, made_by).save(path))
    return changed


def find_evidence(item: Item, scale: Scale, folder: Path) -> ItemEvidence | None:
    """Returns the united evidence of an item at one scale, or None. Raises if a file belongs to another definition."""
    paths = _paths(item, scale, folder)
    if not paths:
        return None
    digest = digest_of(item.at(scale))
    loaded = []
    for path in paths:
        evidence = Evidence.load(path)
        if evidence.study != item.id or evidence.made_by.get("definition") != digest:
            raise UnbraidError(
                f"{path} is evidence of another definition of {item.id}: its settings, seeds, metrics or claims have "
                f"changed since. Move it away, and run `unbraid papers run {item.id} --scale {scale}` again; or, if "
                f"only claims have changed, `unbraid papers judge {item.id} --scale {scale} --because ...`."
            )
        loaded.append(evidence)
    stem = f"{item.name}-{scale}"
    pictures = {
        path.stem.removeprefix(f"{stem}-"): path for path in sorted((folder / item.paper).glob(f"{stem}-*.png"))
    }
    scores = united([evidence.scores for evidence in loaded])
    made_by = (each for evidence in loaded for each in (evidence.made_by, *evidence.made_by.get("earlier", ())))
    return ItemEvidence(item, scale, scores, tuple(made_by), pictures)


def best_evidence(item: Item, folder: Path) -> ItemEvidence | None:
    """Returns the evidence at the largest scale that has any, or None."""
    for scale in reversed(item.scales):
        if scale != "smoke" and (found := find_evidence(item, scale, folder)):
            return found
    return None


def united(parts: Sequence[StudyScores]) -> StudyScores:
    """Returns the scores of all parts. A run that several have is taken from the one that has most numbers of it, the
    first among equals.
    """
    settings: dict[str, str] = {}
    chosen: dict[str, tuple[int, int]] = {}
    for place, part in enumerate(parts):
        settings |= {label: part.families[label] for label in part.settings if label not in settings}
        counts: dict[str, int] = {}
        for number in part.numbers:
            counts[number.run] = counts.get(number.run, 0) + 1
        for run in part.runs:
            known = chosen.get(run.run)
            if run.state == "finished" and (known is None or counts.get(run.run, 0) > known[1]):
                chosen[run.run] = (place, counts.get(run.run, 0))
    return replace(
        parts[0],
        settings=tuple(settings),
        families=settings,
        runs=tuple(run for place, part in enumerate(parts) for run in part.runs if _from(chosen, run.run, place)),
        numbers=tuple(n for place, part in enumerate(parts) for n in part.numbers if _from(chosen, n.run, place)),
    )


def _from(chosen: Mapping[str, tuple[int, int]], run: str, place: int) -> bool:
    return run in chosen and chosen[run][0] == place


def _paths(item: Item, scale: Scale, folder: Path) -> list[Path]:
    """Returns the files of evidence of an item at one scale, which unite."""
    place, stem = folder / item.paper, f"{item.name}-{scale}"
    return [path for path in (place / f"{stem}.json", *sorted(place.glob(f"{stem}.*.json"))) if path.exists()]


def _free_name(path: Path) -> Path:
    """Returns the path, or if there is such a file already the first like it that is free."""
    names = itertools.chain([path], (path.with_name(f"{path.name}-{number}") for number in itertools.count(2)))
    return next(each for each in names if not each.exists())
