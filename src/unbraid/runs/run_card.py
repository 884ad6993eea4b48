"""What the card of a run says: what it is, of which data, how good it is, and how to load it."""

import contextlib
from collections.abc import Mapping

from unbraid.data.conversion.converted import ConvertedDataset
from unbraid.data.dataset import FactorDataset
from unbraid.errors import UnbraidError
from unbraid.evaluation.score_rows import in_markdown, markdown_table, rows_of
from unbraid.hub.model_card import ModelCard, Result
from unbraid.metrics.metric import Score
from unbraid.names import kebab_case
from unbraid.recipes import text_of
from unbraid.runs.run import Run
from unbraid.source import is_own
from unbraid.version import __version__

PICTURE = "traversal.png"
UNBRAID = "[unbraid](https://pypi.org/project/unbraid)"
PLAIN_FILES = (
    "The weights are safetensors and all else is JSON, CSV or Markdown: nothing is pickled, and loading runs no code "
    "from this repository."
)


def run_card(run: Run, repo_id: str, *, has_picture: bool, licence: str | None, data_licence: str | None) -> ModelCard:
    """Returns the card of a run in this repository. `licence` is that of the weights; `data_licence` is said of the
    data in place of what is known of it.
    """
    spec, scores = run.spec, run.named_scores()
    objective, dataset = kebab_case(type(spec.objective)), dataset_name(spec.dataset)
    facts = {
        "objective": text_of(spec.objective),
        "encoder": text_of(spec.model.encoder),
        "decoder": "its mirror" if spec.model.decoder is None else text_of(spec.model.decoder),
        "latents": text_of(spec.model.latents),
        "likelihood": text_of(spec.model.likelihood),
        "data set": text_of(spec.dataset),
        "seed": str(run.seed),
        "steps": f"{spec.num_steps:,}, of {spec.batch_size} images",
        "digest of the spec": run.digest,
        "trained by": f"unbraid {run.version}",
    }
    parts = [
        f"# {run.name}",
        f"A model of {UNBRAID}, trained by {objective} on {dataset}.",
        *([f"![Each row moves one latent, and all others stay.]({PICTURE})"] if has_picture else []),
        f"## Load it\n\n{_how_to_load(repo_id)}",
        f"## Scores\n\n{scores_text(scores)}",
        f"## Data\n\n{licence_text(spec.dataset, data_licence)}",
        f"## How it was made\n\n{_table(facts)}",
        PLAIN_FILES,
    ]
    results = [Result(dataset, name, score.value) for name, score in scores.items()]
    return ModelCard(run.name, [objective, dataset], results, "\n\n".join(parts), licence)


def traversal_picture(run: Run) -> bytes | None:
    """Returns the picture of a card; None where there are no codes to begin at, or no images to show."""
    with contextlib.suppress(UnbraidError):
        return run.traverse().png()
    return None


def dataset_name(dataset: FactorDataset) -> str:
    return kebab_case(type(dataset), FactorDataset)


def licence_text(dataset: FactorDataset, said: str | None) -> str:
    """Returns which images the models saw, and under which licence they are."""
    number = f"{dataset.num_images:,} images of {' x '.join(map(str, dataset.image_shape))}"
    named = f"`{dataset_name(dataset)}`, {number} (channels x height x width)."
    if said is not None:
        return f"{named} Licence of the data: {in_markdown(said)}"
    if isinstance(dataset, ConvertedDataset):
        publication = dataset.publication
        note = f" {publication.licence_note}" if publication.licence_note else ""
        return (
            f"{named} {in_markdown(publication.title)} ({publication.homepage}). Licence of the data: "
            f"{publication.licence}.{note}"
        )
    if not is_own(type(dataset)) and dataset.origin == "drawn":
        return f"{named} They are drawn by unbraid. Licence of the data: Apache-2.0."
    return f"{named} They are the author's own. Licence of the data: not stated."


def scores_text(scores: Mapping[str, Score]) -> str:
    """Returns the scores as a table, with their 95 % intervals over images."""
    if not scores:
        return "None were computed."
    rows = [row for name, score in scores.items() for row in rows_of(name, score, None) if row.quantity == "value"]
    return markdown_table(rows) + "\n\nIntervals are over images, for this one model."


def _how_to_load(repo_id: str) -> str:
    return (
        "```python\n"
        "from unbraid import Run  # pip install 'unbraid[hub]'\n\n"
        f'run = Run.from_hub("{repo_id}")\n'
        "model, codes = run.model(), run.codes()\n"
        'run.traverse().save("traversal.png")\n'
        "```\n\n"
        f"It was pushed by unbraid {__version__}."
    )


def _table(facts: Mapping[str, str]) -> str:
    rows = "\n".join(f"| {name} | {in_markdown(value)} |" for name, value in facts.items())
    return f"| | |\n|---|---|\n{rows}"
