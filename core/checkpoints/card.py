"""Reading ``card.toml``: how a checkpoint came to be and how good it is."""

from __future__ import annotations

import tomllib
from functools import lru_cache
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
        text = file.read_text(encoding="utf-8")
    except OSError:
        raise CheckpointRefused(f"The card “{name}” is missing.") from None
    except ValueError as error:
        raise CheckpointRefused(f"The card “{name}” is damaged: {error}.") from None
    return _card(name, text)


# Every page asks what can be run, some of them several times: a file is read anew, what it says is worked out once.
@lru_cache(maxsize=128)
def _card(name: str, text: str) -> Card:
    """The card that says ``text``; ``name`` is for the sentence of a refusal."""
    try:
        table: dict[str, Any] = tomllib.loads(text)
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
