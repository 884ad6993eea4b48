"""Writes docs/first-study.md from the evidence of the first study: `python -m examples.sprites_page`."""

from collections.abc import Iterator
from pathlib import Path

from examples.sprites_study import study
from unbraid.studies import Evidence, judge
from unbraid.studies.ranking import Ranking, metric_agreement, rank_settings
from unbraid.studies.report import answer
from unbraid.studies.select import Choice, agreement
from unbraid.studies.study_scores import StudyScores
from unbraid.studies.tables import claim_markdown, wide_markdown

ROOT = Path(__file__).parents[1]
EVIDENCE = ROOT / "evidence" / "studies" / "sprites.json"
PAGE = ROOT / "docs" / "first-study.md"
SHOWN = ("mig", "jemmig", "dci", "sap", "sepin", "elbo")
ASKED = ("mig", "jemmig", "dci", "sap")

INTRODUCTION = """# The first study: seven objectives on small sprites

The study compares 19 settings with 8 seeds each, 152 models in total, by every metric. One {machine} trained and
scored them in {seconds:.0f} s with one command (commit {commit}, {date}, torch {torch}). The second command writes
the report.

```bash
unbraid study run examples/sprites_study.json --device cuda
unbraid study report examples/sprites_study.json --scores evidence/studies/sprites.json
```

The images are those of the quickstart: one heart in six sizes at 16 × 16 positions, 32 pixels. The models train for
4,000 steps of 32 images, with the net `Conv(channels=(16, 16, 32, 32))` and 10 latents. Scores that need factors use
the three that vary: scale, position x and position y. `examples/sprites_study.py` defines the study,
`evidence/studies/sprites.json` holds its numbers, and `python -m examples.sprites_page` writes this page from them.
Results on 1,536 small images suggest a first choice for other images, but do not transfer directly.
"""

LEGEND = (
    "Difference: the best setting minus this setting (Hodges-Lehmann), with its unadjusted 95 % interval. p: exact "
    "Mann-Whitney test against the best, multiplied by the number of settings because the best was chosen from the "
    "same scores, and adjusted for all comparisons. Seeds: the number per setting that would show the estimated "
    "difference with a power of 80 %."
)

UDR = """UDR requires the codes of all seeds, which the evidence file does not contain. The seven settings of VAE,
beta-VAE and beta-TCVAE were therefore trained again on the same machine (56 models, 2026-11-16, commit a2233e6). The
results of `unbraid study select` are:

| criterion | MIG | JEMMIG |
|---|---|---|
| UDR | +0.33 (+0.08 to +0.53) | +0.32 (+0.06 to +0.53) |
| WSEPIN | +0.66 (+0.46 to +0.80) | +0.63 (+0.41 to +0.78) |
| ELBO | +0.06 (-0.20 to +0.28) | +0.07 (-0.19 to +0.29) |

In this study, WSEPIN agrees best of the three with the scores that need labels."""


def rivals(ranking: Ranking) -> Iterator[str]:
    yield "| setting | median MIG | difference | p | seeds to show it |"
    yield "|---|---:|---:|---:|---:|"
    for each in ranking.settings:
        cells = "– | – | –"
        if each.comparison is not None and each.comparison.interval is not None:
            low, high = each.comparison.interval
            shift = f"{each.comparison.value:.3f} ({low:.3f} to {high:.3f})"
            cells = f"{shift} | {each.comparison.p_supported:.2g} | {each.seeds_needed or '–'}"
        yield f"| {each.setting} | {each.median:.3f} | {cells} |"


def agreements(scores: StudyScores) -> Iterator[str]:
    judged = [m for m in scores.metrics if scores.higher_is_better[m] is not None and scores.with_any_score(m)]
    found = metric_agreement(scores, judged)
    yield f"| | {' | '.join(ASKED)} |"
    yield "|---|" + "---:|" * len(ASKED)
    for metric in judged:
        yield f"| {metric} | {' | '.join(f'{found[metric][other]:+.2f}' for other in ASKED)} |"


def criteria(scores: StudyScores) -> Iterator[str]:
    names = {(run.setting, run.seed): run.run for run in scores.runs}
    yield "| criterion | MIG | JEMMIG |"
    yield "|---|---|---|"
    for name, metric in (("WSEPIN", "sepin"), ("ELBO", "elbo")):
        chosen = [
            Choice(label, seed, names[label, seed], value)
            for label in scores.settings
            for seed, value in scores.values(label, metric).items()
        ]
        found = [agreement(scores, chosen, supervised) for supervised in ("mig", "jemmig")]
        cells = (f"{each.value:+.2f} ({each.interval[0]:+.2f} to {each.interval[1]:+.2f})" for each in found)
        yield f"| {name} | {' | '.join(cells)} |"


def page() -> str:
    """Returns the page as Markdown."""
    evidence, made = Evidence.load(EVIDENCE), study()
    scores = evidence.scores
    ranking = rank_settings(scores, "mig")
    assert ranking is not None
    parts = [
        INTRODUCTION.format(**evidence.made_by),
        "## Which objective",
        answer(ranking, scores),
        "\n".join(rivals(ranking)),
        LEGEND,
        "## Scores",
        wide_markdown(scores, SHOWN).rstrip(),
        "## Claims",
        claim_markdown(judge(made.claims, scores)),
        "## Which metrics agree",
        "Rank correlations over the 152 models, positive if both metrics rank the models in the same direction:",
        "\n".join(agreements(scores)),
        "## Choosing without labels",
        "Rank correlation with MIG and JEMMIG over all models (95 % interval):",
        "\n".join(criteria(scores)),
        UDR,
    ]
    return "\n\n".join(part.rstrip() for part in parts) + "\n"


if __name__ == "__main__":
    PAGE.write_text(page())
