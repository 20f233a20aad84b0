"""Writes ``card.toml``: the recipe's words, the run's counts and what was measured."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from core.checkpoints.spec import Measure
from core.training.files import write_file
from core.training.recipe import Recipe


def render(recipe: Recipe, *, steps: int, tokens: int, measures: Sequence[Measure]) -> str:
    """The card as TOML. Words (name, summary, data, weaknesses, ...) come from the recipe's ``[card]``."""
    words = dict(recipe.card)
    extra: dict[str, Any] = words.pop("extra", {})
    lines = [f"{key} = {_value(value)}" for key, value in words.items()]
    lines += [
        f"recipe = {_value(recipe.slug)}",
        f"steps = {steps}",
        f"tokens = {tokens}",
        f"seed = {recipe.seed}",
        'licence = "Apache-2.0"',
    ]
    for measure in measures:
        lines += ["", "[[measures]]"]
        lines += [f"{key} = {_value(getattr(measure, key))}" for key in ("name", "value", "unit", "on")]
    tables = {name: values for name, values in extra.items() if isinstance(values, dict)}
    if plain := {name: value for name, value in extra.items() if name not in tables}:
        lines += ["", "[extra]", *(f"{name} = {_value(value)}" for name, value in plain.items())]
    for table, values in tables.items():
        lines += ["", f"[extra.{table}]"]
        lines += [f"{_value(key)} = {_value(value)}" for key, value in values.items()]
    return "\n".join(lines) + "\n"


def write(folder: Path, recipe: Recipe, *, steps: int, tokens: int, measures: Sequence[Measure] = ()) -> None:
    """Writes ``folder/card.toml``."""
    text = render(recipe, steps=steps, tokens=tokens, measures=measures)
    write_file(folder / "card.toml", text)


def _value(value: Any) -> str:
    """A TOML literal of a string, number or list of them: JSON's syntax is TOML's for these."""
    return json.dumps(value, ensure_ascii=False)
