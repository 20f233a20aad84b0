"""Reading ``card.toml``: how a checkpoint came to be and how good it is."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

from core.checkpoints.spec import Card, Measure
from core.errors import CheckpointRefused

_TUPLES = ("data", "data_licence", "strengths", "weaknesses")
_FIELDS = ("name", "summary", "recipe", "steps", "tokens", "seed", "licence")


def read_card(file: Path) -> Card:
    """The card in ``file``; fields beyond those of :class:`Card` go to ``extra``.

    Raises :class:`CheckpointRefused` when the file is missing, is no TOML, or lacks a field.
    """
    name = f"{file.parent.name}/{file.name}"
    try:
        table: dict[str, Any] = tomllib.loads(file.read_text(encoding="utf-8"))
    except OSError:
        raise CheckpointRefused(f"The card “{name}” is missing.") from None
    except ValueError as error:
        raise CheckpointRefused(f"The card “{name}” is damaged: {error}.") from None
    try:
        values: dict[str, Any] = {field: table.pop(field) for field in _FIELDS}
        for field in _TUPLES:
            value = table.pop(field, ())
            values[field] = (value,) if isinstance(value, str) else tuple(value)
        measures = tuple(Measure(**measure) for measure in table.pop("measures", ()))
        base = table.pop("base", None)
    except (KeyError, TypeError) as error:
        raise CheckpointRefused(f"The card “{name}” lacks or misnames a field: {error}.") from None
    extra = table.pop("extra", {}) | table
    return Card(**values, measures=measures, base=base, extra=extra)
