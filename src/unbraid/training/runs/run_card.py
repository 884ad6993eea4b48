"""What the card of a run says: what it is, of which data, how good it is, and how to load it."""

import contextlib
from collections.abc import Mapping

from unbraid._internal.names import kebab_case
from unbraid._internal.source import is_own
from unbraid._internal.version import __version__
from unbraid.config import text_of
from unbraid.datasets.conversion.converted import ConvertedDataset
from unbraid.datasets.dataset import FactorDataset
from unbraid.errors import UnbraidError
from unbraid.integrations.hub.model_card import ModelCard, Result
from unbraid.metrics.metric import Score
from unbraid.metrics.score_rows import in_markdown, markdown_table, rows_of
from unbraid.training.runs.run import Run

PICTURE = "traversal.png"
UNBRAID = "[unbraid](https://pypi.org/project/unbraid)"
PLAIN_FILES = (
    "The weights are safetensors and all else is JSON, CSV or Markdown: nothing is pickled, and loading runs no code "
    "from this repository."
)


def run_card(run: Run, repo_id: str, *, has_picture: bool, license: str | None, data_license: str | None) -> ModelCard:
    """Returns the card of a run in this repository. `license` is that of the weights; `data_license` replaces
    the published license of the data.
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
        f"## Data\n\n{license_text(spec.dataset, data_license)}",
        f"## How it was made\n\n{_table(facts)}",
        PLAIN_FILES,
    ]
    results = [Result(dataset, name, score.value) for name, score in scores.items()]
    return ModelCard(run.name, [objective, dataset], results, "\n\n".join(parts), license)


def traversal_picture(run: Run) -> bytes | None:
    """Returns the picture of a card; None where there are no codes to begin at, or no images to show."""
    with contextlib.suppress(UnbraidError):
        return run.traverse().png()
    return None


def dataset_name(dataset: FactorDataset) -> str:
    return kebab_case(type(dataset), FactorDataset)


def license_text(dataset: FactorDataset, said: str | None) -> str:
    """Returns which images the models saw, and under which license they are."""
    number = f"{dataset.num_images:,} images of {' x '.join(map(str, dataset.image_shape))}"
    named = f"`{dataset_name(dataset)}`, {number} (channels x height x width)."
    if said is not None:
        return f"{named} License of the data: {in_markdown(said)}"
    if isinstance(dataset, ConvertedDataset):
        publication = dataset.publication
        note = f" {publication.license_note}" if publication.license_note else ""
        return (
            f"{named} {in_markdown(publication.title)} ({publication.homepage}). License of the data: "
            f"{publication.license}.{note}"
        )
    if not is_own(type(dataset)) and dataset.origin == "drawn":
        return f"{named} They are drawn by unbraid. License of the data: Apache-2.0."
    return f"{named} They are the author's own. License of the data: not stated."


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
