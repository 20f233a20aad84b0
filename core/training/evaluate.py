"""Measures a checkpoint as its card states: on the committed texts, and with the corpus at hand on its held-out part.

One table: what a checkpoint is measured by follows from the kind of its recipe. The page and the command line load the
same checkpoint; nothing here knows how it was trained but its recipe's split.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from core.checkpoints.registry import part_of
from core.checkpoints.spec import Checkpoint, Measure
from core.errors import UnknownCheckpoint
from core.training import evaluate_decoders, evaluate_encoders, evaluate_pairs
from core.training import recipe as recipes
from core.training.measures import Found

How = Callable[[Checkpoint, Path | None], Found]
MEASURES: dict[str, How] = {
    "masked-lm": evaluate_encoders.masked,
    "sentence-head": evaluate_encoders.masked,
    "encoder": evaluate_encoders.encoder,
    "distil": evaluate_encoders.encoder,
    "electra": evaluate_encoders.electra,
    "permutation-lm": evaluate_encoders.permuted_measures,
    "bilingual": evaluate_encoders.bilingual,
    "adapters": evaluate_encoders.adapters,
    "long-masked-lm": evaluate_encoders.sparse,
    "window-lm": evaluate_encoders.windowed,
    "causal-lm": evaluate_decoders.causal,
    "draft": evaluate_decoders.draft,
    "segments-lm": evaluate_decoders.segmented,
    "codes-lm": evaluate_decoders.codes,
    "hashed-lm": evaluate_decoders.hashed,
    "seq2seq-lm": evaluate_pairs.seq2seq,
    "many-to-many": evaluate_pairs.many,
    "respell": evaluate_pairs.respell,
    "joined": evaluate_pairs.fusion,
    "denoise": evaluate_pairs.denoise,
}
"""By the kind of the recipe; a model that drafts for another one is measured as ``draft``."""
BITS = ("bits per byte", "bits per token")
PLAIN = ("BLEU", "chrF", "chrF before", "chrF after", "passes per token")
"""How the names of measures end that have no unit; all others are shares in percent, or bits."""


def unit(name: str) -> str:
    """The unit of a measure by its name."""
    if name.startswith("bits per byte") or name.endswith(BITS):
        return "bits"
    return "" if name.endswith(PLAIN) else "%"


def rows(found: Found) -> list[Measure]:
    """Numbers by what they were measured on, as the rows of a card."""
    return [
        Measure(name, round(value, 2), unit(name), on)
        for on, numbers in found.items()
        for name, value in numbers.items()
    ]


def measured() -> list[str]:
    """Recipes whose checkpoints are bundled."""
    return [name for name in recipes.available() if recipes.load(name).card]


def evaluate(slug: str, corpus: Path | None = None) -> list[Measure]:
    """The measures of a bundled checkpoint, on committed texts and, with ``corpus``, on its held-out part too."""
    from core import checkpoints

    if slug not in measured():
        raise UnknownCheckpoint(f"Nothing measures the checkpoint {slug!r}. Choose one of: {', '.join(measured())}.")
    recipe = recipes.load(slug)
    place: Any = recipe.place
    return rows(MEASURES["draft" if recipe.part_of else recipe.kind](checkpoints.load(*place), corpus))


def cli_evaluate(slug: str, corpus: Path | None = None) -> list[Measure]:
    """Prints every measure beside the card's value and returns them."""
    from core import checkpoints

    found = evaluate(slug, corpus)
    place: Any = recipes.load(slug).place
    spec = checkpoints.get(place[0])
    card = (part_of(spec, *place[1:]) if place[1:] else spec).card
    stated = {(m.name, m.on): m.value for m in card.measures} if card else {}
    print(f"{'measure':24} {'measured':>9} {'card':>9}  on")
    for measure in found:
        value = stated.get((measure.name, measure.on))
        shown = "-" if value is None else f"{value:.2f}"
        print(f"{measure.name:24} {measure.value:9.2f} {shown:>9}  {measure.on}")
    return found
