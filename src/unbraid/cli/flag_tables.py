"""Help texts of the flags of config fields, collected from the classes and stored in `flags.json`."""

import inspect
import types
import typing
from dataclasses import MISSING, fields
from typing import Any

from unbraid._internal.names import kebab_case
from unbraid.cli.build import kind_of
from unbraid.cli.flags import FieldTexts
from unbraid.config import text_of
from unbraid.config.annotations import alternatives, choices, default_of, field_docs, hints_of, is_kind
from unbraid.metrics.metric import Metric
from unbraid.metrics.mig import MIG
from unbraid.metrics.model import ModelScore
from unbraid.metrics.scoring import Scoring
from unbraid.training.runs.spec import RunSpec

_WORDS = {int: "INTEGER", float: "NUMBER", str: "TEXT", bool: "true|false"}


def flag_tables() -> dict[str, dict[str, FieldTexts]]:
    """Returns the help texts of all fields by table and field name."""
    # `score` defines its own --sampling, which also accepts "data", and has no --subset.
    scoring = {name: texts for name, texts in fields_of(Scoring).items() if not texts["configs"]}
    return {
        "train": fields_of(RunSpec),
        "score": {"metric": _texts_of(Metric, MIG()), **scoring},
        "model_scores": {"score": _texts_of(ModelScore, MISSING)},
    }


def fields_of(cls: type, start: Any = None) -> dict[str, FieldTexts]:
    """Returns the help texts of the fields of a class. The defaults come from `start` if `start` is of this class."""
    hints, docs = hints_of(cls), field_docs(cls)
    found = {}
    for field in fields(cls):
        default = getattr(start, field.name) if type(start) is cls else default_of(field)
        found[field.name] = _texts_of(hints[field.name], default, docs.get(field.name, ""))
    return found


def _texts_of(annotation: Any, default: Any, meaning: str = "") -> FieldTexts:
    kind = kind_of(annotation)
    text = None if default is MISSING else "" if default in ("", (), None) else text_of(default)
    if kind is None:
        return {"meaning": meaning, "metavar": placeholder(annotation), "default": text, "configs": {}}
    is_named = inspect.isabstract(kind)
    return {
        "meaning": meaning,
        "metavar": "NAME",
        "default": kebab_case(type(default), kind) if is_named and text else text,
        "configs": {
            name: {"summary": summary_line(cls), "fields": fields_of(cls, default)}
            for name, cls in (choices(kind) if is_named else {"": kind}).items()
        },
    }


def summary_line(cls: type) -> str:
    """Returns the first line of the docstring of a class."""
    return (inspect.getdoc(cls) or "").partition("\n")[0]


def placeholder(annotation: Any) -> str:
    """Returns the placeholder of a value in the help: a type such as NUMBER, or the valid choices."""
    kinds = [kind for kind in alternatives(annotation) if kind is not types.NoneType]
    return "|".join(map(_placeholder, kinds))


def _placeholder(kind: Any) -> str:
    if typing.get_origin(kind) is typing.Literal:
        return "|".join(map(str, typing.get_args(kind)))
    if typing.get_origin(kind) is tuple:
        item = typing.get_args(kind)[0]
        return _placeholder(item) + (";..." if typing.get_origin(item) is tuple else ",...")
    return str(kind.__name__).upper() if is_kind(kind) else _WORDS.get(kind, "VALUE")
