"""Recipes: everything that a training run depends on, in files of ``assets/recipes``; and the cards of their models.

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
from lab.files import write_file

RECIPES = Path(__file__).resolve().parents[1] / "assets" / "recipes"


class RecipeError(AtlasError):
    """A recipe that does not exist or cannot be used."""


@dataclass(frozen=True, slots=True)
class SourceFile:
    """A file of the corpus, or a range of its lines, and its passes per epoch."""

    file: str
    passes: float = 1.0
    """Passes per epoch; 0.4 samples other 40% of the items in each epoch."""
    first: int = 1
    last: int | None = None
    """First and last line, from 1, inclusive."""
    sentences: bool = False
    """Split paragraphs into sentences."""
    group: int = 1
    """Sentences per item when paragraphs are split; else lines per text."""
    task: str = ""
    """Task of a sequence-to-sequence source ("en-fr"), control code ("Story"), or name ("books"); may be empty."""


@dataclass(frozen=True, slots=True)
class Recipe:
    """Data, model, optimizer and budget of a run."""

    slug: str
    kind: str
    """A key of `lab.objectives.OBJECTIVES`."""
    seed: int
    minutes: float
    """Training time; the learning rate reaches zero at its end."""
    step_tokens: int
    """Tokens per optimizer step, padding included."""
    sources: tuple[SourceFile, ...]
    tokens: int = 0
    """The budget in tokens instead of time, unless 0: for a machine whose speed varies."""
    model: dict[str, Any] = field(default_factory=dict)
    data: dict[str, Any] = field(default_factory=dict)
    optimizer: dict[str, Any] = field(default_factory=dict)
    card: dict[str, Any] = field(default_factory=dict)
    part_of: str = ""
    """``checkpoint:part`` where the model is a part of another checkpoint's folder, as a draft is."""

    @property
    def location(self) -> tuple[str, ...]:
        """The bundled checkpoint that a run writes, and the part, if it is one."""
        return tuple((self.part_of or self.slug).split(":"))


def available(folder: Path = RECIPES) -> list[str]:
    """The sorted names of the recipes in a folder."""
    return sorted(path.stem for path in folder.glob("*.toml"))


def load(name: str, folder: Path = RECIPES) -> Recipe:
    """The recipe ``name``. Raises `RecipeError` where it is missing or invalid."""
    path = folder / f"{name}.toml"
    if name not in available(folder):
        raise RecipeError(f"There is no recipe named {name!r}. Recipes: {', '.join(available(folder))}.")
    raw = tomllib.loads(path.read_text(encoding="utf-8"))
    try:
        sources = raw.pop("sources")
        if isinstance(sources, str):  # a list that several recipes share
            sources = tomllib.loads((folder / "sources" / f"{sources}.toml").read_text(encoding="utf-8"))["sources"]
        return Recipe(sources=tuple(SourceFile(**source) for source in sources), **raw)
    except (KeyError, TypeError, FileNotFoundError) as error:
        raise RecipeError(f"The recipe {name!r} lacks a field or has one too many: {error}.") from error


def write_card(folder: Path, recipe: Recipe, *, steps: int, tokens: int, measures: Sequence[Measure] = ()) -> None:
    """Write ``folder/card.toml``: the recipe's ``[card]`` (name, summary, data, ...), counts of the run, measures."""
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
        lines += [f"n = {measure.n}"] if measure.n else []
        lines += [f"{end} = {_value(getattr(measure, end))}" for end in ("low", "high") if measure.low is not None]
    tables = {name: values for name, values in extra.items() if isinstance(values, dict)}
    if plain := {name: value for name, value in extra.items() if name not in tables}:
        lines += ["", "[extra]", *(f"{name} = {_value(value)}" for name, value in plain.items())]
    for table, values in tables.items():
        lines += ["", f"[extra.{table}]"]
        lines += [f"{_value(key)} = {_value(value)}" for key, value in values.items()]
    write_file(folder / "card.toml", "\n".join(lines) + "\n")


def _value(value: Any) -> str:
    """The TOML literal of a string, a number or a list of them, which equals JSON."""
    return json.dumps(value, ensure_ascii=False)
