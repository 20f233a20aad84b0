"""A recipe: everything that a training run depends on, as a data file in ``assets/recipes``.

The card of what it made has the recipe's words, the run's counts and what was measured.

No torch here, so that the command line can list recipes at once.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from core.checkpoints.spec import Measure
from core.errors import AtlasError
from core.training.files import write_file

RECIPES = Path(__file__).resolve().parents[2] / "assets" / "recipes"


class RecipeError(AtlasError):
    """A recipe that does not exist or cannot be used."""


@dataclass(frozen=True, slots=True)
class SourceFile:
    """One file of the corpus, or a range of its lines, and how often an epoch passes over it."""

    file: str
    passes: float = 1.0
    """Passes in one epoch; 0.4 draws another 40% of the items in each epoch."""
    first: int = 1
    last: int | None = None
    """First and last line, counted from 1, both included."""
    sentences: bool = False
    """Cut paragraphs into sentences."""
    group: int = 1
    """Sentences kept together when paragraphs are cut; of lines that are not cut, lines shown as one text."""
    task: str = ""
    """Task of a sequence-to-sequence source ("en-fr"), control code of a source that has one ("Story"); else empty."""


@dataclass(frozen=True, slots=True)
class Recipe:
    """Data, model, optimizer and budget of one run."""

    slug: str
    kind: str
    """``masked-lm``, ``causal-lm`` or ``seq2seq-lm``: chooses the objective."""
    seed: int
    minutes: float
    """Planned training time; the learning rate reaches zero at its end."""
    step_tokens: int
    """Tokens of one optimizer step (padding included)."""
    sources: tuple[SourceFile, ...]
    tokens: int = 0
    """Where given, the budget is this many tokens instead of time: for a machine whose speed changes."""
    model: dict[str, Any] = field(default_factory=dict)
    data: dict[str, Any] = field(default_factory=dict)
    optimizer: dict[str, Any] = field(default_factory=dict)
    card: dict[str, Any] = field(default_factory=dict)
    part_of: str = ""
    """``checkpoint:part`` where the model is a part of another checkpoint's folder, as a draft is."""

    @property
    def place(self) -> tuple[str, ...]:
        """The bundled checkpoint that a run writes, and its part where it is one."""
        return tuple((self.part_of or self.slug).split(":"))


def available(folder: Path = RECIPES) -> list[str]:
    """Names of the recipes that the folder holds, sorted."""
    return sorted(path.stem for path in folder.glob("*.toml"))


def load(name: str, folder: Path = RECIPES) -> Recipe:
    """Reads the recipe ``name``. Raises `RecipeError` where there is none or it lacks a field."""
    path = folder / f"{name}.toml"
    if name not in available(folder):
        raise RecipeError(f"There is no recipe named {name!r}. Recipes: {', '.join(available(folder))}.")
    raw = tomllib.loads(path.read_text(encoding="utf-8"))
    try:
        listed = raw.pop("sources")
        if isinstance(listed, str):  # a list that several recipes share
            listed = tomllib.loads((folder / "sources" / f"{listed}.toml").read_text(encoding="utf-8"))["sources"]
        return Recipe(sources=tuple(SourceFile(**source) for source in listed), **raw)
    except (KeyError, TypeError, FileNotFoundError) as error:
        raise RecipeError(f"The recipe {name!r} lacks a field or has one too many: {error}.") from error


def write_card(folder: Path, recipe: Recipe, *, steps: int, tokens: int, measures: Sequence[Measure] = ()) -> None:
    """Writes ``folder/card.toml``. Words (name, summary, data, weaknesses, ...) come from the recipe's ``[card]``."""
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
    write_file(folder / "card.toml", "\n".join(lines) + "\n")


def _value(value: Any) -> str:
    """A TOML literal of a string, number or list of them: JSON's syntax is TOML's for these."""
    return json.dumps(value, ensure_ascii=False)
