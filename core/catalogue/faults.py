"""What is wrong with a record's file, in words: the field and the reason, for whoever writes records."""

from __future__ import annotations

import datetime
from difflib import get_close_matches
from typing import Any, get_args

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

_WANTED = {
    "string_type": "a text",
    "int_type": "a whole number",
    "int_from_float": "a whole number",
    "bool_type": "true or false",
    "tuple_type": "a list",
    "dict_type": "a table",
    "model_type": "a table",
}
_KINDS = ((bool, "true or false"), (str, "text"), (int, "a number"), (float, "a number"), (list, "a list"))
_NAMES = ("name", "label", "id", "slug")
"""What tells rows of one kind apart, where they have it."""


def faults(error: ValidationError, model: type[BaseModel], table: dict[str, Any]) -> list[str]:
    """A line ``field: reason`` for each fault that pydantic found in ``table``, which should have been a ``model``."""
    return [_fault(detail, model, table) for detail in error.errors()]


def _fault(detail: ErrorDetails, model: type[BaseModel], table: dict[str, Any]) -> str:
    place, reason = _place(detail["loc"], table), _reason(detail, model)
    return f"{place}: {reason}" if place else reason


def _place(loc: tuple[int | str, ...], table: Any) -> str:
    """The field's path, with the names of rows beside their numbers: ``sizes 2 “large”.published``."""
    place = ""
    for step in loc:
        if isinstance(step, int) and isinstance(table, dict):
            step = list(table)[step]  # tables by key, which the schema has as rows
        try:
            table = table[step]
        except (KeyError, IndexError, TypeError):
            table = None
        if isinstance(step, int):
            place += f" {step + 1}"
            name = next((table[key] for key in _NAMES if key in table), "") if isinstance(table, dict) else ""
            place += f" “{name}”" if name else ""
        else:
            place += f".{step}" if place else step
    return place


def _reason(detail: ErrorDetails, model: type[BaseModel]) -> str:
    kind, value, context = detail["type"], detail["input"], detail.get("ctx", {})
    if kind == "missing":
        return "is missing"
    if kind == "extra_forbidden":
        *path, name = detail["loc"]
        fields = [field.alias or own for own, field in _model_at(model, path).model_fields.items()]
        close = get_close_matches(str(name), fields, n=1, cutoff=0.6)
        return f"is no field of this table{f'; is {close[0]} meant?' if close else ', which has: ' + ', '.join(fields)}"
    if kind in _WANTED:
        return f"must be {_WANTED[kind]}, and it is {_described(value)}"
    if kind == "literal_error":
        return f"must be one of {context['expected']}, and it is {_described(value)}"
    if kind == "value_error":
        return str(context["error"])
    if kind == "too_short":
        return "must have at least one entry"
    return f"{detail['msg'].replace('Input should be', 'must be')}, and it is {_described(value)}"


def _described(value: Any) -> str:
    """A value and what it is, short: ``the text '2018'``."""
    if isinstance(value, dict):
        return f"a table ({', '.join(list(value)[:4])})"
    if isinstance(value, datetime.date | datetime.time):
        return f"a date ({value})"
    shown = repr(value)
    shown = shown if len(shown) <= 60 else shown[:60] + "…"
    return f"{next((word for cls, word in _KINDS if isinstance(value, cls)), type(value).__name__)} ({shown})"


def _model_at(model: type[BaseModel], path: list[int | str]) -> type[BaseModel]:
    """The model of the table at ``path``: rows of a list and tables under a key have the model of their field."""
    for step in path:
        field = model.model_fields.get(str(step))
        if field is not None:
            model = next(iter(_models(field.annotation)), model)
    return model


def _models(annotation: Any) -> list[type[BaseModel]]:
    """The models that an annotation names, at any depth: ``list[SizeRow]``, ``StatementRow | None``."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    return [found for part in get_args(annotation) for found in _models(part)]
