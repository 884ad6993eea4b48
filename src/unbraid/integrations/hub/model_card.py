"""The card of a repository: what the Hub reads of it, above what people read."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

from unbraid.integrations.hub.repository import installed

_TAGS = ("unbraid", "disentanglement", "representation-learning")
_TASK = "feature-extraction"


@final
@dataclass(frozen=True)
class Result:
    """Holds a number as the Hub lists it beside a model: of which metric, on which data set, of which setting where
    there are several.
    """

    dataset: str
    metric: str
    value: float
    setting: str = ""


@final
@dataclass(frozen=True)
class ModelCard:
    """Holds what README.md of a repository says: its name, tags, the license of the weights where one is given,
    results, and the text below them in Markdown.
    """

    name: str
    tags: Sequence[str]
    results: Sequence[Result]
    text: str
    license: str | None = None

    def content(self) -> bytes:
        """Returns the file. Results that are not numbers are left out of what the Hub reads."""
        hub = installed()
        results = [
            hub.EvalResult(
                task_type=_TASK,
                task_name="Disentanglement",
                dataset_type=result.dataset,
                dataset_config=result.setting or None,  # by which the Hub tells results of one data set apart
                dataset_name=f"{result.dataset}, {result.setting}" if result.setting else result.dataset,
                metric_type=result.metric,
                metric_value=result.value,
            )
            for result in self.results
            if math.isfinite(result.value)
        ]
        data = hub.ModelCardData(
            library_name="unbraid",
            license=self.license,
            tags=[*_TAGS, *self.tags],
            model_name=self.name,
            eval_results=results or None,
            ignore_metadata_errors=False,
        )
        return f"---\n{data.to_yaml()}\n---\n\n{self.text.strip()}\n".encode()
