"""Evidence of items: small files in `evidence/`, PAPER/ITEM[-DATA]-SCALE.json, and the verdict that follows from them."""

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from statistics import fmean
from typing import Any

from reproductions.item import Item, Scale, Scores, scores_by_name, with_metrics
from reproductions.rows import claims_of, controls_of
from reproductions.scales import experiment_of
from unbraid.config import to_json
from unbraid.errors import UnbraidError
from unbraid.studies import Circumstances, Claim, Evidence, JudgedClaim, Judgment, Number, StudyScores, judge

FOLDER = Path(__file__).resolve().parents[1] / "evidence"


@dataclass(frozen=True)
class Found:
    """The united scores of an item on one dataset at one scale, and what follows from them."""

    item: Item
    data: str
    scale: Scale
    scores: StudyScores
    made_by: tuple[Mapping[str, Any], ...] = ()
    pictures: tuple[Path, ...] = ()

    @cached_property
    def judged(self) -> Judgment:
        return judge(claims_of(self.item, self.data, self.scale), self.numbers)

    @cached_property
    def controls(self) -> tuple[JudgedClaim, ...]:
        controls = controls_of(self.item, self.data, self.scale)
        return tuple(judge(controls, self.numbers).claims) if controls else ()

    @cached_property
    def numbers(self) -> Scores:
        """The scores by name, derived ones included."""
        found = scores_by_name(self.scores)
        for derive in (partial(_distance_from_print, self.item), self.item.code.derive):
            for label, by_metric in derive(found).items():
                found.setdefault(label, {}).update(by_metric)
        return found

    @property
    def scores_with_derived(self) -> StudyScores:
        """The scores with derived numbers among them, for figures."""
        measured, runs = scores_by_name(self.scores), {(run.setting, run.seed): run.run for run in self.scores.runs}
        derived = [
            Number(label, seed, metric, "", "value", "", value, value, value, runs.get((label, seed), ""))
            for label in measured
            for metric, values in self.numbers[label].items()
            if metric not in measured[label]
            for seed, value in values.items()
        ]
        names = list(dict.fromkeys(number.metric for number in derived))
        return replace(with_metrics(self.scores, names), numbers=(*self.scores.numbers, *derived))

    @property
    def num_asked(self) -> int:
        return sum(map(len, experiment_of(self.item, self.data, self.scale).seeds.values()))

    @property
    def num_runs(self) -> int:
        scored = {number.run for number in self.scores.numbers}
        return sum(run.state == "finished" and run.run in scored for run in self.scores.runs)

    @property
    def verdict(self) -> str:
        """The verdict as text, with the name of the stand-in if there is one."""
        stand_in = f", on a stand-in ({self.item.on[self.data].name})" if self.data != self.item.original else ""
        return f"{self.judged.verdict}{stand_in}"

    @property
    def claims_changed(self) -> bool:
        """Whether claims were changed after scores were known: these scores were made under other ones."""
        today = digest_of_claims(claims_of(self.item, self.data, self.scale))
        return any(made.get("claims") != today for made in self.made_by)


def _distance_from_print(item: Item, scores: Scores) -> Scores:
    """Returns, for each setting and seed, the mean distance of its scores from the printed ones."""
    found: Scores = {}
    for label in {each.setting for each in item.printed}:
        mine = [each for each in item.printed if each.setting == label]
        columns = [scores.get(label, {}).get(each.metric, {}) for each in mine]
        distances = {
            seed: fmean(abs(column[seed] * each.times - each.value) for column, each in zip(columns, mine, strict=True))
            for seed in sorted(set.intersection(*map(set, columns)))
        }
        found[label] = {"distance from print": distances}
    return found


def digest(content: Any) -> str:
    """Returns a short digest of plain data."""
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:16]


def digest_of_claims(claims: Iterable[Claim]) -> str:
    """Returns the digest of claims without their sentences, which may be worded better later."""
    return digest([{name: part for name, part in to_json(claim).items() if name != "sentence"} for claim in claims])


def command_of(item: Item, data: str, scale: Scale) -> list[str]:
    """Returns the command that runs an item, as words."""
    return ["python", "-m", "reproductions", "run", item.id, "--data", data, "--scale", scale]


def measured_by(item: Item, data: str, scale: Scale) -> str:
    """Returns the digest of what is measured. Evidence belongs to one: it is refused where that has changed."""
    return digest([item.id, data, scale, item.version, experiment_of(item, data, scale).measured()])


def file_of(item: Item, data: str, scale: Scale, folder: Path) -> Path:
    """Returns where the evidence of an item lies; that on the paper's own data has no dataset in its name."""
    stem = f"{item.name}-{data}" if data != item.original else item.name
    return folder / item.paper / f"{stem}-{scale}.json"


def find(item: Item, data: str, scale: Scale, folder: Path = FOLDER) -> Found | None:
    """Returns the evidence of an item on one dataset at one scale, or None. Files whose names go on after the scale
    unite with it. Raises if a file belongs to another definition.
    """
    path = file_of(item, data, scale, folder)
    paths = [each for each in (path, *sorted(path.parent.glob(f"{path.stem}.*.json"))) if each.exists()]
    if not paths:
        return None
    loaded = [_load(each, item, data, scale) for each in paths]
    made_by = tuple(made for each in loaded for made in (each.made_by, *each.made_by.get("earlier", ())))
    pictures = tuple(sorted(path.parent.glob(f"{path.stem}-*.png")))
    return Found(item, data, scale, united([each.scores for each in loaded]), made_by, pictures)


def find_all(item: Item, data: str, folder: Path = FOLDER) -> list[Found]:
    """Returns the evidence at every scale that has any, the largest scale first."""
    scales = [scale for scale in reversed(item.data(data).scales) if scale != "smoke"]
    return [found for scale in scales if (found := find(item, data, scale, folder))]


def keep(
    item: Item,
    data: str,
    scale: Scale,
    scores: StudyScores,
    folder: Path,
    *,
    seconds: float,
    arguments: Sequence[str] = (),
    pictures: Mapping[str, bytes] | None = None,
) -> Path:
    """Writes the scores of an item, and returns the file. Runs that an earlier file of the same definition has, and
    these scores lack, stay; a file of another definition is renamed.
    """
    path = file_of(item, data, scale, folder)
    command = [*command_of(item, data, scale), *arguments]
    made_by: dict[str, Any] = {
        **Circumstances.now(command).to_json(),
        "item": item.id,
        "data": data,
        "scale": scale,
        "measured": measured_by(item, data, scale),
        "claims": digest_of_claims(claims_of(item, data, scale)),
        "seconds": round(seconds, 1),
    }
    if path.exists():
        earlier = Evidence.load(path)
        if earlier.made_by.get("measured") == made_by["measured"]:
            scores = united([scores, earlier.scores])
            before = {name: value for name, value in earlier.made_by.items() if name != "earlier"}
            made_by["earlier"] = [before, *earlier.made_by.get("earlier", ())]
        else:
            path.rename(path.with_suffix(f".json.{earlier.made_by.get('measured', 'unknown')}"))
    path.parent.mkdir(parents=True, exist_ok=True)
    Evidence(item.id, scores, made_by).save(path)
    for name, content in (pictures or {}).items():
        path.with_name(f"{path.stem}-{name}.png").write_bytes(content)
    return path


def united(parts: Sequence[StudyScores]) -> StudyScores:
    """Returns the scores of all parts. A run that several have is taken from the one with most numbers of it."""
    families: dict[str, str] = {}
    chosen: dict[str, tuple[int, int]] = {}
    for place, part in enumerate(parts):
        families |= {label: part.families[label] for label in part.settings if label not in families}
        for run in part.runs:
            count = sum(number.run == run.run for number in part.numbers)
            if run.state == "finished" and (run.run not in chosen or count > chosen[run.run][1]):
                chosen[run.run] = (place, count)
    return replace(
        parts[0],
        settings=tuple(families),
        families=families,
        runs=tuple(r for place, part in enumerate(parts) for r in part.runs if chosen.get(r.run, (-1,))[0] == place),
        numbers=tuple(n for place, part in enumerate(parts) for n in part.numbers if chosen.get(n.run, (-1,))[0] == place),
    )


def _load(path: Path, item: Item, data: str, scale: Scale) -> Evidence:
    evidence = Evidence.load(path)
    if evidence.study != item.id or evidence.made_by.get("measured") != measured_by(item, data, scale):
        raise UnbraidError(
            f"{path} is evidence of another definition of {item.id}: its settings, seeds or lengths have changed since. "
            f"Move it away, and run `python -m reproductions run {item.id} --data {data} --scale {scale}` again."
        )
    return evidence
